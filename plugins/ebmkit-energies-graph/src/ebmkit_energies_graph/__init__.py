"""Energies of sets and of sequences for ebmkit: message passing between particles, attention between positions.

With data whose densities are known, noise and starting points for sets of particles, a loss for discrete states, an
optimizer of weight matrices, and metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.api import Panel, hookimpl
from ebmkit_energies_graph.energy_attention import EnergyAttention
from ebmkit_energies_graph.energy_discrepancy import EnergyDiscrepancy
from ebmkit_energies_graph.importance_kl import ImportanceKL
from ebmkit_energies_graph.independent import Independent
from ebmkit_energies_graph.lattice import Lattice
from ebmkit_energies_graph.message_passing import MessagePassing
from ebmkit_energies_graph.pair_distances import PairDistances
from ebmkit_energies_graph.particles import particle_count
from ebmkit_energies_graph.plasma import Plasma
from ebmkit_energies_graph.radial_panel import draw_distances
from ebmkit_energies_graph.spectral_descent import SpectralDescent
from ebmkit_energies_graph.spin_chain import SpinChain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ebmkit.api import Data, Init, Metric, Model, Noise, Objective, Optimizer, View

__all__ = [
    "EnergyAttention",
    "EnergyDiscrepancy",
    "ImportanceKL",
    "Independent",
    "Lattice",
    "MessagePassing",
    "PairDistances",
    "Plasma",
    "SpectralDescent",
    "SpinChain",
]

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1


@hookimpl
def ebmkit_components() -> Sequence[type[Data | Init | Metric | Model | Noise | Objective | Optimizer]]:
    """What specs can name, in the order of an experiment."""
    return [
        Plasma,
        SpinChain,
        MessagePassing,
        EnergyAttention,
        Independent,
        Lattice,
        EnergyDiscrepancy,
        SpectralDescent,
        ImportanceKL,
        PairDistances,
    ]


@hookimpl
def ebmkit_report_panels(view: View) -> Sequence[Panel]:
    """A figure of pair distances, for sets of particles."""
    if isinstance(view.spec.model, MessagePassing) and particle_count(view.event) > 1:
        return [Panel("distances", "Distances of particles", draw_distances)]
    return []
