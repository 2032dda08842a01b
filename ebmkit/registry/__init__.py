"""The known components: built-ins, installed plugins, and files named on the command line."""
