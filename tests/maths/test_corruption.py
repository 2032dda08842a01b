"""Corrupted states: how many units change, and which."""

import pytest
import torch

from ebmkit.maths.corruption import corrupted


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0)])
def test_exactly_a_share_of_the_units_is_flipped(values):
    x = torch.tensor(values)[torch.randint(2, (30, 2, 10), generator=generator(0))]
    y = corrupted(x, 0.25, 0.0, values, generator(1))
    assert set(y.unique().tolist()) == set(values)
    assert ((x != y).flatten(1).sum(1) == 5).all()
    assert len({tuple(row) for row in (x != y).flatten(1).tolist()}) > 20  # other units in each state


def test_masked_units_are_coins_and_no_flipped_ones():
    x = torch.ones(4000, 10)
    y = corrupted(x, 0.3, 0.7, (-1.0, 1.0), generator(1))
    wrong = (x != y).sum(1)
    assert int(wrong.min()) >= 3
    assert abs(float(wrong.double().mean()) - (3 + 7 / 2)) < 5.5 * (7 / 4 / 4000) ** 0.5
    assert torch.equal(corrupted(x, 0.0, 0.0, (-1.0, 1.0), generator(1)), x)
