"""The laws of samplers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.chains.chain import Chain, run_chain
from ebmkit.chains.draws import Length, LongChains, Memory
from ebmkit.chains.energy import frozen
from ebmkit.chains.leaves import Unsaveable
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.contracts.kinds import Sampler
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.invariance import require_invariant
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import generator, values_of
from ebmkit.testing.partner import build, model_for, states
from ebmkit.testing.target import HOT, Target, target_for
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged, unmoved

#: Number of steps of a chain in these laws, if it is a parameter.
STEPS = 5


def _short(sampler: Sampler, steps: int = STEPS) -> Sampler:
    if any(field.name == "steps" for field in dataclasses.fields(sampler)):  # type: ignore[arg-type]
        return dataclasses.replace(sampler, steps=min(steps, sampler.steps))  # type: ignore[type-var]
    return sampler


def _setting(sampler: Sampler, case: Case, n: int = 7, dtype: torch.dtype = torch.float64) -> tuple[nn.Module, Tensor]:
    """A network to run on, and the starting points of chains."""
    model, event = model_for(sampler, case.event, case.partners)
    return build(model, event, dtype=dtype), states(model, n, event, generator(1), dtype)


def _run(sampler: Sampler, module: nn.Module, x: Tensor, seed: int = 2) -> Chain:
    return run_chain(_short(sampler), module, x, generator(seed), traces=True)


def keeps_shape_and_dtype(sampler: Sampler, case: Case) -> None:
    """Chains end in states of the shape and dtype of their start, in float32 and in float64."""
    for dtype in (torch.float32, torch.float64):
        for n in (1, 7):
            module, x = _setting(sampler, case, n, dtype)
            ended = _run(sampler, module, x).x
            seen = f"{n} chains of {dtype}, shape {tuple(x.shape)}, ended as {ended.dtype}, {tuple(ended.shape)}"
            require((ended.shape, ended.dtype, ended.device) == (x.shape, x.dtype, x.device), seen)
            require(bool(ended.isfinite().all()), f"{int((~ended.isfinite()).sum())} numbers are not finite")


def reports_what_a_step_saw(sampler: Sampler, case: Case) -> None:
    """The information of a step has one entry per chain, acceptances are probabilities, and `traces` names exactly
    what is reported."""
    module, x = _setting(sampler, case)
    chain = _run(sampler, module, x)
    model, _ = model_for(sampler, case.event, case.partners)
    categories = model.traits().categories
    slope = torch.Size((*x.shape, categories)) if categories else x.shape
    shapes = {"energy": x.shape[:1], "gradient": slope, "acceptance": x.shape[:1], "divergence": x.shape[:1]}
    for name, shape in shapes.items():
        value: Tensor | None = getattr(chain.last, name)
        if value is not None:
            require(value.shape == shape, f"{name} has shape {tuple(value.shape)}, not {tuple(shape)}")
            require(value.dtype == x.dtype, f"{name} is {value.dtype} for states of {x.dtype}")
    if (acceptance := chain.last.acceptance) is not None:
        require(bool(((acceptance >= 0) & (acceptance <= 1)).all()), f"acceptances are {acceptance.tolist()}")
    if (divergence := chain.last.divergence) is not None:
        require(bool(((divergence == 0) | (divergence == 1)).all()), f"divergences are {divergence.tolist()}")
    reported, named = set(chain.traces), sampler.traits().traces
    beyond, lacking = ", ".join(sorted(reported - named)), ", ".join(sorted(named - reported))
    require(not beyond, f"its steps report {beyond}, which `traces` does not name")
    require(not lacking, f"`traces` names {lacking}, which its steps do not report")


def evaluates_no_more_than_announced(sampler: Sampler, case: Case) -> None:
    """A chain evaluates the model at most `evaluations` times per step, and twice more at its ends."""
    module, x = _setting(sampler, case)
    short, traits = _short(sampler), sampler.traits()
    with frozen(module) as energy:
        state = short.init(energy, x, generator(2))
        for _ in range(short.steps):
            state, _ = short.step(energy, state, generator(3))
        found = energy.evaluations
    steps = short.steps * (x[0].numel() if traits.by_unit else 1)
    most = steps * traits.evaluations + 2
    cure = f"def traits(self): return super().traits()._replace(evaluations={math.ceil((found - 2) / steps)})"
    words = f"the model {found} times in {short.steps} steps, but `evaluations` of its traits allows {most}"
    require(found <= most, f"it evaluates {words}; if it needs them, {cure}")


def is_deterministic(sampler: Sampler, case: Case) -> None:
    """The same generator gives the same chains to the last bit."""
    module, x = _setting(sampler, case)
    require_same_bits(_run(sampler, module, x).x, _run(sampler, module, x).x, "two chains from one seed")


def uses_no_global_randomness(sampler: Sampler, case: Case) -> None:
    """All randomness comes from the generator that is passed."""
    module, x = _setting(sampler, case)
    with no_global_randomness():
        _run(sampler, module, x)


def leaves_its_start_alone(sampler: Sampler, case: Case) -> None:
    """The starting points of chains are not modified."""
    module, x = _setting(sampler, case)
    with unmoved(x):
        _run(sampler, module, x)


def leaves_the_model_alone(sampler: Sampler, case: Case) -> None:
    """Sampling changes no parameter, buffer, gradient, `requires_grad` or mode."""
    module, x = _setting(sampler, case)
    for training in (True, False):
        module.train(training)
        with unchanged(module):
            _run(sampler, module, x)


def steps_are_pure(sampler: Sampler, case: Case) -> None:
    """A step from the same state with the same generator gives the same result, and leaves the state unchanged."""
    module, x = _setting(sampler, case)
    with frozen(module) as energy:
        state: Any = sampler.init(energy, x, generator(3))
        held = [value for value in state if isinstance(value, Tensor)]
        with unmoved(*held):
            once = sampler.step(energy, state, generator(4))[0].x
        again = sampler.step(energy, state, generator(4))[0].x
    require_same_bits(once, again, "two steps from one state")


def continues_from_a_checkpoint(sampler: Sampler, case: Case) -> None:
    """Long chains that are saved between two steps and continued elsewhere are those that were never interrupted, to
    the last bit. What the next step depends on must be in the state, as tensors and numbers."""
    if sampler.traits().from_noise:
        raise Inapplicable("it runs once from noise to a sample, so it has no long chains")
    module, x = _setting(sampler, case)
    length = Length(draws=3, thin=2, burn_in=2, warmup=4 if sampler.tunes() else 0)
    with frozen(module) as energy:
        whole = LongChains(sampler, energy, x, generator(3), length, Memory())
        expected = whole.run()
        for stop in range(1, length.total):
            first = LongChains(sampler, energy, x, generator(3), length, sink := Memory())
            for _ in range(stop):
                first.advance()
            try:
                saved = first.save()
            except Unsaveable as reason:
                require(False, f"its chains cannot be saved: {reason}")
            then = LongChains(sampler, energy, x, generator(4), length, sink)
            then.restore(stop, saved)
            found = then.run()
            names = {"x": (expected.x, found.x), **{name: (of, found.seen[name]) for name, of in expected.seen.items()}}
            for name, (once, again) in names.items():
                require_same_bits(once, again, f"'{name}' of chains, whole and continued after step {stop},")
            require(
                expected.evaluations == found.evaluations,
                f"{expected.evaluations} energy evaluations became {found.evaluations} after step {stop}",
            )


def chains_are_independent(sampler: Sampler, case: Case) -> None:
    """The start of one chain does not affect the other chains; if `interacting` says that it does, some of them."""
    module, x = _setting(sampler, case)
    model, event = model_for(sampler, case.event, case.partners)
    elsewhere = x.clone()
    # Every unit of discrete states is changed.
    values = values_of(model)
    elsewhere[0] = _changed(x[0], values) if values else states(model, 1, event, generator(9))[0]
    seen = []
    for steps in (1, STEPS):  # after many steps, discrete chains with the same random numbers may have coalesced
        short = _short(sampler, steps)
        seen.append(float((_run(short, module, x).x[1:] - _run(short, module, elsewhere).x[1:]).abs().max()))
    if sampler.traits().interacting:
        require(max(seen) > 1e-12, "`interacting` says that chains move each other, but the first one moved no other")
    else:
        require(max(seen) <= 1e-12, f"moving the first chain moved another one by {max(seen):.3g}")


def _changed(x: Tensor, values: tuple[float, ...]) -> Tensor:
    """The next value of every unit, the first one after the last."""
    return torch.where(x == values[-1], values[0], x + values[1] - values[0])


def builds_no_graph(sampler: Sampler, case: Case) -> None:
    """Neither states nor the information of a step carry a graph, even from a start that requires gradients."""
    module, x = _setting(sampler, case)
    chain = _run(sampler, module, x.requires_grad_())
    for name, value in {"x": chain.x, **chain.last._asdict()}.items():
        require(value is None or not value.requires_grad, f"'{name}' requires a gradient")


def keeps_the_target(sampler: Sampler, case: Case) -> str:
    """Chains started at exact draws of a model keep its distribution, tested with characteristic functions and energies
    at a false-alarm rate of 1e-6.

    Samplers that can reject are exact, and so are those that follow neither a gradient nor a score. Others may be
    biased by their step size, if this bias vanishes with it; where it is no parameter, by 5 % of a statistic's spread.
    """
    return require_invariant(sampler, _target(sampler, case, sampler.traits().temperature))


def keeps_the_target_when_heated(sampler: Sampler, case: Case) -> str:
    """On `E / T`, as inside parallel tempering, chains keep the distribution `exp(-E/T)` in the same sense."""
    target = _target(sampler, case, HOT)
    try:
        ParallelTempering(sampler=sampler)
    except ValueError as reason:
        raise Inapplicable(f"parallel tempering refuses it: {reason}") from reason
    return require_invariant(sampler, target)


def _target(sampler: Sampler, case: Case, temperature: float) -> Target:
    if sampler.traits().searches:
        raise Inapplicable("it searches for low energies, and has no target distribution")
    if sampler.traits().interacting:
        raise Inapplicable("its chains move each other, so they do not stay independent draws")
    if sampler.inner():
        raise Inapplicable("its replicas do not start from their own target distribution")
    return target_for(sampler, case.event, case.partners, temperature)


def runs_on_the_device(sampler: Sampler, case: Case) -> None:
    """On another device chains equal those on the CPU, with at most `host_syncs` host synchronisations per step."""
    module, x = _setting(sampler, case, n=7, dtype=torch.float32)
    on_cpu = _run(sampler, module, x).x
    with pretended_device() as gpu:
        module, x = module.to(gpu.device), x.to(gpu.device)
        with gpu.watched() as seen:
            ended = run_chain(_short(sampler), module, x, gpu.generator(2), traces=True).x
        seen.require_no_host_syncs(beyond=sampler.traits().host_syncs * _short(sampler).steps)
        require(ended.device == gpu.device, f"chains ended on {ended.device}")
        off = float((ended.cpu() - on_cpu).abs().max())
    require(off <= 1e-5 * (1 + float(on_cpu.abs().max())), f"chains differ from those on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (
    keeps_shape_and_dtype,
    reports_what_a_step_saw,
    evaluates_no_more_than_announced,
    is_deterministic,
    uses_no_global_randomness,
    leaves_its_start_alone,
    leaves_the_model_alone,
    steps_are_pure,
    continues_from_a_checkpoint,
    chains_are_independent,
    builds_no_graph,
    keeps_the_target,
    keeps_the_target_when_heated,
    runs_on_the_device,
)
