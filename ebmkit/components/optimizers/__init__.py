"""How parameters follow the gradient: one optimizer a file."""
