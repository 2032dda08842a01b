"""Building and running an experiment: random streams, training loop, evaluation, sessions."""
