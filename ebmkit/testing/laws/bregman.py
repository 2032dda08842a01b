"""The laws of Bregman generators."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ebmkit.contracts.kinds import Bregman
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Law, require
from ebmkit.testing.oracles import require_slope

#: Share of the terms of a sum that rounding may take.
ROUNDED = 1e-13
#: Error of a gradient in float32, relative to its size and to psi''(1), which is its size where the ratio is one.
SINGLE = 1e-3
#: What to do about digits that are lost.
CURE = "write s0(log_u) and s1(log_u) in closed form, without differences of large terms"


def _log_ratios(dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.linspace(-5, 5, 41, dtype=dtype)


def _far_out() -> Tensor:
    """Log ratios from 1e-30 to 1e30."""
    return torch.linspace(-30, 30, 61, dtype=torch.float64) * math.log(10)


def _slopes(generator: Bregman, log_u: Tensor) -> tuple[Tensor, Tensor]:
    """dS0 / d log u and dS1 / d log u."""
    log_u = log_u.clone().requires_grad_()
    (of_s0,) = torch.autograd.grad(generator.s0(log_u).sum(), log_u)
    (of_s1,) = torch.autograd.grad(generator.s1(log_u).sum(), log_u)
    return of_s0, of_s1


def works_elementwise(generator: Bregman, case: Case) -> None:
    """psi, S0 and S1 keep shape and dtype, also of empty tensors, and act on each element independently."""
    for dtype in (torch.float32, torch.float64):
        for shape in ((0,), (1,), (3, 5)):
            log_u = torch.linspace(-2, 2, 15, dtype=dtype)[: torch.Size(shape).numel()].view(shape)
            for name, found in _all(generator, log_u).items():
                seen = f"{name} of {dtype}, shape {shape}, is {found.dtype}, shape {tuple(found.shape)}"
                require((found.shape, found.dtype) == (log_u.shape, dtype), seen)
                alone = [_all(generator, one.view(1))[name] for one in log_u.flatten()]
                off = float((found.flatten() - torch.cat([found.new_empty(0), *alone])).abs().max()) if alone else 0.0
                require(off <= 1e-5, f"{name} of a number differs by {off:.3g} when it is alone")


def _all(generator: Bregman, log_u: Tensor) -> dict[str, Tensor]:
    return {"psi": generator.psi(log_u.exp()), "s0": generator.s0(log_u), "s1": generator.s1(log_u)}


def is_strictly_convex(generator: Bregman, case: Case) -> None:
    """psi'' > 0: S1 = psi' increases with the ratio, up to rounding for ratios beyond e^2."""
    log_u = _log_ratios()
    slope, near = _slopes(generator, log_u)[1], log_u.abs() <= 2
    least = float(torch.where(near, slope, slope + _rounding(generator, log_u)).min())
    require(least > 0, f"dS1 / d log u is as low as {least:.3g}")
    psi, middle = generator.psi(log_u.exp()), generator.psi((log_u[:-1].exp() + log_u[1:].exp()) / 2)
    chord = (psi[:-1] + psi[1:]) / 2 - middle
    allowed = torch.where(near[:-1] & near[1:], torch.zeros_like(middle), ROUNDED * middle.abs())
    require(bool((chord + allowed > 0).all()), f"psi is {float(-chord.min()):.3g} above one of its chords")


def _rounding(generator: Bregman, log_u: Tensor) -> Tensor:
    """What rounding may add to dS1 / d log u. Of closed forms nothing; a slope that autograd computes from psi may be a
    difference of terms of the size of S1."""
    derived = type(generator).s1 is Bregman.s1
    return ROUNDED * generator.s1(log_u).abs() if derived else torch.zeros_like(log_u)


def is_a_divergence(generator: Bregman, case: Case) -> None:
    """D(u, v) = psi(u) + S0(v) - u S1(v) is zero where u = v and positive elsewhere."""
    log_u = torch.linspace(-3, 3, 25, dtype=torch.float64)
    u = log_u.exp()
    terms = generator.psi(u)[:, None], generator.s0(log_u)[None], -u[:, None] * generator.s1(log_u)[None]
    divergence, size = sum(terms), sum(term.abs() for term in terms)
    assert isinstance(divergence, Tensor)
    at = float((divergence.diag().abs() / (1 + torch.as_tensor(size).diag())).max())
    require(at <= 1e-9, f"D(u, u) is as large as {at:.3g}")
    apart = divergence[~torch.eye(len(u), dtype=torch.bool)]
    least = float(apart.min())
    require(least > 0, f"D(u, v) of two different ratios is as low as {least:.3g}")


def has_the_gradient_of_maximum_likelihood_at_one(generator: Bregman, case: Case) -> None:
    """Where the model is the noise, as in the adaptive objective with an interval of one, the gradient of the loss is
    psi''(1) times that of maximum likelihood."""
    u = torch.ones(1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(generator.psi(u).sum(), u, create_graph=True)
    (second,) = torch.autograd.grad((slope + 0 * u).sum(), u)
    x, theta = torch.linspace(-1, 2, 12, dtype=torch.float64), torch.tensor([0.3, -0.2], dtype=torch.float64)
    theta.requires_grad_()
    log_p = -theta[0] * x - theta[1] * x.square()
    data, noise = (log_p - log_p.detach())[:4], (log_p - log_p.detach())[4:]  # log ratios of the model to itself
    (found,) = torch.autograd.grad(generator.s0(noise).mean() - generator.s1(data).mean(), theta, retain_graph=True)
    (wanted,) = torch.autograd.grad(log_p[4:].mean() - log_p[:4].mean(), theta)
    off = float((found - second * wanted).abs().max())
    require(
        off <= 1e-7 * (1 + float(second.abs())),
        f"the gradient is {found.tolist()}, but psi''(1) = {float(second):.6g} times that of maximum likelihood is "
        f"{(second * wanted).tolist()}",
    )


def has_the_forms_of_psi(generator: Bregman, case: Case) -> None:
    """S0 and S1 equal u psi' - psi and psi', computed from psi by autograd."""
    log_u = _log_ratios()
    for name, given, derived in (
        ("S0", generator.s0(log_u), Bregman.s0(generator, log_u)),
        ("S1", generator.s1(log_u), Bregman.s1(generator, log_u)),
    ):
        off = float(((given - derived).abs() / (1 + derived.abs())).max())
        require(off <= 1e-7, f"{name} differs by {off:.3g} from the value computed from psi")


def has_slopes_in_proportion(generator: Bregman, case: Case) -> None:
    """dS0 = u dS1, so that the true ratio is the minimum, for ratios from 1e-30 to 1e30."""
    log_u = _far_out()
    of_s0, of_s1 = _slopes(generator, log_u)
    u, s0, s1 = log_u.exp(), generator.s0(log_u), generator.s1(log_u)
    expected = u * of_s1
    # S0 = u psi' - psi loses digits where it is small next to its terms.
    terms = s0.abs() + generator.psi(u).abs() + (u * s1).abs()
    most = 1e-7 * (of_s0.abs() + expected.abs()) + ROUNDED * terms
    off = ((of_s0 - expected).abs() / most.clamp(min=ROUNDED)).nan_to_num(0.0)  # what is not finite breaks another law
    worst = int(off.argmax())
    require(
        float(off[worst]) <= 1,
        f"at a ratio of {float(u[worst]):.3g} dS0 is {float(of_s0[worst]):.6g}, but u dS1 is "
        f"{float(expected[worst]):.6g}",
    )


def has_the_gradient_of_differences(generator: Bregman, case: Case) -> None:
    """The gradients of S0 and S1 with respect to log u agree with finite differences."""
    log_u = torch.linspace(-2, 2, 9, dtype=torch.float64)
    of_s0, of_s1 = _slopes(generator, log_u)
    require_slope(lambda: generator.s0(log_u).sum(), [log_u], [of_s0], "dS0 / d log u")
    require_slope(lambda: generator.s1(log_u).sum(), [log_u], [of_s1], "dS1 / d log u")


def stays_finite_far_out(generator: Bregman, case: Case) -> None:
    """S0 and S1 and their slopes are finite for ratios from 1e-30 to 1e30, and S1 decreases nowhere."""
    log_u = _far_out()
    of_s0, of_s1 = _slopes(generator, log_u)
    every = {"S0": generator.s0(log_u), "S1": generator.s1(log_u), "the slope of S0": of_s0, "the slope of S1": of_s1}
    for name, found in every.items():
        wrong = ~found.isfinite()
        first = 10 ** float(log_u[wrong][0] / math.log(10)) if wrong.any() else 0.0
        require(not wrong.any(), f"{name} of a ratio of {first:.0e} is {found[wrong][:1].tolist()}")
    least = float((of_s1 + _rounding(generator, log_u)).min())
    require(least >= 0, f"dS1 / d log u is as low as {least:.3g}")


def keeps_its_digits_in_float32(generator: Bregman, case: Case) -> str | None:
    """In float32, the default of training, S0 and S1 have the gradients of float64 for ratios from e^-20 to e^20, up to
    a thousandth of their size and of psi''(1)."""
    log_u = torch.linspace(-20, 20, 81, dtype=torch.float64)
    precise, single = _slopes(generator, log_u), _slopes(generator, log_u.float())
    scale = float(_slopes(generator, log_u.new_zeros(1))[1].abs().clamp(min=1e-30))  # psi''(1)
    for name, wanted, found in zip(("dS0", "dS1"), precise, single, strict=True):
        there = wanted.abs() <= torch.finfo(torch.float32).max  # what is larger cannot be kept
        off = (found.double() - wanted).abs() / (wanted.abs() + scale)
        off = torch.where(there, off, torch.zeros_like(off)).nan_to_num(math.inf)
        worst = int(off.argmax())
        require(
            float(off[worst]) <= SINGLE,
            f"at a ratio of e^{float(log_u[worst]):g} {name} / d log u is {float(found[worst]):.6g} in float32, but "
            f"{float(wanted[worst]):.6g} in float64: it loses its digits by cancellation; {CURE}",
        )
    return _where_digits_end(generator, scale)


def _where_digits_end(generator: Bregman, scale: float) -> str | None:
    """From which ratio on S0 that is derived from psi has lost its digits, although computed in float64."""
    if type(generator).s0 is not Bregman.s0:
        return None
    log_u = _far_out()
    u, of_s0 = log_u.exp(), _slopes(generator, log_u)[0]
    rounding = torch.finfo(torch.float64).eps * (generator.psi(u).abs() + (u * generator.s1(log_u)).abs())
    lost = (rounding > 0.1 * scale) & (rounding > SINGLE * of_s0.abs()) & (log_u > 0)
    if not lost.any():
        return None
    return f"S0, derived from psi, loses its digits by cancellation for ratios above {float(u[lost][0]):.0e}; {CURE}"


def runs_on_the_device(generator: Bregman, case: Case) -> None:
    """On another device S0 and S1 and their gradients work, without host synchronisation."""
    with pretended_device() as gpu:
        log_u = _log_ratios(torch.float32).to(gpu.device)
        with gpu.watched() as seen:
            found = _slopes(generator, log_u)
        seen.require_no_host_syncs()
        require(all(slope.device == gpu.device for slope in found), f"gradients are on {found[0].device}")


LAWS: tuple[Law, ...] = (
    works_elementwise,
    is_strictly_convex,
    is_a_divergence,
    has_the_gradient_of_maximum_likelihood_at_one,
    has_the_forms_of_psi,
    has_slopes_in_proportion,
    has_the_gradient_of_differences,
    stays_finite_far_out,
    keeps_its_digits_in_float32,
    runs_on_the_device,
)
