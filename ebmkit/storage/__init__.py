"""Files that are either whole or not there, and formats that other programs read."""
