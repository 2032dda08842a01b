"""The built-in components: one folder per kind, one component per file."""
