"""Diagnostics of draws do not depend on where the draws are, or on their units."""

import pytest
import torch

from ebmkit.diagnostics.autocorrelation import autocorrelation
from ebmkit.diagnostics.ess import ess_bulk, ess_mean, ess_tail
from ebmkit.diagnostics.mcse import mcse_mean
from ebmkit.diagnostics.rhat import rhat
from tests.diagnostics.chains import autoregressive

FIGURES = {"rhat": rhat, "ess_bulk": ess_bulk, "ess_tail": ess_tail, "ess_mean": ess_mean, "mcse_mean": mcse_mean}


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 3e4, -1e6], ids="{:g}".format)
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20], ids="{:g}".format)
@pytest.mark.parametrize("name", FIGURES)
def test_place_and_units_of_float32_draws(name, scale, offset):
    """The same rounded draws, at their place and moved back, which is exact."""
    rounded = autoregressive(4, 200, 3, 0.7).float() + offset
    there, here = FIGURES[name](rounded * scale), FIGURES[name](rounded.double() - offset)
    assert torch.allclose(there, here * (scale if name == "mcse_mean" else 1), rtol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e6], ids="{:g}".format)
def test_autocorrelation_in_the_precision_of_the_draws(offset):
    rounded = autoregressive(2, 200, 3, 0.7).float() + offset
    there, here = autocorrelation(rounded, 20), autocorrelation(rounded.double() - offset, 20)
    assert torch.allclose(there.double(), here, atol=1e-5)
