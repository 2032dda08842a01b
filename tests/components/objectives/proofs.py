"""Proofs that look for bugs planted in objectives and in what they are made of."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.planting import Proof, proof

IMAGE = (1, 4, 4)
FAMILY = "components.models.test_exponential_family"


def law(kind: str, name: str, which: str, event: tuple[int, ...] = (2,), *, example: bool = False) -> Proof:
    """A component, by default or as in its example, before one law of its kind. Nothing but a broken law counts."""

    def run_in(laws: ModuleType) -> None:
        registry = import_module("ebmkit.registry.registry").Registry(
            import_module("ebmkit.registry.loading").Plugins()
        )
        make = getattr(import_module("ebmkit.testing.example"), "from_example" if example else "instance")
        case = import_module("ebmkit.testing.case").Case(event)
        _forget_fits()  # of noise, which may be other noise by now
        try:
            getattr(laws, which)(make(registry.find(kind, name), registry), case)
        except import_module("ebmkit.testing.law").Inapplicable as reason:
            raise LookupError(f"{name} before {which}: this proves nothing, {reason}") from reason
        finally:
            _forget_fits()

    return Proof(f"ebmkit.testing.laws.{kind}", run_in, name=f"law {which}: {kind} {name} {event}")


def _forget_fits() -> None:
    import_module("ebmkit.testing.laws.noise")._fitted_once.cache_clear()


def of(test: str) -> Any:
    """Proofs of one file of tests."""

    def made(function: str, *arguments: Any) -> Proof:
        return proof(test, f"test_{function}", *arguments)

    return made


def differences(name: str, event: tuple[int, ...] = (2,), *, example: bool = False) -> Proof:
    return law("objective", name, "has_the_gradient_of_differences", event, example=example)


objectives, exact_mle = of("components.objectives.test_objectives"), of("components.objectives.test_exact_mle")
jem, recovery = of("components.objectives.test_jem"), of("components.objectives.test_diffusion_recovery")
score, adaptive = of("components.objectives.test_score_matching"), of("components.objectives.test_adaptive")
contrast, control = of("components.objectives.test_noise_contrast"), of("components.objectives.test_control_variate")
contests, generators = of("components.objectives.test_contests"), of("components.bregman.test_generators")
family, classifier = of(FAMILY), of("components.models.test_classifier")
noise, derivatives = of("components.noise.test_noise"), of("maths.test_derivatives")
batches, stage = of("engine.test_batches"), of("engine.test_stage")


def generator(function: str, row: int) -> Proof:
    """A row of the table of generators."""
    return generators(function, *((lambda module, i=i: module.TABLE[row][i]) for i in range(3)))


def labelled(function: str, *arguments: Any) -> Proof:
    """With the fixture that the tests of `jem` share."""
    return jem(function, *arguments, lambda module: inspect.unwrap(module.batch)())


def patched(function: str, *arguments: Any) -> Proof:
    """A test that replaces something of the package, which is put back behind it."""

    def run_in(loaded: ModuleType) -> None:
        with pytest.MonkeyPatch.context() as patch:
            getattr(loaded, f"test_{function}")(*arguments, patch)

    return Proof(f"tests.{FAMILY}", run_in, name=f"{FAMILY}.test_{function}")


def anything(name: str) -> list[Any]:
    """A model that is differentiated twice, and its event."""
    return [(lambda module, i=i: module.GENERIC[name][i]) for i in range(2)]
