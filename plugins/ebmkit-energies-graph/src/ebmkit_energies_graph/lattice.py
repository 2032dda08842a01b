"""Chains that start at a lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Event, Ge, Gt, Init, component

if TYPE_CHECKING:
    from ebmkit_energies_graph.lattice_starts import LatticeStarts


@component("lattice")
class Lattice(Init):
    """Lattice: chains start with particles on a cubic lattice, shaken, so that no two are close to each other.

        x_i = spacing (c_i - c) + jitter spacing xi_i,    xi_i ~ N(0, I)

    c_i are the n sites next to the centre of a cube, in random order for every chain, and c is their mean. At
    independent random starts some particles nearly coincide: where they repel each other, energies and gradients are
    huge there, and steps that suit the target are far too long. The last axis of a state contains the coordinates of a
    particle.

    Parameters:
        spacing: distance of neighbours.
        jitter: standard deviation of the displacements, as a fraction of it.

    Reference: Allen and Tildesley, "Computer simulation of liquids", 2nd ed., 2017, section 5.6.

    Example: init: {use: graph.lattice, spacing: 1.0, jitter: 0.2}
    """

    spacing: Annotated[float, Gt(0)] = 1.0
    jitter: Annotated[float, Ge(0)] = 0.2

    def build(self, event: Event) -> LatticeStarts:
        from ebmkit_energies_graph.lattice_starts import LatticeStarts

        return LatticeStarts(event, self.spacing, self.jitter)
