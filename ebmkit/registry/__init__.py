"""Which components there are: built-ins, installed plugins, and files named on the command line."""
