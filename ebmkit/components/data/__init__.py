"""Where points come from: one data set a file."""
