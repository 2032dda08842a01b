"""Where things are written that do not fit, and how they are label_of."""

from __future__ import annotations

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event
from ebmkit.contracts.kinds.model import Conditioning
from ebmkit.errors.source import Place
from ebmkit.language.check import Checked

#: Of each kind one that works with models that are conditioned so, for advice.
USUAL: dict[tuple[str, Conditioning], str] = {
    ("objective", None): "denoising_score_matching",
    ("objective", "sigma"): "noise_conditional_score_matching",
    ("objective", "time"): "sde_score_matching",
    ("sampler", None): "langevin",
    ("sampler", "sigma"): "annealed_langevin",
    ("sampler", "time"): "reverse_sde",
}

#: Models that are conditioned so, for advice.
MODELS: dict[Conditioning, str] = {
    None: "a model without a schedule, such as 'mlp'",
    "sigma": "a model with a schedule of noise levels: {use: mlp_score, schedule: geometric}",
    "time": "a model with a schedule in time: {use: mlp_score, schedule: vp}",
}


class Places:
    """Where the things that do not fit are written."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest thing around it."""
        return self.checked.tree.follow(path).head


def label_of(component: Component) -> str:
    return f"{component.component_kind} '{component.component_name}'"


def conditioned(on: str | None) -> str:
    return {"sigma": "a noise level sigma", "time": "a time t"}.get(on or "", "nothing") + " beside x"


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: what the data have, or what the model's parameters fix."""
    spec = checked.spec
    return spec.data.event() if spec.data else spec.model.event()
