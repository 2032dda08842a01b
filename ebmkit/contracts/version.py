"""The version of the distribution `ebmkit-core`."""

__version__ = "0.1.0"
