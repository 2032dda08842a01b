"""The laws of noise distributions."""

from __future__ import annotations

import math

import torch

from ebmkit.kinds import Noise
from ebmkit.nets.density import Density
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Law, require
from ebmkit.testing.oracles import DRAWS, features, generator, integrate, require_means
from ebmkit.testing.partner import data, default_dtype, seeded, states
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged, unmoved


def _density(noise: Noise, case: Case, dtype: torch.dtype = torch.float64, seed: int = 0) -> Density:
    with seeded(seed), default_dtype(dtype):
        return noise.build(case.event, data(case.event, dtype)).to(dtype).eval()


def gives_one_number_a_state(noise: Noise, case: Case) -> None:
    """log_prob maps `(B, *event)` to `(B,)`, finite, for B = 0, 1 and 7; a sample of n has shape `(n, *event)`."""
    density = _density(noise, case)
    for n in (0, 1, 7):
        found = density.log_prob(states("real", n, case.event, generator(1)))
        require(tuple(found.shape) == (n,), f"log_prob of {n} states has shape {tuple(found.shape)}")
        require(bool(found.isfinite().all()), f"log_prob is {found.tolist()[:3]}")
    x = density.sample(7, generator(2))
    require(tuple(x.shape) == (7, *case.event), f"7 draws have shape {tuple(x.shape)}")


def keeps_the_dtype(noise: Noise, case: Case) -> None:
    """A density in float64 computes in float64, one in float32 in float32, whatever it was built in."""
    for dtype in (torch.float32, torch.float64):
        density = _density(noise, case, torch.float32).to(dtype)
        x = density.sample(3, generator(2))
        found = density.log_prob(x)
        require(x.dtype == found.dtype == dtype, f"samples are {x.dtype}, log_prob is {found.dtype}, for {dtype}")


def treats_states_apart(noise: Noise, case: Case) -> None:
    """log_prob of a state does not depend on which others are in the batch."""
    density, x = _density(noise, case), states("real", 7, case.event, generator(1))
    off = float((density.log_prob(x) - torch.cat([density.log_prob(row[None]) for row in x])).detach().abs().max())
    require(off <= 1e-9, f"a state has a log_prob {off:.3g} apart when it is alone")


def is_deterministic(noise: Noise, case: Case) -> None:
    """The same generator gives the same draws, and fitting the same data twice the same density."""
    one, two = _density(noise, case), _density(noise, case)
    with no_global_randomness(), unchanged(one):
        x = one.sample(7, generator(2))
        one.log_prob(x)
    require_same_bits(x, two.sample(7, generator(2)), "draws of two densities that were fitted alike")


def leaves_the_data_alone(noise: Noise, case: Case) -> None:
    """Fitting writes nothing to the data."""
    points = data(case.event)
    with unmoved(points), no_global_randomness(torch_too=False), seeded(0):
        noise.build(case.event, points)


def is_saved_whole(noise: Noise, case: Case) -> None:
    """A density with the state of another, which was fitted to other data, is that other to the last bit."""
    one = _density(noise, case)
    with seeded(1), default_dtype(torch.float64):
        two = noise.build(case.event, 2 * data(case.event) + 1).double().eval()
    two.load_state_dict({name: tensor.clone() for name, tensor in one.state_dict().items()})
    x = states("real", 7, case.event, generator(1))
    require_same_bits(one.log_prob(x), two.log_prob(x), "log_prob of a density and its restored twin")
    require_same_bits(one.sample(7, generator(2)), two.sample(7, generator(2)), "draws of a density and its twin")


def is_normalised(noise: Noise, case: Case) -> None:
    """exp(log_prob) integrates to one, in one and two dimensions."""
    exact = integrate(_density(noise, case).log_prob, case.event)
    require(abs(exact.log_z) <= 1e-6 + exact.error, f"it integrates to {math.exp(exact.log_z):.9g}")


def draws_from_its_density(noise: Noise, case: Case) -> None:
    """Samples have the density that log_prob says, by the means of waves and of log_prob itself, at a rate of 1e-6."""
    density = _density(noise, case)
    exact = integrate(density.log_prob, case.event)
    x = density.sample(DRAWS, generator(5))
    require_means(features(x), exact.mean(features(exact.x)), "the mean of a wave over draws")
    at_points = density.log_prob(exact.x)
    entropy = -exact.mean(at_points.where(exact.weights > 0, torch.zeros_like(at_points)))  # 0 log 0 is 0
    require_means(-density.log_prob(x), entropy, "the entropy of draws")


def runs_on_the_device(noise: Noise, case: Case) -> None:
    """On another device draws and densities are those of the CPU, and nothing makes the host wait."""
    density = _density(noise, case, torch.float32)
    on_cpu = density.log_prob(density.sample(7, generator(2))).detach()
    with pretended_device() as gpu:
        density = density.to(gpu.device)
        with gpu.watched() as seen:
            found = density.log_prob(density.sample(7, gpu.generator(2)))
        seen.require_no_waits()
        require(found.device == gpu.device, f"log_prob is on {found.device}")
        off = float((found.detach().cpu() - on_cpu).abs().max())
    require(off <= 1e-4, f"log_prob differs from that on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (
    gives_one_number_a_state,
    keeps_the_dtype,
    treats_states_apart,
    is_deterministic,
    leaves_the_data_alone,
    is_saved_whole,
    is_normalised,
    draws_from_its_density,
    runs_on_the_device,
)
