"""A plugin that takes its leave."""

raise SystemExit(0)
