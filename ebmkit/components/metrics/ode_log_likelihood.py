"""The log-likelihood of data by the probability flow of a diffusion."""

from __future__ import annotations

import copy
from math import log, pi, prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast

from annotated_types import Ge, Gt

from ebmkit.components.samplers.reverse_time import TRIES
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.maths.process import least_noise, rates, signal_and_noise

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.chains.ode import Field
    from ebmkit.contracts.abilities import Scores
    from ebmkit.contracts.view import View

#: Numbers in the states that are integrated at once.
BLOCK = 1 << 16
#: Number of coordinates up to which the divergence is exact by default.
EXACT = 16


@component("ode_log_likelihood")
class ODELogLikelihood(Metric):
    """Mean log-likelihood of held-out data, in nats, by the probability flow ODE of a diffusion.

        dx/dt = v = f x - 1/2 g^2 s(x, t),    d log p(x)/dt = -div v
        log p(x) = log N(x_T; 0, prior_std^2 I) + integral of div v from `earliest` to T + d log signal

    This is the density that `probability_flow_ode` draws from without `denoise`, in the units of the data, even if s is
    not a gradient, or wrong. ode_bits_per_dim = -ode_log_likelihood / (d log 2), for real coordinates: published
    figures for images are for integers, and differ by the logarithm of their scale.

    The model describes data with noise, of sigma = noise / signal at the earliest time, so this is log q(x) of q = p *
    N(0, sigma^2 I) at clean points x. A perfect model is below the log-likelihood of the data by KL(p || q), which is
    of order sigma^4 if p is smooth: d sigma^4 / 4 for N(0, I). Data on a surface have no density; it then grows without
    limit as sigma decreases.

    It is computed in float64 on the CPU. A score network that takes labels gives log p(x | label).

    Results:
        ode_log_likelihood: mean log-density of held-out points by the probability flow, in nats; higher is better.
        ode_bits_per_dim: the negative of it in bits per coordinate; lower is better.
        ode_log_likelihood_truth: mean log-density of the same points under the known density.
        ode_log_likelihood_gap: how far the model is below it.

    Parameters:
        points: maximum number of held-out points; of more, this many evenly from the first to the last.
        tolerance: error of a step, relative to 1 + the size of the integrated state.
        probes: null is the exact divergence, with d backward passes per evaluation of the score. A number K estimates
            it with K random sign vectors v, as the mean of v' ds/dx v: unbiased, and exact in one dimension. The signs
            are drawn once per trajectory. `auto` is null up to 16 coordinates, and 1 above.
        truth: for data with a known density, report the mean true log density of the same points as
            `ode_log_likelihood_truth`, and how far the model is below it as `ode_log_likelihood_gap`.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, section 4.3; Grathwohl et al., "FFJORD", arXiv:1810.01367 (fixed random signs).

    Example: evaluate: [{use: ode_log_likelihood, points: 200}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "score"})

    points: Annotated[int, Ge(1)] = 1_000
    tolerance: Annotated[float, Gt(0)] = 1e-5
    probes: Annotated[int, Ge(1)] | Literal["auto"] | None = "auto"
    truth: bool = False

    def traits(self) -> MetricTraits:
        return super().traits()._replace(needs=self.needs | {"truth"} if self.truth else self.needs)

    def refusal(self, question: Question) -> str | None:
        traits = question.model.traits()
        if "score" not in traits.offers or traits.conditioning == "time":  # a missing score is refused elsewhere
            return None
        return "follows a process in time, but the model is conditioned on noise levels"

    def results(self) -> tuple[str, ...]:
        compared = ("ode_log_likelihood_truth", "ode_log_likelihood_gap") if self.truth else ()
        return ("ode_log_likelihood", "ode_bits_per_dim", *compared)

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen
        from ebmkit.maths.probes import draw_probes

        units, known = view.units, view.spec.data
        view = view.scaled  # where the noise is added
        test = view.data("test")
        if test is None:
            raise ValueError("a likelihood of data needs a spec with data")
        n, d = min(self.points, len(test)), prod(view.event)
        rows = torch.arange(n, device=test.device) * len(test) // n
        there = test[rows].to(view.device, view.dtype)
        # Drawn on the device of the generator; the rest on the CPU, because some devices lack float64.
        wanted = (None if d <= EXACT else 1) if self.probes == "auto" else self.probes
        probes = draw_probes("rademacher", there, wanted, view.rng).flatten(2) if wanted else None
        x = _precise(test[rows])
        labels = view.labels("test") if view.spec.model.traits().labelled else None
        labels = None if labels is None else labels[rows.to(labels.device)].cpu()
        module = copy.deepcopy(view.module).to("cpu", torch.float64)
        with frozen(module):
            found = torch.cat(
                [
                    self.log_prob(
                        cast("Scores", module),
                        x[some],
                        None if labels is None else labels[some],
                        None if probes is None else _precise(probes[:, some]),
                    )
                    for some in torch.split(torch.arange(n, device="cpu"), max(1, BLOCK // d))
                ]
            )
        mean = float(found.mean()) - units.log_volume
        results = {"ode_log_likelihood": mean, "ode_bits_per_dim": -mean / (d * log(2))}
        if self.truth:
            assert known is not None  # refused otherwise
            truth = float(known.log_prob(units.out_of(x)).mean())
            results |= {"ode_log_likelihood_truth": truth, "ode_log_likelihood_gap": truth - mean}
        return results

    def log_prob(self, module: Scores, x: Tensor, labels: Tensor | None, probes: Tensor | None) -> Tensor:
        """Log densities `(B,)` of states `(B, *event)`, with probes `(K, B, d)` or exactly."""
        from ebmkit.chains.ode import solve_ode

        schedule, d = module.schedule, x[0].numel()
        first, last = least_noise(schedule), schedule.horizon
        signal, _ = signal_and_noise(schedule, first)
        begin = torch.cat([signal * x.flatten(1), x.new_zeros(len(x), 1)], 1)
        end = solve_ode(carry(module, x, labels, probes), begin, first, last, self.tolerance, TRIES)
        noise, gathered = end[:, :d], end[:, d]
        std = schedule.prior_std()
        mean = module.prior_mean()
        mean = mean.flatten() if isinstance(mean, torch.Tensor) else mean
        prior = -((noise - mean) / std).square().sum(1) / 2 - d * (log(2 * pi) / 2 + log(std))
        return prior + gathered + d * log(signal)


def carry(module: Scores, like: Tensor, labels: Tensor | None, probes: Tensor | None) -> Field:
    """Flattened states along the flow, with the integral of the divergence in the last column."""
    d = like[0].numel()

    def field(t: Tensor, y: Tensor) -> Tensor:
        x = y[:, :d]
        score, spread = score_and_divergence(module, x.view_as(like), t, labels, probes)
        drift, diffusion = (rate.unsqueeze(-1) for rate in rates(module.schedule, t))
        velocity = drift * x - diffusion / 2 * score
        return torch.cat([velocity, d * drift - diffusion / 2 * spread.unsqueeze(1)], 1)

    return field


def score_and_divergence(
    module: Scores, x: Tensor, t: Tensor, labels: Tensor | None, probes: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The score `(B, d)` and the trace of its Jacobian `(B,)`, estimated if there are probes `(K, B, d)`."""
    with torch.enable_grad():
        point = x.detach().requires_grad_()
        score = module.score(point, t, labels).flatten(1)
        trace = x.new_zeros(len(x))
        if probes is None:
            for i in range(score.shape[1]):
                trace += _pulled(score[:, i].sum(), point)[:, i]
        else:
            for v in probes:
                trace += (_pulled((score * v).sum(), point) * v).sum(1) / len(probes)
    return score.detach(), trace


def _pulled(value: Tensor, point: Tensor) -> Tensor:
    """The gradient, `(B, d)`; zero for a constant score, which has no graph."""
    (gradient,) = torch.autograd.grad(value, point, retain_graph=True, allow_unused=True, materialize_grads=True)
    return gradient.flatten(1)


def _precise(x: Tensor) -> Tensor:
    return x.to("cpu", torch.float64)
