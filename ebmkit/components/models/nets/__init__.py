"""The torch modules that components build."""
