"""The places and labels of things that do not fit."""

from __future__ import annotations

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event
from ebmkit.contracts.kinds.model import Conditioning
from ebmkit.errors.source import Place
from ebmkit.language.check import Checked

#: For each kind, a common component for models with this conditioning, for advice.
USUAL: dict[tuple[str, Conditioning], str] = {
    ("objective", None): "denoising_score_matching",
    ("objective", "sigma"): "noise_conditional_score_matching",
    ("objective", "time"): "sde_score_matching",
    ("sampler", None): "langevin",
    ("sampler", "sigma"): "annealed_langevin",
    ("sampler", "time"): "reverse_sde",
}

#: Models with this conditioning, for advice.
MODELS: dict[Conditioning, str] = {
    None: "a model without a schedule, such as 'mlp'",
    "sigma": "a model with discrete noise levels: {use: mlp_score, schedule: geometric}",
    "time": "a model with a schedule in continuous time: {use: mlp_score, schedule: vp}",
}


class Places:
    """The places of values in a spec."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest enclosing value."""
        return self.checked.tree.follow(path).head


def label_of(component: Component) -> str:
    return f"{component.component_kind} '{component.component_name}'"


def conditioned(on: str | None) -> str:
    return {"sigma": "x and a noise level sigma", "time": "x and a time t"}.get(on or "", "x only")


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: that of the data, or the one fixed by the model's parameters."""
    spec = checked.spec
    return spec.data.event() if spec.data else spec.model.event()
