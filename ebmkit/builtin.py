"""The built-in components, registered through the same hook as those of plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ebmkit.bregman.logistic import Logistic
from ebmkit.data.checkerboard import Checkerboard
from ebmkit.data.eight_gaussians import EightGaussians
from ebmkit.data.rings import Rings
from ebmkit.data.spirals import Spirals
from ebmkit.data.swiss_roll import SwissRoll
from ebmkit.data.two_moons import TwoMoons
from ebmkit.hookspecs import hookimpl
from ebmkit.inits.data import DataStart
from ebmkit.inits.noise import NoiseStart
from ebmkit.inits.replay import Replay
from ebmkit.metrics.mmd import MMD
from ebmkit.metrics.sliced_wasserstein import SlicedWasserstein
from ebmkit.models.gaussian import Gaussian
from ebmkit.models.gaussian_mixture import GaussianMixture
from ebmkit.models.mlp import MLP
from ebmkit.noise.gaussian import GaussianNoise
from ebmkit.objectives.bregman import BregmanRatioMatching
from ebmkit.objectives.denoising_score_matching import DenoisingScoreMatching
from ebmkit.objectives.mle import MLE
from ebmkit.objectives.nce import NCE
from ebmkit.optimizers.adadelta import Adadelta
from ebmkit.optimizers.adagrad import Adagrad
from ebmkit.optimizers.adam import Adam
from ebmkit.optimizers.adamax import Adamax
from ebmkit.optimizers.adamw import AdamW
from ebmkit.optimizers.asgd import ASGD
from ebmkit.optimizers.nadam import NAdam
from ebmkit.optimizers.radam import RAdam
from ebmkit.optimizers.rmsprop import RMSprop
from ebmkit.optimizers.rprop import Rprop
from ebmkit.optimizers.sgd import SGD
from ebmkit.samplers.exact import Exact
from ebmkit.samplers.langevin import Langevin
from ebmkit.trackers.jsonl import Jsonl

if TYPE_CHECKING:
    from ebmkit.component import Component
    from ebmkit.engine.view import View
    from ebmkit.report.panel import Panel


@hookimpl
def ebmkit_components() -> tuple[type[Component], ...]:
    """Everything imported above: one line registers a component."""
    return tuple(value for value in globals().values() if "component_name" in getattr(value, "__dict__", ()))


@hookimpl
def ebmkit_report_panels(view: View) -> Sequence[Panel]:
    """The pictures of every run."""
    from ebmkit.report.panels import builtin_panels

    return builtin_panels(view)
