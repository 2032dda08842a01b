"""Initial states of chains, one method per file."""
