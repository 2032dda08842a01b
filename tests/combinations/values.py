"""Random values of the parameters that the JSON schema of the spec language describes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

#: Integers to choose from: odd and small, so that a run of three steps is cheap.
INTEGERS = (0, 1, 1, 2, 2, 3, 4, 5, 8, 12)
#: Replacements of integers with a large default: numbers of points, samples and steps.
SIZES = (1, 2, 3, 5, 17, 30, 60, 60)
NUMBERS = (-1.0, -0.3, 0.0, 0.01, 0.1, 0.5, 0.9, 1.0, 1.5, 3.0)
#: A default above this is a size, which is always replaced.
LARGE = 40


class Values:
    """Draws values within their bounds. `component` draws what the schema refers to as a kind.

    `dimension` is the length of most lists of numbers, so that means, covariances and masses often agree.
    """

    def __init__(self, rng: random.Random, dimension: int, component: Callable[[str], Any]) -> None:
        self.rng, self.dimension, self.component = rng, dimension, component

    def draw(self, described: dict[str, Any]) -> Any:
        """A value that fits a node of the schema."""
        if "$ref" in described:
            return self.component(described["$ref"].removeprefix("#/$defs/"))
        if "anyOf" in described:
            return self.draw(self.rng.choice(described["anyOf"]) | self._default_of(described))
        if "const" in described:
            return described["const"]
        if "enum" in described:
            return self.rng.choice(described["enum"])
        match described.get("type"):
            case "integer":
                return self._integer(described)
            case "number":
                return self._number(described)
            case "boolean":
                return self.rng.random() < 0.5
            case "array":
                return self._array(described)
            case "object":
                return self.section(described)
            case "string":
                return self.rng.choice(["x", "y", "a"])
        return None

    def section(self, described: dict[str, Any], share: float = 0.4) -> dict[str, Any]:
        """Some of the parameters of a section or component; those that are large by default are always drawn."""
        found = {}
        for name, parameter in described.get("properties", {}).items():
            if name != "use" and (self.rng.random() < share or is_large(parameter)):
                found[name] = self.draw(parameter)
        return found

    @staticmethod
    def _default_of(described: dict[str, Any]) -> dict[str, Any]:
        return {"default": described["default"]} if "default" in described else {}

    def _integer(self, described: dict[str, Any]) -> int:
        low = described.get("minimum", described.get("exclusiveMinimum", -1) + 1)
        high = described.get("maximum", described.get("exclusiveMaximum", 1 << 62) - 1)
        return min(max(self.rng.choice(SIZES if is_large(described) else INTEGERS), low), high)

    def _number(self, described: dict[str, Any]) -> float:
        default, numbers = described.get("default"), list(NUMBERS)
        if isinstance(default, int | float) and not isinstance(default, bool):
            numbers += [default, default / 3, default * 3] * 3
        fitting = [number for number in numbers if is_within(number, described)]
        return self.rng.choice(fitting or [described.get("exclusiveMinimum", 0) + 0.5])

    def _array(self, described: dict[str, Any]) -> list[Any]:
        if "prefixItems" in described:
            return [self.draw(item) for item in described["prefixItems"]]
        items, least = described.get("items", {}), described.get("minItems", 0)
        if items.get("type") == "array" and items.get("items", {}).get("type") == "number" and self.rng.random() < 0.6:
            return self._matrix()
        numbers = items.get("type") == "number"
        length = self.dimension if numbers and self.rng.random() < 0.85 else self.rng.choice([0, 1, 1, 2, 2, 3])
        return [self.draw(items) for _ in range(max(least, length))]

    def _matrix(self) -> list[list[float]]:
        """A symmetric matrix, with a diagonal of zeros for couplings, of ones for covariances."""
        d, diagonal = self.dimension, self.rng.choice([0.0, 1.0])
        upper = {(i, j): self.rng.choice([-0.3, 0.0, 0.2]) for i in range(d) for j in range(i)}
        return [[diagonal if i == j else upper[max(i, j), min(i, j)] for j in range(d)] for i in range(d)]


def is_large(described: dict[str, Any]) -> bool:
    """Whether the default is a large number: of points, samples, steps."""
    default = described.get("default")
    return isinstance(default, int) and not isinstance(default, bool) and default > LARGE


def is_within(number: float, described: dict[str, Any]) -> bool:
    """Whether a number is within its bounds."""
    return (
        described.get("minimum", number) <= number <= described.get("maximum", number)
        and ("exclusiveMinimum" not in described or number > described["exclusiveMinimum"])
        and ("exclusiveMaximum" not in described or number < described["exclusiveMaximum"])
    )
