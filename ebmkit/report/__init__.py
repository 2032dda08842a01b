"""From a run to something worth looking at."""
