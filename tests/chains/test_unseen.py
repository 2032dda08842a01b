"""Steps that no draw shows."""

import torch

from ebmkit.chains.unseen import Unseen
from ebmkit.contracts.kinds import StepInfo


def test_divergences_are_counted_in_every_precision():
    """A sum in bfloat16 stops growing at 256."""
    unseen = Unseen(torch.zeros(2, 3, dtype=torch.bfloat16))
    for _ in range(480):
        unseen.add(StepInfo(divergence=torch.tensor([1, 0], dtype=torch.bfloat16)))
        counted = unseen.sums.divergence
    assert counted.tolist() == [480, 0]


def test_their_number_does_not_depend_on_where_chains_are_saved():
    """Samplers may report the share of diverged transitions in a step, whose sum depends on the order."""
    fractions = torch.rand(100, 2, generator=torch.Generator().manual_seed(0))
    whole, saved = Unseen(torch.zeros(2, 3)), Unseen(torch.zeros(2, 3))
    for step, fraction in enumerate(fractions):
        whole.add(StepInfo(divergence=fraction))
        saved.add(StepInfo(divergence=fraction))
        if step % 7 == 0:
            assert len(saved.sums) == 2  # as a checkpoint does
    assert saved.sums.divergence.equal(whole.sums.divergence)
