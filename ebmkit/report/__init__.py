"""The report of a run: page, summary picture and figures."""
