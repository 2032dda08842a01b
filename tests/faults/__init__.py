"""What a run survives: death, damage, drift."""
