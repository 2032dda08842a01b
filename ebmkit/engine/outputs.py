"""What model and noise return to an objective."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.chains.private_torch import is_transformed
from ebmkit.contracts.built import builder_of
from ebmkit.contracts.kinds import Model
from ebmkit.contracts.modules.conditional_density import ConditionalDensity
from ebmkit.contracts.modules.density import Density
from ebmkit.engine.statistic import Statistic, Turn, is_finite, wrong_rows
from ebmkit.errors.source import Path

DENSITIES = (Density, ConditionalDensity)

#: What can be done about a log density of minus infinity.
COVER = "where the noise has no density, its ratio to the model is infinite: choose noise that covers all data"


class Watched:
    """Stands in the place of a method of a module: calls it, and checks what it returns."""

    def __init__(
        self, module: nn.Module, method: str, what: str, path: Path, help: str = "", parts: Sequence[Watched] = ()
    ) -> None:
        self.module, self.method, self.parts = module, method, parts
        self.statistic = Statistic(f"the {what}", path, Turn.OUTPUT, recorded=False, help=help, cause=self._cause)
        #: What it was given and returned in this step, and in the one before, which a GPU may still be computing.
        self.results: list[tuple[Any, Tensor]] = []
        self.before: list[tuple[Any, Tensor]] = []
        #: For each result a number that is finite if it is. Taken at once, because results may be changed in place.
        self.numbers: list[Tensor] = []
        self._call: Callable[..., Any] = getattr(module, method)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._call(*args, **kwargs)
        if isinstance(result, Tensor) and not is_transformed(result):
            seen = result.detach()
            self.results.append((next(iter((*args, *kwargs.values())), None), seen))
            self.numbers.append(seen.sum())
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the module has its own method."""
        return getattr(memo[id(self.module)], self.method)

    def begin(self) -> None:
        """A new step."""
        self.before, self.results, self.numbers = self.results, [], []

    def _cause(self) -> Statistic:
        """The statistic, with the states at which the first result was not finite, unless it has been overwritten."""
        known = self.statistic._replace(cause=None)
        for part in self.parts:
            if (inner := part._cause()).detail:
                return inner
        for x, result in (*self.before, *self.results):
            if not is_finite(result):
                below = bool((result == -torch.inf).any())
                sound = not isinstance(x, Tensor) or is_finite(x)
                detail = wrong_rows(result) + ("" if sound else ", but it was given states that are not finite")
                return known._replace(detail=detail, help=known.help if below else "")
        return known


class Outputs:
    """Watches the energies of the model and the log densities of the noise while an objective computes its loss.

    A loss may hide one that is infinite: the softplus of minus infinity is zero, and so is its slope. Methods are
    replaced in the instances, which also works for those that are not the forward pass, and costs less than a hook.
    """

    def __init__(self, model: nn.Module, component: Model, extras: nn.Module | None, paths: Mapping[int, Path]) -> None:
        energy = "energy" if "energy" in component.traits().offers else "score"
        # The noise comes first: a sample of it that is not finite spoils the energy, too.
        self._checked = [_density(density, paths) for density in (_outermost(extras) if extras else ())]
        if hasattr(model, "logits"):
            self._checked.append(Watched(model, "logits", "logit", ("model",)))
        self._checked.append(Watched(model, "forward", energy, ("model",)))
        #: A mixture is finite where one of its parts is zero; parts are only looked at if the whole is not finite.
        self._watched = [*self._checked, *(part for watched in self._checked for part in watched.parts)]

    def __enter__(self) -> None:
        for watched in self._watched:
            watched.begin()
            vars(watched.module)[watched.method] = watched

    def __exit__(self, *raised: object) -> None:
        for watched in self._watched:
            del vars(watched.module)[watched.method]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While chains run: they call the model at every step, and are checked themselves."""
        for watched in self._watched:
            del vars(watched.module)[watched.method]
        try:
            yield
        finally:
            for watched in self._watched:
                vars(watched.module)[watched.method] = watched

    def numbers(self) -> Iterator[tuple[Statistic, Tensor]]:
        """For everything that was returned since `with`, a number that is finite if it is."""
        for watched in self._checked:
            for number in watched.numbers:
                yield watched.statistic, number


def _density(density: nn.Module, paths: Mapping[int, Path]) -> Watched:
    """A density and those inside it, each at the place of the component that built it."""
    inner = [part for part in density.modules() if isinstance(part, DENSITIES) and part is not density]
    parts = [Watched(part, "log_prob", "log density", _path_of(part, paths), COVER) for part in inner]
    return Watched(density, "log_prob", "log density", _path_of(density, paths), COVER, parts)


def _path_of(density: nn.Module, paths: Mapping[int, Path]) -> Path:
    """The objective's place, if it built the density itself."""
    return paths.get(id(builder_of(density)), ("objective",))


def _outermost(module: nn.Module) -> Iterator[nn.Module]:
    """The densities that are not parts of others."""
    if isinstance(module, DENSITIES):
        yield module
        return
    for child in module.children():
        yield from _outermost(child)
