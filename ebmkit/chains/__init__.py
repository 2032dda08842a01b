"""Running samplers: energies as chains see them, the chain runner, long chains and their warm-up."""
