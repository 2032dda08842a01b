"""The figures of a report: one subject per file."""
