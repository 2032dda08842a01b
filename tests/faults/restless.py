"""A plugin with everything that moves while a model is trained and is easily forgotten."""

from __future__ import annotations

from typing import Any

from ebmkit.api import Model, component, hookimpl, torch


@component("restless")
class Restless(Model):
    """An energy whose forward pass in training mode counts, and drops units out with torch's own generator."""

    def build(self, event: tuple[int, ...]) -> Any:
        nn = torch.nn

        class Energy(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body = nn.Sequential(nn.Linear(event[0], 8), nn.SiLU(), nn.Dropout(0.2), nn.Linear(8, 1))
                self.register_buffer("passes", torch.zeros(()))
                self.register_buffer("replaced", torch.zeros(()))

            def forward(self, x: Any) -> Any:
                if self.training:
                    self.passes += 1  # in place
                    self.replaced = self.replaced + 1  # another tensor
                return self.body(x).squeeze(1) * (1 + (self.passes + self.replaced) / 100) + x.square().sum(1)

        return Energy()


@hookimpl
def ebmkit_step_ended(view: Any, step: int) -> None:
    """Looks, with the generator that is there for that."""
    torch.randn((), generator=view.rng)


@hookimpl
def ebmkit_run_started(view: Any) -> None:
    """Looks once a session, and a run that goes on has more of those."""
    torch.randn((), generator=view.rng)


@hookimpl
def ebmkit_checkpoint_saved(view: Any) -> None:
    """The same, and a run that was left has more of those."""
    torch.randn((), generator=view.rng)
