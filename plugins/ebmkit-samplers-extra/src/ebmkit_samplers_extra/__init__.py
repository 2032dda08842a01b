"""Four samplers for ebmkit: Stein variational gradient descent, Barker's proposal, stochastic-gradient Hamiltonian
Monte Carlo, and the elliptical slice sampler, with two abilities of models and a model that has them, and the noise
levels of Karras for annealed samplers."""

from ebmkit_samplers_extra.abilities import GaussianPrior, Subsampled
from ebmkit_samplers_extra.barker import Barker
from ebmkit_samplers_extra.elliptical_slice import EllipticalSlice
from ebmkit_samplers_extra.karras import Karras
from ebmkit_samplers_extra.regression import BayesianRegression
from ebmkit_samplers_extra.sghmc import SGHMC
from ebmkit_samplers_extra.svgd import SVGD

__all__ = ["SGHMC", "SVGD", "Barker", "BayesianRegression", "EllipticalSlice", "GaussianPrior", "Karras", "Subsampled"]

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1
