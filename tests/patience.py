"""How long a test waits for a process before it takes it for one that hangs: longer than any machine needs."""

#: Seconds.
PATIENCE = 600.0
