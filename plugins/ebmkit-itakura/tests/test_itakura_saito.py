"""The generator against its closed forms."""

import torch
from ebmkit_itakura import ItakuraSaito


def test_s0_and_s1_are_those_of_the_closed_form():
    generator = ItakuraSaito(eps=1e-3)
    log_u = torch.linspace(-6, 6, 41, dtype=torch.float64)
    u = log_u.exp()
    slope = -1 / (u + 1e-3)
    torch.testing.assert_close(generator.s1(log_u), slope)
    torch.testing.assert_close(generator.s0(log_u), u * slope + torch.log(u + 1e-3))
