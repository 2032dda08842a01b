"""The torch modules of the inits."""
