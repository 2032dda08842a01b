"""Training losses: one objective per file."""
