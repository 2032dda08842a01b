"""The torch modules of this kind."""
