"""What a run reports: log, progress, warnings, and errors at lines of the spec."""
