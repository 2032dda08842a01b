"""Chains on visible and hidden units together."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar, cast

import torch
from torch import Generator, Tensor

from ebmkit.chains.energy import Energy as ModuleEnergy
from ebmkit.chains.heated import DerivedEnergy
from ebmkit.contracts.abilities import Hidden
from ebmkit.contracts.ability import info_of, missing_members
from ebmkit.contracts.energy import Energy
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.modules.starts import Starts

A = TypeVar("A")


class JointEnergy(DerivedEnergy):
    """`E(x, h)` of joint states `(B, U)`, for a model whose energy `E(x)` is the free energy of its visible units."""

    def __init__(self, original: Energy) -> None:
        super().__init__(original)
        self._model = original.ask(Hidden)

    def __call__(self, x: Tensor) -> Tensor:
        self.evaluations += 1
        with torch.no_grad():
            return self._model.joint_energy(x)

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            energy = self._model.joint_energy(point)
            (gradient,) = torch.autograd.grad(energy.sum(), point)
        return energy.detach(), gradient

    def ask(self, ability: Callable[..., A]) -> A:
        """Abilities of joint states, and those of the energy itself; others take visible states."""
        info = info_of(ability)
        if info.by_energy:
            return cast("A", self)
        if info.joint:
            return self.original.ask(ability)
        raise TypeError(f"the ability '{info.name}' takes visible states, but chains move hidden units, too")


class ChainSpace:
    """Where the chains of a sampler live: on visible states, or on joint states of visible and hidden units."""

    def __init__(
        self, sampler: Sampler, energy: ModuleEnergy, x: Tensor, rng: Generator, starts: Starts | None = None
    ) -> None:
        """`x (B, *event)` are visible states; `starts` know the hidden units of those that they kept."""
        self._event = x.shape[1:]
        self.is_joint = sampler.traits().joint and not missing_members(energy.module, Hidden)
        #: The energy that the sampler sees, and the states where its chains begin.
        self.energy: Energy = energy
        self.start = x
        if self.is_joint:
            with torch.no_grad():
                hidden = energy.ask(Hidden).draw_hidden(x, rng)
            hidden = starts.hidden_of(hidden) if starts else hidden
            self.energy = JointEnergy(energy)
            self.start = torch.cat([x.flatten(1), hidden.to(x.dtype)], 1)

    def visible(self, x: Tensor) -> Tensor:
        """The visible part `(B, *event)` of states of the chains."""
        return x[:, : prod(self._event)].reshape(-1, *self._event) if self.is_joint else x

    def hidden(self, x: Tensor) -> Tensor | None:
        """The hidden part `(B, H)`, if there is one."""
        return x[:, prod(self._event) :] if self.is_joint else None
