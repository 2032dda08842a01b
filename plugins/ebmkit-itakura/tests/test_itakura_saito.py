"""The generator against the laws of its kind and against its closed forms."""

import pytest
import torch
from ebmkit_itakura import ItakuraSaito

from ebmkit.testing import trials


@pytest.mark.parametrize("trial", trials([ItakuraSaito, ItakuraSaito(eps=0.1)]), ids=str)
def test_law(trial):
    trial.run()


def test_s0_and_s1_are_those_of_the_closed_form():
    generator = ItakuraSaito(eps=1e-3)
    log_u = torch.linspace(-6, 6, 41, dtype=torch.float64)
    u = log_u.exp()
    slope = -1 / (u + 1e-3)
    torch.testing.assert_close(generator.s1(log_u), slope)
    torch.testing.assert_close(generator.s0(log_u), u * slope + torch.log(u + 1e-3))
