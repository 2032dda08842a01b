"""A Markov random field on a grid, for the restoration of binary images."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, Lt, MinLen

from ebmkit.components.models.couplings import Values, unit_traits
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.enumeration import VALUES

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.models.nets.grid_mrf import GridEnergy

#: The rows of a binary image, each a text of the characters 0 and 1.
Image = Annotated[tuple[str, ...], MinLen(1)]


@component("grid_mrf")
class GridMRF(Model):
    """Markov random field on a grid of pixels: the posterior of a binary image, given a noisy version of it.

        E(y) = -J sum_<ij> s_i s_j - h sum_i s_i x_i,    h = log((1 - noise) / noise) / 2
        s = y for spins,  s = 2 y - 1 for values 0 and 1;  x the observed image, of -1 and +1

    Neighbouring pixels tend to be equal, and each pixel tends to equal the observed one, which differs from the true
    one with the probability `noise`. The most probable image (MAP) is the state of the lowest energy: exact by maximum
    flow, which the model offers as `ground_state` (sampler `exact_map`), approximately by `icm` or
    `simulated_annealing`. The metric `restoration` compares. The model has no trainable parameters.

    Parameters:
        image: the rows of the true image, each a text of the characters 0 and 1.
        observed: the rows of the observed image; without it the true one with noise, from the seed of the run.
        noise: probability that an observed pixel is not the true one.
        coupling: J.
        values: `binary` for pixels of 0 and 1, `spin` for pixels of -1 and +1.

    Reference: Geman and Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images",
    IEEE Trans. Pattern Anal. Mach. Intell. 6, 1984; Greig, Porteous and Seheult, "Exact maximum a posteriori estimation
    for binary images", J. R. Stat. Soc. B 51, 1989.

    Example: model: {use: grid_mrf, image: ["1100", "1100", "0000"], observed: ["1101", "1000", "0000"], noise: 0.2}
    """

    space: ClassVar[Space] = "binary"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"energy", "gradient", "conditionals", "patterns", "ground_state", "true_image", "sweeps"}
    )

    image: Image = ("110", "110", "000")
    observed: Image | None = None
    noise: Annotated[float, Gt(0), Lt(0.5)] = 0.1
    coupling: Annotated[float, Ge(0)] = 0.5
    values: Values = "binary"

    def __post_init__(self) -> None:
        for name, rows in (("image", self.image), ("observed", self.observed or self.image)):
            for i, row in enumerate(rows):
                if not row or set(row) - {"0", "1"}:
                    raise ValueError(f"'{name}': row {i} is {row!r}, but the characters 0 and 1 are expected")
                if len(row) != len(self.image[0]):
                    raise ValueError(f"'{name}': row {i} has {len(row)} pixels, not {len(self.image[0])}")
            if len(rows) != len(self.image):
                raise ValueError(f"'{name}' has {len(rows)} rows, but 'image' has {len(self.image)}")

    def traits(self) -> ModelTraits:
        height, width = self.event()
        return unit_traits(super().traits(), self.values, height * width)

    def event(self) -> tuple[int, int]:
        return len(self.image), len(self.image[0])

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> GridEnergy:
        from ebmkit.components.models.nets.grid_mrf import GridEnergy

        truth = _pixels(self.image)
        if self.observed is None:
            wrong = torch.rand(truth.shape, dtype=torch.float64) < self.noise
            seen = torch.where(wrong, 1 - truth, truth)
        else:
            seen = _pixels(self.observed)
        strength = log((1 - self.noise) / self.noise) / 2
        return GridEnergy(truth, seen, self.coupling, strength, VALUES[self.values])


def _pixels(rows: Image) -> Tensor:
    """The pixels as numbers 0 and 1, `(height, width)`."""
    return torch.tensor([[int(pixel) for pixel in row] for row in rows], dtype=torch.float64)
