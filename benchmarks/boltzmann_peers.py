"""What another library does on the lattices of `boltzmann.py`, in an environment of its own: figures as JSON.

python boltzmann_peers.py thrml SIDE CHAINS
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median
from typing import Any


def thrml(side: int, chains: int) -> dict[str, float]:
    """Spins per microsecond of CPU time of a periodic checkerboard, compiled, for sweeps in one call."""
    import jax
    import jax.numpy as jnp
    from thrml import Block, SpinNode
    from thrml.block_sampling import _run_blocks
    from thrml.models.ising import IsingEBM, IsingSamplingProgram

    nodes = [[SpinNode() for _ in range(side)] for _ in range(side)]
    edges = [
        (nodes[i][j], nodes[(i + a) % side][(j + 1 - a) % side])
        for i in range(side)
        for j in range(side)
        for a in (0, 1)
    ]
    every = [node for row in nodes for node in row]
    model = IsingEBM(every, edges, jnp.zeros(side**2), jnp.full(len(edges), 0.44), jnp.array(1.0))
    blocks = [Block([nodes[i][j] for i in range(side) for j in range(side) if (i + j) % 2 == c]) for c in (0, 1)]
    program, sweeps = IsingSamplingProgram(model, blocks, []), 20
    start = [jnp.ones((chains, side**2 // 2), dtype=bool) for _ in blocks]

    @jax.jit
    def run(key: Any, state: Any) -> Any:
        keys = jax.random.split(key, chains)
        return jax.vmap(lambda k, s: _run_blocks(k, program, s, [], sweeps, [None, None])[0])(keys, state)

    rates = []
    for turn in range(6):
        began = time.process_time()
        jax.block_until_ready(run(jax.random.key(turn), start))
        rates.append(sweeps * chains * side**2 / (time.process_time() - began) / 1e6)
    return {"spins_per_us": median(rates[1:])}  # the first turn compiles


if __name__ == "__main__":
    _, name, side, chains = sys.argv
    print(json.dumps({"thrml": thrml}[name](int(side), int(chains))))
