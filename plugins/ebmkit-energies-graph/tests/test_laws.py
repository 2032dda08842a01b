"""Every component against the laws of its kind."""

import pytest
from ebmkit_energies_graph import (
    EnergyAttention,
    EnergyDiscrepancy,
    ImportanceKL,
    Independent,
    Lattice,
    MessagePassing,
    PairDistances,
    Plasma,
    SpectralDescent,
    SpinChain,
)

from ebmkit.testing import trials

FEW = {"size": 100, "test_size": 50}
COMPONENTS = [
    Plasma(**FEW),
    SpinChain(**FEW),
    MessagePassing(width=4),
    MessagePassing(layers=0, width=4),
    EnergyAttention(heads=2, width=4),
    Independent(),
    Lattice(),
    EnergyDiscrepancy(),
    SpectralDescent(),
    ImportanceKL(),
    PairDistances(samples=100),
]


@pytest.mark.parametrize("trial", trials(COMPONENTS), ids=str)
def test_law(trial):
    trial.run()
