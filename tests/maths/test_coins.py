"""Uniform numbers of 16 bits each and a shared rest: their law, by going through all of the bits."""

import math

import pytest
import torch

from ebmkit.maths import coins
from tests.components.oracles import generator


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_bits_together_are_every_number_once(dtype):
    """With a given rest v the numbers are (r + v) / 2^16, r = 0, ..., 2^16 - 1: none twice, none missing, none 1."""
    numbers = coins.Uniform(torch.empty(1, 2**16, dtype=dtype))
    numbers._own = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(1, -1)
    last = 2 ** (1 - round(math.log2(torch.finfo(dtype).eps)) - 16) - 1
    for rest in (0, last // 3, last):
        numbers._shared.random_ = lambda *_, **__: None
        numbers._shared.fill_(rest)
        u = numbers.draw(generator(0)).double()
        expected = (torch.arange(2**16, dtype=torch.float64) + rest / (last + 1)) / 2**16
        torch.testing.assert_close(u[0], expected, rtol=0, atol=0)
        assert float(u.max()) < 1
        assert float(u.min()) >= 0


@pytest.mark.parametrize("shape", [(4001,), (7, 1), (1, 3001), (5, 3, 201)], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.93])
def test_coins_fall_with_their_probability(shape, p):
    rng = generator(1)
    falls = torch.stack([coins.coins(torch.full(shape, p), rng) for _ in range(max(1, 200_000 // math.prod(shape)))])
    assert set(falls.unique().tolist()) == {0.0, 1.0}
    error = math.sqrt(p * (1 - p) / falls.numel())
    assert abs(float(falls.double().mean()) - p) < 5 * error  # false alarm 6e-7
    # Neighbours of a row, and those of a column, are independent.
    for axis in range(1, falls.dim()):
        if falls.shape[axis] > 1:
            one, other = falls.narrow(axis, 1, falls.shape[axis] - 1), falls.narrow(axis, 0, falls.shape[axis] - 1)
            gap = float((one.double() * other.double()).mean()) - p * p
            assert abs(gap) < 5.5 * math.sqrt((p**2 * (1 - p**2) + 2 * p**3 * (1 - p)) / one.numel())


def test_certain_coins_are_certain_and_what_is_no_number_stays_none():
    p = torch.tensor([0.0, 1.0, math.nan]).expand(100_000, 3)
    falls = coins.coins(p, generator(2))
    assert torch.equal(falls[:, 0], torch.zeros(100_000))
    assert torch.equal(falls[:, 1], torch.ones(100_000))
    assert bool(falls[:, 2].isnan().all())
    assert coins.coins(torch.empty(0, 5), generator(2)).shape == (0, 5)
