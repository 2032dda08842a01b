"""Base classes of the torch modules that components build."""
