"""Mistakes that authors of plugins make, one a component, over all kinds."""
