"""The torch modules that some components have to build, as base classes."""
