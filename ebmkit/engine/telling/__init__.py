"""What a run reports while it is under way: log, progress, warnings, errors at lines of the spec."""
