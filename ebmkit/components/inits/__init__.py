"""Where chains begin: one start a file."""
