"""From parts to numbers: random streams, the loop, evaluation, and the session around them."""
