"""The draws of chains that are long enough to be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.diagnostics.coordinates import FEWEST
from ebmkit.diagnostics.split import split

if TYPE_CHECKING:
    from ebmkit.contracts.draws import Draws
    from ebmkit.contracts.view import View


def long_chains(view: View) -> Draws:
    """What chains kept, each coordinate of which moves in some chain."""
    view.samples(view.spec.samples)
    if view.draws is None:
        raise ValueError("the samples are not those of long chains, which 'chains:' in a spec asks for")
    x = view.draws.x
    if x.shape[1] < FEWEST:
        raise ValueError(f"of {x.shape[1]} draws a chain, nothing can be said; {FEWEST} are the fewest")
    halves = split(x)
    still = (halves == halves[:, :1]).all(0).all(0).flatten().nonzero().flatten().tolist()
    if still:
        raise ValueError(
            f"{len(still):,} of {x[0, 0].numel():,} coordinates of a state never move, the first of them x[{still[0]}] "
            "of the flattened state: chains that stand still tell nothing of how well they mix"
        )
    return view.draws
