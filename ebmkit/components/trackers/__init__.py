"""Where measurements go: one tracker a file."""
