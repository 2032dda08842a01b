"""Half precision, in which torch has neither linear algebra nor distances."""

import pytest
import torch

from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.maths.kernels import log_kernel_mean
from ebmkit.maths.precision import precise
from ebmkit.testing.oracles import generator


@pytest.mark.parametrize("model", [Gaussian(mean=(0.0, 1.0)), GaussianMixture()])
def test_gaussians_have_their_abilities_in_half_precision(model):
    exact = model.build(model.event()).float()
    half = model.build(model.event()).to(torch.bfloat16)
    assert half.log_z().dtype == torch.bfloat16
    assert float(half.log_z().detach()) == pytest.approx(float(exact.log_z().detach()), abs=0.05)
    assert half.sample_exact(100, generator(0)).isfinite().all()
    x = torch.zeros(3, 2, dtype=torch.float32)
    with torch.no_grad():
        energies = half.noised(0.5)(x.bfloat16()).double(), exact.noised(0.5)(x).double()
    assert torch.allclose(*energies, rtol=0.05, atol=0.05)


def test_kernels_are_computed_in_float32_and_returned_as_they_came():
    x = torch.randn(5, 2, generator=generator(0)).bfloat16()
    found = log_kernel_mean(x, x)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), log_kernel_mean(x.float(), x.float()), rtol=0.02)


def test_other_precisions_are_left_alone():
    for dtype in (torch.float32, torch.float64):
        x = torch.zeros(2, dtype=dtype)
        assert precise(x) is x
