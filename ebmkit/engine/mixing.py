"""How well chains have mixed: R-hat and ESS of their draws, a verdict in words, and warnings."""

from __future__ import annotations

from math import inf, prod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ebmkit.contracts.draws import Draws
from ebmkit.contracts.kinds import Event
from ebmkit.diagnostics.coordinates import FEWEST
from ebmkit.diagnostics.ess import ess_bulk, ess_tail
from ebmkit.diagnostics.rhat import rhat
from ebmkit.engine.telling.advice import one_of, parameter, step_length
from ebmkit.engine.telling.chain_words import begun

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: The R-hat above which chains disagree, and the effective draws, per chain and in total, that reliable estimates
#: need (Vehtari et al., arXiv:1903.08008, section 4).
RHAT, ESS_A_CHAIN, ESS = 1.01, 100, 400
#: Lower acceptance is inefficient. Higher acceptance means that steps are too small, unless draws are independent.
ACCEPTANCE, LOOSE = (0.1, 0.95), 0.1
#: The number of coordinates that a warning names.
FEW = 3


class Figures(NamedTuple):
    """NaN where a coordinate never moved or there are too few draws; float64, on the CPU."""

    rhat: Tensor
    ess_bulk: Tensor
    ess_tail: Tensor


class Mixing(NamedTuple):
    """Diagnostics of the draws of long chains."""

    #: Each has the shape of a state.
    coordinates: Figures
    #: Scalars.
    energy: Figures | None
    #: True for coordinates that are equal in all draws.
    still: Tensor
    chains: int
    #: Per chain.
    draws: int
    #: Of the coordinates, if the data have some.
    names: tuple[str, ...] | None = None

    @property
    def wanted(self) -> int:
        """The number of effective draws that is required."""
        return min(ESS_A_CHAIN * self.chains, ESS)

    def largest(self, figure: str, sign: int = 1) -> tuple[float, str]:
        """The largest value (with -1: the smallest) over coordinates and energy, and its name; NaN if unknown."""
        values = getattr(self.coordinates, figure).flatten()
        if self.energy:
            values = torch.cat([values, getattr(self.energy, figure).view(1)])
        at = int(torch.nan_to_num(sign * values, nan=-inf).argmax())
        names = coordinate(tuple(self.still.shape), at, self.names) if at < self.still.numel() else "energy"
        return float(values[at]), names


def mixing(draws: Draws, names: tuple[str, ...] | None = None) -> Mixing:
    """The diagnostics of long chains; `names` are those of the coordinates."""
    x = draws.x.detach()
    energy = draws.seen.get("energy")
    still = torch.ones_like(x[0, 0], dtype=torch.bool)
    for block in draws.blocks():
        still &= (block == x[:1, :1]).flatten(0, 1).all(0)
    of_energy = None if energy is None else _figures(energy)
    return Mixing(_figures(x), of_energy, still.cpu(), x.shape[0], x.shape[1], names)


def verdict(view: RunView) -> str:
    """How reliable the samples are, in words; for trained models only with long chains. Empty if unknown."""
    found, sampler, words = view.mixing, view.plan.chain_sampler, []
    if found:
        total = f"{found.chains * found.draws:,} draws"
        (agreement, where), (bulk, bulk_at) = found.largest("rhat"), found.largest("ess_bulk", -1)
        tail, tail_at = found.largest("ess_tail", -1)
        if bulk != bulk:
            words.append(f"{total} are too few to diagnose convergence")
        else:
            words.append(
                "R-hat needs a second chain" if found.chains == 1 else f"R-hat at most {agreement:.3f} ({where})"
            )
            words.append(f"smallest bulk ESS {bulk:,.0f} ({bulk_at}) and tail ESS {tail:,.0f} ({tail_at}) of {total}")
    rates = _rates(view)
    if "divergence" in rates:
        words.append(_diverged(view, rates["divergence"]) or "no divergence")
    if view.draws and (lost := int(view.draws.tuning.get("discarded_divergences", 0))):
        words.append(f"before the first draw, {lost:,} steps diverged")
    if "acceptance" in rates:
        words.append(f"acceptance {rates['acceptance']:.2f}")
    if view.draws and "step_size" in view.draws.tuning:
        words.append(f"step size {float(view.draws.tuning['step_size']):.3g} found by warm-up")
    if words and not found and sampler:
        length = f"{sampler.steps:,} steps {begun(view.plan.spec)}"
        if sampler.traits().interacting:
            words.insert(0, f"the samples are the last states of chains of {length} that move each other")
        else:
            ends = f"each sample is the last state of a separate chain of {length}"
            words.insert(0, f"{ends}; set 'chains:' to get R-hat and ESS")
    return "; ".join(words)


def findings(view: RunView) -> list[str]:
    """The reasons to doubt the samples, one sentence each."""
    rates = _rates(view)
    found = [*_warnings(view.mixing)] if view.mixing else []
    if diverged := _diverged(view, rates.get("divergence", 0.0)):
        target = parameter(view.plan, view.plan.spec.chain_sampler_path, "target_acceptance")
        options = one_of(_steps(view, "smaller"), f"a higher {target}" if target else "")
        found.append(f"{diverged} and were rejected: the energy was not finite, or its error very large; use {options}")
    if "acceptance" in rates and (doubt := _acceptance(rates["acceptance"], view)):
        found.append(doubt)
    return found


def coordinate(event: Event, index: int, names: tuple[str, ...] | None = None) -> str:
    """The name of a coordinate of flattened states: its own, or as Python would index it, `x[0, 3, 4]`."""
    if names is not None:
        return names[index]
    if prod(event) == 1:
        return "x"
    place: list[int] = []
    for size in reversed(event):  # torch.unravel_index would import sympy
        index, rest = divmod(index, size)
        place.insert(0, rest)
    return f"x[{', '.join(map(str, place))}]"


def _figures(x: Tensor) -> Figures:
    return Figures(*(figure(x).cpu() for figure in (rhat, ess_bulk, ess_tail)))


def _warnings(found: Mixing) -> list[str]:
    event = tuple(found.still.shape)
    warnings = []
    if found.draws < FEWEST:
        warnings.append(
            f"{found.draws} state{'s' * (found.draws != 1)} per chain {'is' if found.draws == 1 else 'are'} too few to "
            "diagnose convergence; use more 'samples' or fewer chains"
        )
    elif indices := found.still.flatten().nonzero().flatten().tolist():
        names = [coordinate(event, index, found.names) for index in indices[:FEW]] + ["..."] * (len(indices) > FEW)
        warnings.append(f"{len(indices):,} of {prod(event):,} coordinates never moved: {', '.join(names)}")
    worst, where = found.largest("rhat")
    if worst > RHAT:
        many = int((found.coordinates.rhat > RHAT).sum())
        more = f", and above {RHAT} at {many:,} of {prod(event):,} coordinates" if many > 1 else f", above {RHAT}"
        warnings.append(
            f"R-hat is {worst:.3f} at {where}{more}, so the chains disagree: run longer ones, "
            "or use parallel_tempering if they are stuck in different modes"
        )
    for kind in ("bulk", "tail"):
        least, where = found.largest(f"ess_{kind}", -1)
        if least < found.wanted:
            warnings.append(
                f"the {kind} ESS is {least:,.0f} at {where}, below the recommended {found.wanted}: "
                "draw more samples or use a sampler that mixes faster"
            )
            break
    return warnings


def _rates(view: RunView) -> dict[str, float]:
    """Mean acceptance and fraction of divergences over the steps of the chains that sampled, after those that tune."""
    tuning = 0 if view.draws else view.plan.spec.tuning_steps
    rates: dict[str, float] = {
        name: float(view.traces[name][tuning:].cpu().double().mean())
        for name in ("acceptance", "divergence")
        if name in view.traces
    }
    if view.draws is None and view.plan.spec.stages:  # chains in training are monitored during training
        return {"divergence": rates["divergence"]} if rates.get("divergence") else {}
    return rates


def _diverged(view: RunView, share: float) -> str:
    if not share:
        return ""
    if view.draws is None or view.plan.spec.chains is None:
        return f"{share:.2%} of the steps diverged"
    steps = view.draws.x.shape[0] * view.draws.x.shape[1] * view.plan.spec.chains.thin
    return f"{round(share * steps):,} of {steps:,} steps diverged"


def _acceptance(now: float, view: RunView) -> str:
    """A warning if acceptance is outside a band: around the sampler's target if it has one, else `ACCEPTANCE`."""
    sampler, found = view.plan.chain_sampler, view.mixing
    if sampler and sampler.traits().step_sizes_vary:
        return ""
    target = sampler.target_acceptance if sampler else None
    low, high = (0.6 * target, 1 - (1 - target) / 10) if target else ACCEPTANCE
    loose = found is not None and found.largest("ess_bulk", -1)[0] > LOOSE * found.chains * found.draws
    if sampler and sampler.inner():
        few = f"only {now:.1%} of the exchanges are accepted: use more closely spaced temperatures"
        return "" if now > 0.1 else few
    if now < low:
        return f"only {now:.1%} of the proposals are accepted: use {_steps(view, 'smaller')}"
    if now > high and not (loose and target is None):
        return f"{now:.1%} of the proposals are accepted: {_steps(view, 'larger')} explores faster"
    return ""


def _steps(view: RunView, change: str) -> str:
    """`a smaller 'scale' of sampler 'metropolis' (spec.yaml:6:12)`."""
    length = step_length(view.plan, view.plan.spec.chain_sampler_path)
    return f"a {change} {length or 'step'}"
