"""Parsing of bounded YAML into a tree in which every key and value has its line and column."""

from ebmkit.language.text.node import Node
from ebmkit.language.text.parse import MAX_DEPTH, MAX_NODES, parse
from ebmkit.language.text.read import MAX_BYTES, read
from ebmkit.language.text.scalar import plain_scalar, show

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Node", "parse", "plain_scalar", "read", "show"]
