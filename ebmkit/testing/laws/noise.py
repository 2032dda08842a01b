"""The laws of noise distributions."""

from __future__ import annotations

import copy
import math
from functools import lru_cache

import torch
from torch import Generator, Tensor

from ebmkit.contracts.kinds import Noise
from ebmkit.contracts.modules.conditional_density import ConditionalDensity
from ebmkit.contracts.modules.density import Density
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.importance import require_independent, require_log_integral
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import BELIEVED, DRAWS, features, generator, integrate, require_means, require_slope
from ebmkit.testing.partner import build, data, default_dtype, network, seeded, states
from ebmkit.testing.setting import small_setting
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged, unmoved


class _Around(Density):
    """Conditional noise around one point as a density, which must satisfy the same laws."""

    point: Tensor

    def __init__(self, conditional: ConditionalDensity, point: Tensor) -> None:
        super().__init__()
        self.conditional = conditional
        self.register_buffer("point", point)

    def log_prob(self, x: Tensor) -> Tensor:
        return self.conditional.log_prob(x, self.point.expand_as(x))

    def sample(self, n: int, rng: Generator) -> Tensor:
        return self.conditional.sample(self.point.expand(n, *self.point.shape), rng)


def _density(noise: Noise, case: Case, dtype: torch.dtype = torch.float64, *, other: bool = False) -> Density:
    """Fitted to data, or to `other` data, and prepared with a model. Cached, because some take long to fit."""
    return copy.deepcopy(_fitted_once(noise, case, dtype, other))


def _fitted(noise: Noise, case: Case, dtype: torch.dtype, other: bool) -> Density:
    model = build(network(case.event), case.event, dtype=dtype)
    points = data(case.event, dtype)
    with seeded(1 if other else 0), default_dtype(dtype):
        built = noise.build(case.event, 2 * points + 1 if other else points)
        density = built if isinstance(built, Density) else _Around(built, points[1 if other else 0])
        prepare_modules(density, small_setting(model, case.event))
    return density.to(dtype).eval()


_fitted_once = lru_cache(maxsize=8)(_fitted)


def _normalised(noise: Noise, case: Case) -> Density:
    if "normalised" not in noise.traits().offers:
        raise Inapplicable("its density is known only up to a constant")
    return _density(noise, case)


def gives_one_number_a_state(noise: Noise, case: Case) -> None:
    """log_prob maps `(B, *event)` to `(B,)` for B = 0, 1 and 7; a sample of n has shape `(n, *event)`; the log_prob of
    samples and of the data is finite."""
    density = _density(noise, case)
    for n in (0, 1, 7):
        found = density.log_prob(states("real", n, case.event, generator(1)))
        require(tuple(found.shape) == (n,), f"log_prob of {n} states has shape {tuple(found.shape)}")
        require(not bool((found.isnan() | found.isposinf()).any()), f"log_prob is {found.tolist()[:3]}")
    x = density.sample(7, generator(2))
    require(tuple(x.shape) == (7, *case.event), f"7 draws have shape {tuple(x.shape)}")
    for what, points in (("a draw", x), ("the data", data(case.event))):
        found = density.log_prob(points)
        require(bool(found.isfinite().all()), f"log_prob of {what} is {float(found.detach().min())}")


def keeps_the_dtype(noise: Noise, case: Case) -> None:
    """A density in float64 computes in float64, one in float32 in float32, regardless of the dtype it was built in."""
    for dtype in (torch.float32, torch.float64):
        density = _density(noise, case, torch.float32).to(dtype)
        x = density.sample(3, generator(2))
        found = density.log_prob(x)
        require(x.dtype == found.dtype == dtype, f"samples are {x.dtype}, log_prob is {found.dtype}, for {dtype}")


def treats_states_apart(noise: Noise, case: Case) -> None:
    """The log_prob of a state does not depend on the other states in the batch."""
    density, x = _density(noise, case), states("real", 7, case.event, generator(1))
    together, alone = density.log_prob(x), torch.cat([density.log_prob(row[None]) for row in x])
    off = torch.where(together == alone, 0, together - alone)  # outside the support both are -inf
    most = float(off.detach().abs().max())
    require(most <= 1e-9, f"the log_prob of a state differs by {most:.3g} when it is alone")


def counts_its_parameters(noise: Noise, case: Case) -> None:
    """The number of trainable parameters that is announced before the noise is built is that of the module."""
    announced = noise.parameter_count(case.event)
    if announced is None:
        raise Inapplicable("it does not announce the number of its parameters")
    density = _density(noise, case)
    found = sum(parameter.numel() for parameter in density.parameters() if parameter.requires_grad)
    require(announced == found, f"it announces {announced} trainable numbers, but there are {found}")


def is_deterministic(noise: Noise, case: Case) -> None:
    """The same generator gives the same draws, and fitting the same data twice the same density."""
    one, two = (_fitted(noise, case, torch.float64, other=False) for _ in range(2))
    with no_global_randomness(), unchanged(one):
        x = one.sample(7, generator(2))
        one.log_prob(x)
    require_same_bits(x, two.sample(7, generator(2)), "draws of two densities fitted to the same data")


def leaves_the_data_alone(noise: Noise, case: Case) -> None:
    """Fitting does not modify the data."""
    points = data(case.event)
    with unmoved(points), no_global_randomness(torch_too=False), seeded(0):
        noise.build(case.event, points)


def is_saved_whole(noise: Noise, case: Case) -> None:
    """A density that loads the state of another, fitted to other data, equals that other to the last bit."""
    one = _density(noise, case)
    two = _density(noise, case, other=True)
    two.load_state_dict({name: tensor.clone() for name, tensor in one.state_dict().items()})
    x = states("real", 7, case.event, generator(1))
    require_same_bits(one.log_prob(x), two.log_prob(x), "log_prob of a density and its restored twin")
    require_same_bits(one.sample(7, generator(2)), two.sample(7, generator(2)), "draws of a density and its twin")


def is_normalised(noise: Noise, case: Case) -> str:
    """exp(log_prob) integrates to one: by quadrature in one and two dimensions, by importance sampling in more."""
    density = _normalised(noise, case)
    if math.prod(case.event) > 2:
        x = density.sample(DRAWS, generator(5)).detach()
        return require_log_integral(density.log_prob, x, 0.0, "the integral of its density")
    exact = integrate(density.log_prob, case.event)
    # The error of the rule is not squared for densities with edges, as it is for smooth ones.
    require(abs(exact.log_z) <= BELIEVED, f"it integrates to {math.exp(exact.log_z):.9g}")
    return ""


def draws_from_its_density(noise: Noise, case: Case) -> None:
    """Samples are independent and have the density log_prob, tested by means of waves and of log_prob itself, at a rate
    of 1e-6."""
    density = _normalised(noise, case)
    require_independent(density.sample(DRAWS, generator(6)), "draws")
    exact = integrate(density.log_prob, case.event)
    x = density.sample(DRAWS, generator(5))
    require_means(features(x), exact.mean(features(exact.x)), "the mean of a wave over draws")
    at_points = density.log_prob(exact.x)
    entropy = -exact.mean(at_points.where(exact.weights > 0, torch.zeros_like(at_points)))  # 0 log 0 is 0
    require_means(-density.log_prob(x), entropy, "the entropy of draws")


def goes_row_by_row(noise: Noise, case: Case) -> None:
    """Each row of conditional noise has the density and the draw of the point in that row."""
    around = _density(noise, case)
    if not isinstance(around, _Around):
        raise Inapplicable("it does not depend on a point")
    x, y = (states("real", 7, case.event, generator(seed)) for seed in (1, 2))
    conditional = around.conditional
    alone = torch.cat([conditional.log_prob(b[None], a[None]) for a, b in zip(x, y, strict=True)])
    off = float((conditional.log_prob(y, x) - alone).detach().abs().max())
    require(off <= 1e-9, f"the log_prob of a row differs by {off:.3g} when it is alone")
    given = 1e3 * torch.arange(7, dtype=x.dtype).view(-1, *[1] * len(case.event)).expand_as(x)
    drawn = conditional.sample(given, generator(3)).flatten(1).mean(1)
    require(bool((drawn.diff() > 500).all()), f"points a thousand apart have draws at {drawn.tolist()}")


def can_be_moved(noise: Noise, case: Case) -> None:
    """If it is `learnable`, gradients flow through `sample` and `log_prob` into all its parameters, and agree with
    finite differences; otherwise it has no trainable parameters."""
    density = _density(noise, case)
    trained = [parameter for parameter in density.parameters() if parameter.requires_grad]
    require(bool(trained) == ("learnable" in noise.traits().offers), f"it has {len(trained)} trainable tensors")
    if not trained:
        return

    def value() -> Tensor:
        x = density.sample(7, generator(2))
        return (density.log_prob(x) + features(x).sum(1)).mean() - density.log_prob(data(case.event)).mean()

    slopes = torch.autograd.grad(value(), trained, allow_unused=True)
    require(all(slope is not None for slope in slopes), "some parameters receive no gradient")
    require_slope(value, trained, list(slopes), "the gradient of a function of draws")


def runs_on_the_device(noise: Noise, case: Case) -> None:
    """On another device draws and densities equal those on the CPU, without host synchronisation."""
    density = _density(noise, case, torch.float32)
    on_cpu = density.log_prob(density.sample(7, generator(2))).detach()
    with pretended_device() as gpu:
        density = density.to(gpu.device)
        with gpu.watched() as seen:
            found = density.log_prob(density.sample(7, gpu.generator(2)))
        seen.require_no_host_syncs()
        require(found.device == gpu.device, f"log_prob is on {found.device}")
        off = float((found.detach().cpu() - on_cpu).abs().max())
    require(off <= 1e-4, f"log_prob differs from that on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (
    gives_one_number_a_state,
    keeps_the_dtype,
    treats_states_apart,
    counts_its_parameters,
    is_deterministic,
    leaves_the_data_alone,
    is_saved_whole,
    is_normalised,
    draws_from_its_density,
    goes_row_by_row,
    can_be_moved,
    runs_on_the_device,
)
