"""A plugin that does not import."""

raise RuntimeError("the network is down")
