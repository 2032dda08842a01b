"""Bugs planted in noise distributions, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import law, noise
from tests.planting import Planted

PROOFS = [
    noise("fitted_noise_has_the_moments_of_the_data", (2,), 1.2),
    noise("fitted_noise_has_the_moments_of_the_data", (10,), 1.2),
    noise("a_fitted_box_reaches_beyond_the_data_by_its_margin", (2,)),
    noise("a_given_mixture_is_that_of_torch", (2,)),
    noise("parzen_is_a_mixture_on_the_data", (2,), None),
    noise("conditional_noise_is_a_gaussian_around_each_point", (2,)),
    noise("conditional_noise_of_several_widths_is_their_mixture", (2,)),
    noise("a_flow_has_the_density_of_its_draws", (2,)),
    noise("a_generator_is_a_mixture_on_its_latents", (2,)),
    noise("each_step_has_latents_of_its_own_and_its_density_is_that_of_its_draws", (2,)),
    noise("the_fit_is_expectation_maximisation", (2,), 5),
    noise("conditional_noise_is_as_wide_as_a_part_of_the_data", (2,)),
    noise("a_fitted_flow_knows_more_than_a_gaussian"),
    noise("a_mixed_density_is_its_share_of_both", (2,)),
    law("noise", "conditional_gaussian", "draws_from_its_density", (1,)),
    law("noise", "generator", "can_be_moved", example=True),
]

BUGS = [
    Planted(
        "density without the determinant",
        "noise",
        "components/noise/nets/gaussian_density.py",
        "factor.diag().log().sum()",
        "0 * factor.sum()",
    ),
    Planted(
        "inflated standard deviations",
        "noise",
        "components/noise/gaussian.py",
        "self.inflate * torch.cov(points.T).reshape(len(mean), len(mean))",
        "self.inflate ** 2 * torch.cov(points.T).reshape(len(mean), len(mean))",
    ),
    Planted(
        "draws through the transposed factor",
        "noise",
        "components/noise/nets/gaussian_density.py",
        "self.factor.T",
        "self.factor",
    ),
    Planted(
        "a mixture without its weights",
        "noise",
        "components/noise/nets/gaussian_mixture_density.py",
        "weights.log() - log_det",
        "-log_det",
    ),
    Planted(
        "kernels without their width",
        "noise",
        "components/noise/nets/parzen.py",
        "return at - self.bandwidth.log().sum()",
        "return at",
    ),
    Planted(
        "volume with the wrong sign",
        "noise",
        "components/noise/nets/uniform.py",
        "-(self.high - self.low).log().sum()",
        "(self.high - self.low).log().sum()",
    ),
    Planted(
        "noise around a point with variance sigma",
        "noise",
        "components/noise/nets/conditional_gaussian.py",
        "sigma * torch.empty_like(given).normal_(generator=rng)",
        "sigma ** 0.5 * torch.empty_like(given).normal_(generator=rng)",
    ),
    Planted(
        "a mixture of widths without its weights",
        "noise",
        "components/noise/nets/conditional_gaussian.py",
        "(-squared / (2 * self.sigma**2) - scale).logsumexp(1) - log(len(self.sigma))",
        "(-squared / (2 * self.sigma**2) - scale).logsumexp(1)",
    ),
    Planted(
        "the last width is never drawn",
        "noise",
        "components/noise/nets/conditional_gaussian.py",
        "torch.randint(len(sigma), (len(given),), device=given.device, generator=rng)",
        "torch.randint(len(sigma) - 1, (len(given),), device=given.device, generator=rng)",
    ),
    Planted(
        "generated density without the data's unit",
        "noise",
        "components/noise/nets/generator.py",
        "at - self.log_sigma.sum() - self.scale.log().sum()",
        "at - self.log_sigma.sum()",
    ),
    Planted(
        "Jacobian with the wrong sign",
        "noise",
        "components/noise/nets/flow.py",
        "log_normal + log_det",
        "log_normal - log_det",
    ),
    Planted(
        "a fit without the weights of its components",
        "noise",
        "components/noise/nets/mixture_fit.py",
        "weights.log() + torch.linalg.slogdet(matrices).logabsdet",
        "torch.linalg.slogdet(matrices).logabsdet",
    ),
    Planted(
        "Scott's rule with another exponent",
        "noise",
        "components/noise/parzen.py",
        "(-1 / (dimension + 4))",
        "(-1 / (dimension + 2))",
    ),
    Planted(
        "latents that stay",
        "noise",
        "components/noise/nets/generator.py",
        "self.latents.normal_(generator=context.rng)",
        "pass",
    ),
    Planted(
        "draws of a generator are detached",
        "noise",
        "components/noise/nets/generator.py",
        "picked = centres.index_select(0, chosen)",
        "picked = centres.index_select(0, chosen).detach()",
    ),
    Planted(
        "a part of the data's variance",
        "noise",
        "components/noise/conditional_gaussian.py",
        "spread = sqrt(float(data.flatten(1).double().var(0).mean()))",
        "spread = float(data.flatten(1).double().var(0).mean())",
    ),
    Planted(
        "a flow fitted uphill",
        "noise",
        "components/noise/nets/flow.py",
        "-self.log_prob(data[chosen].to(self.centre.dtype)).mean()",
        "self.log_prob(data[chosen].to(self.centre.dtype)).mean()",
    ),
    Planted(
        "weights of the mixture swapped",
        "noise",
        "components/noise/nets/mixed_density.py",
        "torch.logaddexp(log(self.share) + base, log1p(-self.share) + other)",
        "torch.logaddexp(log1p(-self.share) + base, log(self.share) + other)",
    ),
    Planted(
        "the mixture's coin upside down",
        "noise",
        "components/noise/nets/mixed_density.py",
        "u < self.share",
        "u > self.share",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "draws written out",
        "noise",
        "components/noise/nets/gaussian_density.py",
        "torch.addmm(self.mean, xi, self.factor.T)",
        "(self.mean + xi @ self.factor.T)",
    )
]
