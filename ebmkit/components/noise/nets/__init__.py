"""The torch modules of the noise distributions."""
