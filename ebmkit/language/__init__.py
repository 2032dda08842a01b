"""From the text of a spec to a plan. Nothing here imports torch."""
