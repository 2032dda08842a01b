"""Restoration of an image, against the exact MAP image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.traits import MetricTraits

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("restoration")
class Restoration(Metric):
    """Restoration error: share of wrong pixels of restored images, and their distance in energy from the exact MAP.

        map_gap = mean over samples of E(y) - min_y E(y)

    The samples are the restored images; the model knows the true and the observed one, as `grid_mrf` does.

    Results:
        restoration_error: share of the pixels of samples that are not those of the true image.
        observed_error: the same of the observed image.
        map_error: the same of the exact MAP image.
        map_gap: mean energy of samples minus that of the exact MAP image; 0 if all are MAP images.

    Parameters:
        samples: number of restored images.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Greig, Porteous and Seheult, "Exact maximum a posteriori estimation for binary images", J. R. Stat. Soc.
    B 51, 1989.

    Example: evaluate: [{use: restoration, samples: 100}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "energy", "true_image", "patterns", "ground_state"})

    samples: Annotated[int, Ge(1)] = 100

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def results(self) -> tuple[str, ...]:
        return ("restoration_error", "observed_error", "map_error", "map_gap")

    def measure(self, view: View) -> dict[str, float]:
        model: Any = view.module
        best = model.ground_state().unsqueeze(0)
        restored = view.samples(self.samples)
        lowest = float(view.energy(best))
        return {
            "restoration_error": _error(restored, model.true_image),
            "observed_error": _error(model.patterns, model.true_image),
            "map_error": _error(best, model.true_image),
            "map_gap": float(view.energy(restored).cpu().double().mean()) - lowest,
        }


def _error(images: Tensor, truth: Tensor) -> float:
    return float((images != truth).cpu().double().mean())
