"""Running samplers: energies as seen by samplers, the chain runner, long chains and their warm-up."""
