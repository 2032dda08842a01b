"""Models: energies and scores, one per file."""
