"""Annealed importance sampling of the normaliser."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, cast

from annotated_types import Ge

from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.hmc import HMC
from ebmkit.contracts.abilities import Harmonium
from ebmkit.contracts.ability import missing_members
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Metric, Model, Sampler, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits, offered_to
from ebmkit.maths.importance import LogMean, log_mean

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.components.metrics.nets.annealed import AnnealedEnergy, Whitened
    from ebmkit.components.metrics.nets.annealed_layers import AnnealedLayers
    from ebmkit.components.metrics.nets.bases import BernoulliBase, CategoricalBase
    from ebmkit.components.metrics.nets.joint_units import JointUnits
    from ebmkit.contracts.abilities import Posterior, SampleExact
    from ebmkit.contracts.view import View

#: Points to which the base distribution is fitted, at most.
FITTED = 10_000
#: Weights have collapsed if fewer chains than this, or a smaller share of them, have all the weight.
FEWEST, LEAST_SHARE = 5.0, 0.1
#: Forward and reverse estimates disagree if they are apart by this many nats and standard errors, and their order is
#: wrong by this many standard errors.
APART, ERRORS = 1.0, 4.0
#: Sweeps of Gibbs sampling from samples of visible units to samples of all units.
SWEEPS = 100


class Annealing(NamedTuple):
    """The path to a model, and the map from its states to those of the model, if there is one."""

    path: AnnealedEnergy | AnnealedLayers
    frame: Whitened | None = None
    joint: JointUnits | None = None

    def into(self, x: Tensor, rng: Generator) -> Tensor:
        """Samples of the model as states of the path."""
        if self.joint is not None:
            return self.joint.extended(x, rng, SWEEPS)
        return x if self.frame is None else self.frame.into(x)


@component("ais")
class AIS(Metric):
    """Annealed importance sampling (AIS): log Z of any energy between a forward and a reverse estimate, with its error.

        E_beta = (1 - beta) E_base + beta E,    0 = beta_0 < ... < beta_K = 1,    Z_base = 1
        x_0 ~ p_base,    x_k from x_{k-1} by a sampler that leaves exp(-E_beta_k) invariant
        log w = sum_k (beta_k - beta_{k-1}) (E_base(x_{k-1}) - E(x_{k-1})),    Z = E[w]
        ais_log_z = log of the mean of w over the chains,    ais_ess = (sum w)^2 / sum w^2

    The mean of w is unbiased, so its logarithm is below log Z on average, by about half the squared error. The reverse
    chains start from samples of the model and end at the base, which estimates 1/Z: ais_log_z_reverse is above log Z on
    average, but only if these samples are exact. They are if the model offers `sample_exact`; otherwise they are those
    of the run, and if its chains have not converged it is not a bound. Without samples it is not reported.

    ais_log_z_error is the standard error of ais_log_z by the delta method. If the weights are even, ais_log_z +- 2
    ais_log_z_error covers log Z in 95 % of all runs with 100 chains, and in 92 % with 10. If they are not, a few chains
    have all the weight, log Z is too low and its error too small. This is a warning, as is a distance of the two
    estimates that their errors do not explain: use more temperatures. Since ais_log_z is rather too low,
    ais_log_likelihood is rather too high.

    If the energy of visible units is not tractable, because hidden units cannot be summed out, chains move both, from a
    base of independent units to E(x, h). Then the likelihood is one of its lower bounds, with the posterior energy of
    the model in place of E(x), and has a name of its own. It is a bound up to the error of log Z, which is rather too
    low; with ais_log_z_reverse in place of ais_log_z it is on the safe side if the samples of that one are exact.

    The base is fitted to the training data, without data to samples: a Gaussian on real states, independent units on
    discrete ones. Without either it is N(0, I), or uniform. On real states the sampler moves coordinates in which the
    base is N(0, I): its step sizes and scales are in standard deviations. A pilot run of a few chains, which are then
    discarded, spaces the temperatures and tunes `step_size` where the sampler has a target acceptance. The bias of a
    sampler without Metropolis correction, such as `langevin`, is part of the result. Without `sampler` the layers of an
    `rbm` are drawn in turn, with hidden units summed out of the weights at every beta.

    Results:
        ais_log_z: log Z by the forward chains.
        ais_log_z_error: standard error of it.
        ais_log_z_reverse: log Z by the reverse chains.
        ais_ess: effective number of forward chains, at most their number.
        ais_log_likelihood: mean log-likelihood of held-out points in nats, with ais_log_z; higher is better.
        ais_log_likelihood_bound: the same with the posterior energy, for a model whose energy is not tractable.

    Parameters:
        chains: number of chains in each direction.
        temperatures: K, the number of intervals of beta.
        sampler: moves the chains, with `steps` steps at each temperature; by default one trajectory of `hmc` with five
            leapfrog steps, or one sweep of `gibbs` on discrete states.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Neal, "Annealed importance sampling", Statistics and Computing 11, 2001; Salakhutdinov and Murray, "On
    the quantitative analysis of deep belief networks", ICML 2008; Burda, Grosse and Salakhutdinov, "Accurate and
    conservative estimates of MRF log-likelihood using reverse annealing", arXiv:1412.8566.

    Example: evaluate: [{use: ais, chains: 200, temperatures: 2000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy"})

    chains: Annotated[int, Ge(2)] = 100
    temperatures: Annotated[int, Ge(2)] = 1_000
    sampler: Sampler | None = None

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.chains, joint=True)

    def refusal(self, question: Question) -> str | None:
        traits = question.model.traits()
        if not _is_tractable(question.model) and (traits.space == "real" or "joint_conditionals" not in traits.offers):
            return "needs the energy of x, or of visible and hidden units of two values with 'joint_conditionals'"
        if self.sampler is None:
            if traits.space == "real" and "gradient" not in traits.offers:
                return "moves by 'hmc', but the model has no gradient: give it a 'sampler' that needs none"
            return None
        inner, called = self.sampler.traits(), f"moves by sampler '{self.sampler.component_name}', which"
        if inner.from_noise or inner.conditioning is not None:
            return f"{called} runs once from noise to a sample"
        if inner.interacting:
            return f"{called} lets its chains move each other, but each of them has a weight of its own"
        if traits.space not in inner.spaces:
            return f"{called} does not move {traits.space} states"
        if inner.temperature != 1:
            return f"{called} sets its own 'temperature': remove it"
        if self.sampler.inner():
            return f"{called} has chains at other temperatures that would start again at each of these"
        offered = {"energy", "gradient"} & offered_to(self.traits(), traits) | (
            {"conditionals", "blocks"} if traits.space != "real" else set()
        )
        if lacking := sorted(inner.needs - offered):
            return f"{called} needs '{', '.join(lacking)}', which is not defined between the base and the model"
        return None

    def results(self) -> tuple[str, ...]:
        of_data = ("ais_log_likelihood", "ais_log_likelihood_bound")
        return ("ais_log_z", "ais_log_z_error", "ais_ess", "ais_log_z_reverse", *of_data)

    def results_in(self, question: Question) -> tuple[str, ...]:
        absent = {"ais_log_likelihood", "ais_log_likelihood_bound"} - (
            {_likelihood_of(question.model)} if question.data else set()
        )
        if question.sampler is None and "sample_exact" not in question.model.traits().offers:
            absent.add("ais_log_z_reverse")
        return tuple(name for name in self.results() if name not in absent)

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.annealing import PILOT, Transitions, anneal, pilot
        from ebmkit.chains.energy import frozen

        annealing, like = self.annealing(view), torch.empty(0, device=view.device, dtype=view.dtype)
        path, sampler, rng = annealing.path, self.sampler or default_moves(view.spec.model), view.rng
        ends = self._model_samples(view, self.chains)
        with frozen(path) as energy:
            transitions = Transitions(sampler, energy, path, rng)
            ladder = pilot(transitions, self.temperatures, path.base.sample(PILOT, like, rng))
            forward = log_mean(anneal(transitions, ladder, path.base.sample(self.chains, like, rng)))
            found = {"ais_log_z": forward.value, "ais_log_z_error": forward.error, "ais_ess": forward.ess}
            _warn_of_collapse(view, forward, self.chains)
            if ends is not None:
                start = annealing.into(ends.to(like.device, like.dtype), rng)
                reverse = log_mean(anneal(transitions, ladder, start, reverse=True))
                found["ais_log_z_reverse"] = -reverse.value
                _warn_of_gap(view, forward, reverse)
        name = _likelihood_of(view.spec.model)
        if name and (test := view.data("test")) is not None:
            found[name] = -_mean_energy(view, test) - forward.value
        return found

    def annealing(self, view: View) -> Annealing:
        """The path from a base that is fitted to the data, or to samples."""
        from ebmkit.components.metrics.nets.annealed import AnnealedEnergy, Whitened
        from ebmkit.components.metrics.nets.bases import GaussianBase, fit_gaussian

        like, points = torch.empty(0, device=view.device, dtype=view.dtype), self._points(view)
        if values := view.spec.model.traits().unit_values:
            return _annealing_of_units(view, values, points, like, by_gibbs=self.sampler is None)
        d = prod(view.event)
        zero, one = (torch.full((d,), value, device="cpu", dtype=torch.float64) for value in (0.0, 1.0))
        mean, factor = (zero, one) if points is None else fit_gaussian(points)
        frame = Whitened(view.module, mean, factor, like)
        return Annealing(AnnealedEnergy(GaussianBase(view.event), frame), frame)

    def _points(self, view: View) -> Tensor | None:
        """Points to fit the base to; none on discrete states without data, where the base is uniform."""
        train = view.data("train")
        if train is not None:
            rows = torch.arange(min(FITTED, len(train)), device=train.device) * len(train) // min(FITTED, len(train))
            return train[rows]
        return self._model_samples(view, 10 * self.chains) if view.spec.model.traits().space == "real" else None

    @staticmethod
    def _model_samples(view: View, n: int) -> Tensor | None:
        """Exact samples if the model has them, else those of the run; None if there are none."""
        if "sample_exact" in view.spec.model.traits().offers and hasattr(view.module, "sample_exact"):
            with torch.no_grad():
                return cast("SampleExact", view.module).sample_exact(n, view.rng)
        return view.samples(n) if view.can_sample else None


def _annealing_of_units(
    view: View, values: tuple[float, ...], points: Tensor | None, like: Tensor, *, by_gibbs: bool
) -> Annealing:
    """The path on visible units, or on these and hidden ones that cannot be summed out."""
    from ebmkit.components.metrics.nets.annealed import AnnealedUnits
    from ebmkit.components.metrics.nets.annealed_layers import AnnealedLayers
    from ebmkit.components.metrics.nets.bases import BernoulliBase
    from ebmkit.components.metrics.nets.joint_units import JointUnits

    categorical = view.spec.model.traits().space == "categorical"
    if _is_tractable(view.spec.model):
        base = _base_of_units(view.event, values, points, like, categorical=categorical)
        if by_gibbs and isinstance(base, BernoulliBase) and not missing_members(view.module, Harmonium):
            return Annealing(AnnealedLayers(base, view.module))
        return Annealing(AnnealedUnits(base, view.module))
    joint = JointUnits(view.module)
    example = like.new_zeros(1, *view.event)
    units = joint.extended(example, view.rng).shape[1]
    points = None if points is None else joint.extended(points.to(like), view.rng)
    base = _base_of_units((units,), values, points, like, categorical=categorical)
    return Annealing(AnnealedUnits(base, joint), joint=joint)


def _base_of_units(
    event: Event, values: tuple[float, ...], points: Tensor | None, like: Tensor, *, categorical: bool
) -> BernoulliBase | CategoricalBase:
    """Independent units with the frequencies of the points, or uniform ones."""
    from ebmkit.components.metrics.nets.bases import BernoulliBase, CategoricalBase, fit_log_p, fit_logits

    if points is None:
        points = like.new_zeros(0, prod(event))
    if categorical:
        return CategoricalBase(event, fit_log_p(points, len(values)).to(like))
    low, high = values
    return BernoulliBase(event, (low, high), fit_logits(points, (low, high)).to(like))


def default_moves(model: Model) -> Sampler:
    """One step at each temperature, for models on real and on discrete states."""
    return HMC(steps=1, step_size=0.3, leapfrog_steps=5) if model.traits().space == "real" else Gibbs(steps=1)


def _is_tractable(model: Model) -> bool:
    """Whether the energy of visible states is; otherwise chains move hidden units, too."""
    return "energy" in model.traits().offers


def _likelihood_of(model: Model) -> str:
    """The name of the likelihood that can be estimated; empty if none can."""
    if _is_tractable(model):
        return "ais_log_likelihood"
    return "ais_log_likelihood_bound" if "posterior" in model.traits().offers else ""


def _mean_energy(view: View, x: Tensor) -> float:
    """Of visible states, or where it is not tractable its upper bound."""
    from ebmkit.maths.quadrature import blockwise

    def bound(some: Tensor) -> Tensor:
        with torch.no_grad():
            return cast("Posterior", view.module).posterior_energy(some.to(view.dtype), view.rng)

    energy = view.energy if _is_tractable(view.spec.model) else bound
    return float(blockwise(lambda some: energy(some.to(view.device)).cpu().double(), x).mean())


def _warn_of_collapse(view: View, forward: LogMean, chains: int) -> None:
    if forward.ess < max(FEWEST, LEAST_SHARE * chains):
        view.warn(
            f"the weights collapsed: {forward.ess:.1f} of {chains} chains have all of the weight, so log Z is probably "
            "higher than ais_log_z and its error larger than ais_log_z_error; use more 'temperatures'"
        )


def _warn_of_gap(view: View, forward: LogMean, reverse: LogMean) -> None:
    """`reverse` is of 1/Z."""
    gap, error = -reverse.value - forward.value, (forward.error**2 + reverse.error**2) ** 0.5
    if gap < -ERRORS * error - 1e-3:
        view.warn(
            f"the reverse estimate of log Z is {-gap:.3g} below the forward one, so the samples of the model that it "
            "starts from do not follow its density: do not read ais_log_z_reverse as an upper bound"
        )
    elif gap > max(APART, ERRORS * error):
        view.warn(
            f"log Z is only known to be between {forward.value:.6g} (forward) and {-reverse.value:.6g} (reverse): use "
            "more 'temperatures'"
        )
