"""The chains that draw the samples of a run, in words."""

from __future__ import annotations

from ebmkit.language.sections import Spec


def chain_words(spec: Spec) -> str:
    """`langevin: 10,000 chains of 80 steps from noise`; empty for a spec that draws no samples."""
    sampler = spec.chain_sampler
    if sampler is None:
        return ""
    if spec.chains:
        kept = f"{count(spec.chains.draws(spec.samples), 'state')} kept of each"
        length = count(spec.chains.length(sampler, spec.samples), "step")
        return f"{sampler.component_name}: {count(spec.chains.count, 'chain')} of {length} {begun(spec)}, {kept}"
    length, tuned = count(sampler.steps, "step"), spec.tuning_steps
    tuning = f", of which {tuned:,} tune it" if tuned else ""
    return f"{sampler.component_name}: {count(spec.samples, 'chain')} of {length} {begun(spec)}{tuning}"


def begun(spec: Spec) -> str:
    """Where the chains begin: `from noise`, or what else the `init` of the spec is called."""
    sampler = spec.chain_sampler
    own = sampler is not None and sampler.traits().from_noise  # it starts from its own noise
    return f"from {'noise' if own else spec.init.component_name}"


def count(n: int, noun: str) -> str:
    """`1 step`, `10,000 steps`."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
