"""Text to tree: bounded YAML in which every key and value knows its line and column."""

from ebmkit.text.node import Node
from ebmkit.text.parse import MAX_DEPTH, MAX_NODES, parse
from ebmkit.text.read import MAX_BYTES, read
from ebmkit.text.scalar import plain_scalar, show

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Node", "parse", "plain_scalar", "read", "show"]
