"""Mathematics that several components share."""
