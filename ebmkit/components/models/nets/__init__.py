"""The torch modules of the models."""
