from __future__ import annotations

import copy
from math import log

import pytest
import torch

from ebmkit.maths.units import Units, fit_units, mapped

SCALES = ["standardize", "whiten", "range"]


def column(number):
    return f"column {number}"


def points(n=500, d=3, seed=0):
    rng = torch.Generator().manual_seed(seed)
    mixing = torch.randn(d, d, generator=rng, dtype=torch.float64) + 2 * torch.eye(d)
    return 5 + torch.randn(n, d, generator=rng, dtype=torch.float64) @ mixing


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("scale", SCALES)
def test_the_map_has_an_inverse_and_a_volume(scale, d):
    x = points(d=d)
    units = fit_units(scale, x, column)
    z = units.into(x, torch.float64)
    assert torch.allclose(units.out_of(z), x, rtol=0, atol=1e-12)
    jacobian = torch.autograd.functional.jacobian(lambda z: units.out_of(z[None])[0], z[0])
    assert units.log_volume == pytest.approx(float(torch.linalg.slogdet(jacobian)[1]), abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_gradients_follow_the_chain_rule(scale):
    x = points()[:7].requires_grad_()
    units = fit_units(scale, points(), column)
    z = units.into(x, torch.float64)
    value = z.sin().sum() + (z[:, 0] * z[:, 1]).sum()
    slope, expected = torch.autograd.grad(value, (z, x))
    assert torch.allclose(units.gradient(slope), expected, rtol=1e-12)


def test_what_each_scale_gives():
    x = points(n=20_000)
    z = mapped(fit_units("standardize", x, column), x, torch.float64)
    assert torch.allclose(z.mean(0), torch.zeros(3, dtype=z.dtype), atol=1e-12)
    assert torch.allclose(z.std(0, correction=0), torch.ones(3, dtype=z.dtype), rtol=1e-12)
    z = mapped(fit_units("whiten", x, column), x, torch.float64)
    assert torch.allclose(torch.cov(z.T), torch.eye(3, dtype=z.dtype), atol=5e-3)  # shrunk by 3 / 20,003
    z = mapped(fit_units("range", x, column), x, torch.float64)
    # Up to rounding, which differs between processors.
    assert torch.allclose(z.amin(0), -torch.ones(3, dtype=z.dtype), rtol=1e-14)
    assert torch.allclose(z.amax(0), torch.ones(3, dtype=z.dtype), rtol=1e-14)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("factor", "offset"), [(2.0**-20, 0.0), (2.0**20, 0.0), (1.0, 1024.0), (2.0**20, -(2.0**30))])
def test_shifts_and_factors_of_the_data_change_no_bit(scale, factor, offset):
    # Multiples of 2^-20: neither the factors, which are powers of two, nor the shifts round.
    x = (points() * 2**20).round() / 2**20
    other = factor * x + offset
    one, two = (mapped(fit_units(scale, y, column), y, torch.float32) for y in (x, other))
    assert torch.equal(one, two)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_decimal_factors_change_the_last_bits_at_most(scale, factor):
    x = points()
    one = mapped(fit_units(scale, x, column), x, torch.float32)
    other = factor * (x + 1000)
    two = mapped(fit_units(scale, other, column), other, torch.float32)
    assert torch.allclose(one, two, rtol=1e-6, atol=1e-6)


def test_one_faulty_row_does_not_shrink_all_others():
    x = points(n=1000)
    spoilt = x.clone()
    spoilt[3, 1] = 1e9
    z = mapped(fit_units("whiten", spoilt, column), spoilt, torch.float64)
    rest = torch.cat([z[:3], z[4:]])
    assert 0.5 < float(rest.std(0).min()) < float(rest.std(0).max()) < 1.5


def test_columns_that_determine_each_other_have_a_scale():
    x = points(n=1000, d=2)
    twins = torch.cat([x, x[:, :1]], 1)
    units = fit_units("whiten", twins, column)
    z = mapped(units, twins, torch.float64)
    assert float(z.abs().max()) < 10
    assert torch.allclose(units.out_of(z), twins, atol=1e-9)


def test_fewer_rows_than_columns_have_a_scale():
    x = points(n=5, d=10)
    z = mapped(fit_units("whiten", x, column), x, torch.float64)
    assert float(z.abs().max()) < 10


@pytest.mark.parametrize("scale", SCALES)
def test_what_has_no_scale_is_refused(scale):
    x = points()
    x[:, 1] = 7.25
    with pytest.raises(ValueError, match=r"column 1 is 7\.25 in every training row, .* leave it out"):
        fit_units(scale, x, column)
    with pytest.raises(ValueError, match="a single training row has no spread"):
        fit_units(scale, points(n=1), column)
    x = points()
    x[:, 2] *= 1e-320
    with pytest.raises(ValueError, match="column 2 has no scale that can be represented"):
        fit_units(scale, x, column)


def test_images_are_mapped_pixel_by_pixel():
    x = points(d=12).view(-1, 1, 3, 4)
    units = fit_units("standardize", x, column)
    z = mapped(units, x, torch.float32)
    assert z.shape == x.shape
    assert torch.allclose(units.out_of(z), x, atol=1e-5)
    assert float(z.flatten(1).mean(0).abs().max()) < 1e-6


def test_units_stay_exact_where_a_module_is_cast():
    units = fit_units("whiten", points(), column)
    module = torch.nn.ModuleList([copy.deepcopy(units)]).to(torch.float32)
    assert module[0].shift.dtype == torch.float64
    assert torch.equal(module[0].shift, units.shift)


def test_without_a_scale_nothing_is_touched():
    units, x = Units(), points()
    assert units.into(x, x.dtype) is x
    assert units.out_of(x) is x
    assert units.gradient(x) is x
    assert units.log_volume == 0
    assert mapped(units, torch.ones(3, 2, dtype=torch.uint8), torch.float32).dtype == torch.uint8
    assert fit_units("none", x, column).are_those_of_the_data


def test_the_volume_of_known_factors():
    x = torch.tensor([[0.0, 0.0], [4.0, 10.0]], dtype=torch.float64)
    assert fit_units("range", x, column).log_volume == pytest.approx(log(2 * 5))
