"""The Frechet distance between features of samples and of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.features import FeatureName, find_extractor
from ebmkit.components.metrics.enough import too_few
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
    """Frechet distance (FID) of samples from held-out data: between Gaussians fitted to features f of a network.

        fid = |m - m_0|^2 + tr(S + S_0 - 2 (S^1/2 S_0 S^1/2)^1/2),    f(samples) ~ (m, S),  f(held out) ~ (m_0, S_0)

    The names of the results end in `@features/samples`, such as `fid@digits-cnn/1000`: values with other features or
    another number of samples are not comparable, since the estimate has a bias that grows as the number decreases.
    Therefore four sets of equal size are compared with the same reference, all held-out points:

    `fid`           samples of the model
    `fid_floor`     training points. A good model reaches this value. One that repeats its training points gets no
                    lower, as it would if these were the reference
    `fid_gaussian`  draws from the Gaussian with the mean and the covariance of the training pixels
    `fid_noise`     independent pixels with the mean and the standard deviation of all training pixels

    `fid_points` is the size of each set, and `fid_held_out` that of the reference; it may differ, since it is the same
    for all four. Known numbers about the features are reported as well, as `features_accuracy`.

    The features `digits-cnn`, the 64 units before the last layer of a small convolutional classifier, are for images
    like `digits` of 1 x 8 x 8 with pixels from -1 to 1. ebmkit trains them on first use, which takes some seconds, and
    stores them in the user's cache folder. They are insensitive to noise of a standard deviation below 0.2.

    Results:
        fid: Frechet distance of samples from held-out data; lower is better.
        fid_floor: the same for training points in place of samples, which a good model reaches.
        fid_gaussian: the same for draws from a Gaussian fitted to the training points.
        fid_noise: the same for independent pixels with the mean and deviation of all training pixels.
        fid_points: number of points in each of these sets.
        fid_held_out: number of held-out points.
        features_accuracy: accuracy of the classifier whose features are used.

    Parameters:
        features: the feature network.
        samples: number of model samples and of points in the other sets; at most the number of training points.
        every: interval in training steps; by default it is measured only at the end.

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
        if reason:
            return f"uses the features '{self.features}', which {reason}"
        return too_few(question, train=self.samples, test=2)

    def results(self) -> tuple[str, ...]:
        facts = (f"features_{name}" for name in find_extractor(self.features).facts)
        names = ("fid", "fid_floor", "fid_gaussian", "fid_noise", "fid_points", "fid_held_out", *facts)
        return tuple(f"{name}@{self.features}/{self.samples}" for name in names)

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("distances to data need a spec with data")
        if len(train) < self.samples:
            raise ValueError(f"'samples' is {self.samples}, but there are only {len(train)} training points")
        samples = view.samples(self.samples)
        n = len(samples)  # long chains may have fewer
        features, facts = find_extractor(self.features).load(view.trained)
        reference = fitted(features(test))
        # A random subset, because files are often sorted by class.
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
    """As many draws as `like` has, from the Gaussian fitted to the training points."""
    mean, root = fitted(train.flatten(1))
    xi = torch.empty(len(like), len(root), device=like.device, dtype=torch.float32).normal_(generator=rng)
    return (mean + xi.to(root) @ root).view(like.shape)


def _noise(train: Tensor, like: Tensor, rng: Generator) -> Tensor:
    """Independent pixels with a common mean and standard deviation."""
    pixels = train.to("cpu", torch.float64)
    xi = torch.empty(like.shape, device=like.device, dtype=torch.float32).normal_(generator=rng)
    return pixels.mean() + pixels.std() * xi.to(pixels)
