"""Whether samples of a plan can be conditioned on a label, without torch."""

from __future__ import annotations

from ebmkit.contracts.kinds import Model
from ebmkit.language.plan import Plan


def has_classes(model: Model) -> bool:
    """Whether a model has an energy or a score for every label: it takes labels, or it is a classifier."""
    return model.traits().labelled or "logits" in model.traits().offers


def label_refusal(plan: Plan, label: int) -> str | None:
    """Why samples cannot have this label; None if they can."""
    model, sampler = plan.spec.model, plan.chain_sampler
    if not has_classes(model):
        return f"model '{model.component_name}' takes no labels and is no classifier; use one with 'classes'"
    if not model.traits().labelled and sampler and (more := sampler.traits().needs - {"energy", "gradient"}):
        return (
            f"sampler '{sampler.component_name}' needs '{', '.join(sorted(more))}', which the energy of one class does "
            "not offer; use a sampler such as 'langevin'"
        )
    classes = getattr(model, "classes", None)
    if label < 0 or (classes is not None and label >= classes):
        known = f"0 to {classes - 1}" if classes else "0 and above"
        return f"there is no label {label}: labels are {known}"
    return None
