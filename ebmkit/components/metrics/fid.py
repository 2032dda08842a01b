"""The Frechet distance between features of samples and of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.features import FeatureName, find_extractor
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.maths.frechet import fitted, frechet

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.view import View


@component("fid")
class FID(Metric):
    """How far samples are from held-out data in the features f of a named network, by Gaussians fitted to both.

        fid = |m - m_0|^2 + tr(S + S_0 - 2 (S^1/2 S_0 S^1/2)^1/2),    f(samples) ~ (m, S),  f(held out) ~ (m_0, S_0)

    The names of the results end in `@features/samples`, such as `fid@digits-cnn/1000`: figures with other features or
    another number of samples cannot be compared, for the estimate is biased, and the more the fewer points there are.
    So four sets of equally many points are held against one reference, which is all of the held-out points:

    `fid`           samples of the model
    `fid_floor`     training points. A good model comes down to here. One that repeats its training points comes no
                    lower, as it would if these were the reference
    `fid_gaussian`  draws from the Gaussian with the mean and the covariance of the training pixels
    `fid_noise`     independent pixels with the mean and the standard deviation of all training pixels

    `fid_points` says how many there are of each, and `fid_held_out` how many the reference has; that number may differ,
    since it is the same in all four. Whatever is known of the features stands beside it, as `features_accuracy`.

    The features `digits-cnn`, the 64 units in front of the last layer of a small convolutional classifier, are for
    images like `digits` of 1 x 8 x 8 with pixels from -1 to 1. ebmkit trains them when they are first asked for, which
    takes some seconds, and keeps them in the user's cache folder. They hardly notice noise of a standard deviation
    below 0.2.

    Parameters:
        features: the network that looks at the images.
        samples: model samples, and as many points of each of the others; no more than there are training points.
        every: measure after each so many training steps, not only at the end.

    Reference: Heusel et al., "GANs trained by a two time-scale update rule converge to a local Nash equilibrium",
    arXiv:1706.08500; the bias: Chong and Forsyth, arXiv:1911.07023.

    Example: evaluate: [{use: fid, features: digits-cnn, samples: 1000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    features: FeatureName = "digits-cnn"
    samples: Annotated[int, Ge(2)] = 1_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        reason = find_extractor(self.features).refusal(question.event)
        return reason and f"looks through the features '{self.features}', which {reason}"

    def results(self) -> tuple[str, ...]:
        facts = (f"features_{name}" for name in find_extractor(self.features).facts)
        names = ("fid", "fid_floor", "fid_gaussian", "fid_noise", "fid_points", "fid_held_out", *facts)
        return tuple(f"{name}@{self.features}/{self.samples}" for name in names)

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("distances to data need a spec with data")
        if len(train) < self.samples:
            raise ValueError(f"'samples' is {self.samples}, and there are {len(train)} training points to compare with")
        samples = view.samples(self.samples)
        n = len(samples)  # of long chains there may be fewer
        features, facts = find_extractor(self.features).load(view.trained)
        reference = fitted(features(test))
        # At random, because files are often sorted by class.
        rows = torch.randperm(len(train), generator=view.rng, device=samples.device)[:n]
        shown = (
            samples,
            train[rows.to(train.device)],
            _gaussian(train, samples, view.rng),
            _noise(train, samples, view.rng),
        )
        distances = [frechet(fitted(features(x)), reference) for x in shown]
        return dict(zip(self.results(), [*distances, float(n), float(len(test)), *facts.values()], strict=True))


def _gaussian(train: Tensor, like: Tensor, rng: Generator) -> Tensor:
    """Draws from the Gaussian that is fitted to the training points, as many as `like` has."""
    mean, root = fitted(train.flatten(1))
    xi = torch.empty(len(like), len(root), device=like.device, dtype=torch.float32).normal_(generator=rng)
    return (mean + xi.to(root) @ root).view(like.shape)


def _noise(train: Tensor, like: Tensor, rng: Generator) -> Tensor:
    """Independent pixels of one mean and one standard deviation."""
    pixels = train.to("cpu", torch.float64)
    xi = torch.empty(like.shape, device=like.device, dtype=torch.float32).normal_(generator=rng)
    return pixels.mean() + pixels.std() * xi.to(pixels)
