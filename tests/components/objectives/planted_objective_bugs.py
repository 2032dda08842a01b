"""Bugs that objectives and what they are made of have had elsewhere, or might have, and variants that are as right."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.planting import Planted, Proof, name_of, proof

IMAGE = (1, 4, 4)
FAMILY = "components.models.test_exponential_family"


# Proofs ---------------------------------------------------------------------------------------------------------------


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


BATTERIES: dict[str, list[Proof]] = {
    "mle": [
        objectives("mle_from_data_is_contrastive_divergence", (2,)),
        objectives("mle_penalty_is_on_both_phases"),
        objectives("mle_keeps_its_chains_and_leaves_the_model_as_it_was"),
        differences("mle"),
    ],
    "exact_mle": [
        exact_mle("gradient_is_data_phase_minus_model_phase_by_enumeration", (2,), "spin"),
        exact_mle("gradient_is_data_phase_minus_model_phase_by_quadrature", 1),
        exact_mle("gradient_is_data_phase_minus_model_phase_by_quadrature", 2),
        exact_mle("a_mixture_that_does_not_know_log_z_is_integrated"),
        exact_mle("mass_at_the_edge_is_seen"),
        exact_mle("half_a_cell_belongs_to_the_ends_of_the_grid", 2, 10),
    ],
    "score_matching": [
        *(score("the_formula_with_the_whole_hessian", (2,), kind) for kind in ("mlp", "mixture")),
        score("the_formula_with_the_whole_hessian", IMAGE, "mlp"),
        derivatives("of_any_module", *anything("conv-more-pixels-than-columns")),
        score("explicit_is_half_the_square_of_the_difference", (2,)),
        *(score("probes_have_the_identity_as_second_moments", (2,), kind) for kind in ("rademacher", "sphere")),
        *(
            score("several_projections_are_the_mean_of_the_formula", (10,), "gaussian", kind)
            for kind in ("mlp", "mixture")
        ),
        score("finite_differences_converge_with_order_two", (2,)),
        derivatives("an_activation_has_its_derivatives_everywhere", "silu"),
        derivatives("of_a_network", "softplus", 0.7, (10,), (7, 5)),
    ],
    "denoising_score_matching": [
        objectives("dsm_value_at_the_optimum", (1,)),
        objectives("dsm_value_at_the_optimum", (10,)),
        objectives("dsm_gradient_is_that_of_explicit_score_matching_on_the_noised_data", (2,)),
    ],
    "nce": [
        objectives("nce_is_logistic_regression_between_data_and_noise", (2,), 3.0),
        objectives("bregman_with_logistic_is_nce", (2,), 3.0),
        objectives("log_z_stays_zero_when_it_is_not_learnt"),
        contrast("noise_that_could_learn_is_left_alone_by_whoever_has_no_rival", lambda module: module.NCE),
    ],
    "generators": [
        *(
            generator(function, row)
            for row in (2, 3, 6, 7, 11)
            for function in (
                "closed_forms_are_those_of_psi",
                "psi_is_the_published_function_up_to_its_constant",
                "curvature_at_one_is_the_factor_of_maximum_likelihood",
            )
        ),
        adaptive("gradient_at_interval_one_is_data_phase_minus_model_phase", (2,), lambda module: module.PsiAlone()),
    ],
    "noise": [
        noise("fitted_noise_has_the_moments_of_the_data", (2,), 1.2),
        noise("fitted_noise_has_the_moments_of_the_data", (10,), 1.2),
        noise("a_fitted_box_reaches_beyond_the_data_by_its_margin", (2,)),
        noise("a_given_mixture_is_that_of_torch", (2,)),
        noise("parzen_is_a_mixture_on_the_data", (2,), None),
        noise("conditional_noise_is_a_gaussian_around_each_point", (2,)),
        noise("a_flow_has_the_density_of_its_draws", (2,)),
        noise("a_generator_is_a_mixture_on_its_latents", (2,)),
        noise("each_step_has_latents_of_its_own_and_its_density_is_that_of_its_draws", (2,)),
        noise("the_fit_is_expectation_maximisation", (2,), 5),
        noise("conditional_noise_is_as_wide_as_a_part_of_the_data", (2,)),
        noise("a_fitted_flow_knows_more_than_a_gaussian"),
        noise("a_mixed_density_is_its_share_of_both", (2,)),
        law("noise", "conditional_gaussian", "draws_from_its_density", (1,)),
        law("noise", "generator", "can_be_moved", example=True),
    ],
    "ranking_nce": [
        contrast("ranking_is_the_cross_entropy_of_a_softmax", (2,), 5),
        contrast("ranking_does_not_see_a_constant", (2,)),
        contrast("the_data_minimise_the_ranking_loss"),
    ],
    "conditional_nce": [
        contrast("conditional_loss_does_not_see_a_constant", (2,), lambda module: module.ConditionalGaussian),
        contrast("conditional_loss_is_that_of_which_came_first", (2,), lambda module: module.ConditionalGaussian, 3),
        contrast("the_data_minimise_the_conditional_loss_though_the_noise_is_lopsided"),
    ],
    "contests": [
        contests("the_value_is_the_cross_entropy_of_data_and_noise", (2,), 3.0),
        contests("both_players_of_flow_ce_have_the_slopes_of_the_closed_form", (2,), 2.5),
        contests("the_bound_is_below_log_z_by_the_divergence", (2,)),
        contests("both_players_of_adversarial_have_the_slopes_of_the_closed_form", (2,), 3),
        contests("the_trace_of_a_critic_is_that_of_its_jacobian", (2,)),
        contests("no_critic_tells_a_model_from_itself", (2,)),
        contests("stein_by_hand", IMAGE),
        *(
            contests("every_player_follows_its_own_loss_alone", lambda module, i=i: module.CONTESTS[i], clip)
            for i, clip in ((0, None), (2, None), (3, None), (2, 1e-3))
        ),
        differences("adversarial_ce", example=True),
    ],
    "snapshot": [
        adaptive("spectral_norms_change_nothing_about_it"),
        *(adaptive("the_copy_is_renewed_before_steps_1_and_1_plus_k", interval) for interval in (1, 3)),
        adaptive("penalty_is_on_the_energies_of_both_phases", (2,)),
        adaptive("three_names_for_one_loss", (2,), 3),
        adaptive("the_copy_is_a_noise_density_like_others", (2,)),
        noise("a_snapshot_keeps_its_chains_and_has_as_many_as_are_asked_for"),
        noise("a_copy_takes_the_spectral_vectors_along"),
        differences("adaptive_bregman"),
    ],
    "control_variate": [
        control("the_term_and_its_gradient_have_mean_zero_under_the_copy", 1, lambda module: module.PsiAlone()),
        control("scatter_of_a_mean_goes_away_altogether"),
        control("the_factor_is_a_regression_over_earlier_steps", 8),
        control("its_gradient_is_that_of_differences", (2,)),
        control("the_loss_is_that_without_it_and_beta_times_its_mean", (2,)),
        control("a_model_beside_its_copy_has_no_term_at_all", (1, 5, 5)),
    ],
    "jem": [
        labelled("without_weight_it_is_a_plain_classifier", (2,)),
        labelled("the_generative_part_is_maximum_likelihood", (2,), 0.3),
        classifier("one_network_is_a_joint_energy_and_its_conditional", (2,), "silu", 0.5),
        batches("labels_go_with_their_points"),
        stage("a_later_stage_has_the_labels_of_its_own_batches"),
    ],
    "diffusion_recovery": [
        recovery("chains_are_langevin_on_the_conditional_energy", (2,)),
        recovery("tilted_energy_and_its_gradient", IMAGE),
        recovery("gradient_is_that_of_the_recovery_likelihood", (2,)),
    ],
    "exponential_family": [
        family("statistics_have_the_derivatives_of_autograd", (2,), lambda module: module.FULL),
        family("score_matching_by_autograd_has_its_minimum_there", 2, lambda module: module.FULL),
        family("one_step_of_gradient_descent_gets_there"),
        patched("the_closed_form_is_that_of_all_blocks_of_data", 60),
    ],
}


# Bugs -----------------------------------------------------------------------------------------------------------------

BUGS = [
    # mle
    Planted(
        "phases swapped",
        "mle",
        "components/objectives/mle.py",
        "gap = energy_data - energy_model",
        "gap = energy_model - energy_data",
    ),
    Planted(
        "penalty on the data alone",
        "mle",
        "components/objectives/mle.py",
        "at_data.square().mean() + at_model.square().mean()",
        "at_data.square().mean()",
    ),
    Planted(
        "no gradient in the model phase",
        "mle",
        "components/objectives/mle.py",
        "at_data, at_model = model(torch.cat([batch, x])).chunk(2)",
        "at_data, at_model = model(batch), model(x).detach()",
    ),
    Planted(
        "chain ends are forgotten",
        "mle",
        "components/objectives/mle.py",
        "starts.keep(x)",
        "pass",
    ),
    Planted(
        "energies of the model phase summed",
        "mle",
        "components/objectives/mle.py",
        "at_data.mean(), at_model.mean()",
        "at_data.mean(), at_model.sum()",
    ),
    # exact_mle
    Planted(
        "log Z with the wrong sign",
        "exact_mle",
        "components/objectives/exact_mle.py",
        "Loss(energy_data + log_z",
        "Loss(energy_data - log_z",
    ),
    Planted(
        "log Z without a gradient",
        "exact_mle",
        "components/objectives/exact_mle.py",
        "Loss(energy_data + log_z",
        "Loss(energy_data + log_z.detach()",
    ),
    Planted(
        "no cell in the quadrature",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "Normaliser(log_z + grid.log_cell,",
        "Normaliser(log_z,",
    ),
    Planted(
        "the cell of one side",
        "exact_mle",
        "maths/quadrature.py",
        "(len(self.unit) - 1)).log().sum()",
        "(len(self.unit) - 1)).log()[0]",
    ),
    Planted(
        "as many cells as points",
        "exact_mle",
        "maths/quadrature.py",
        "/ (len(self.unit) - 1)).log()",
        "/ len(self.unit)).log()",
    ),
    Planted(
        "ends of the grid with full weight",
        "exact_mle",
        "maths/quadrature.py",
        ".to(log_p.dtype) / 2).log()",
        ".to(log_p.dtype) / 2).log() * 0",
    ),
    Planted(
        "states enumerated upside down",
        "exact_mle",
        "maths/enumeration.py",
        "torch.cat([-energy(",
        "torch.cat([energy(",
    ),
    Planted(
        "a box with a margin on one side",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        '"high", high + margin * span',
        '"high", high',
    ),
    Planted(
        "a normaliser of components that are not normalised",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        ' and getattr(model, "normalised", True):',
        ":",
    ),
    # score matching
    Planted(
        "trace with the wrong sign",
        "score_matching",
        "components/objectives/score_matching.py",
        "(length / 2 - trace).mean()",
        "(length / 2 + trace).mean()",
    ),
    Planted(
        "no 1/2 in the exact form",
        "score_matching",
        "components/objectives/score_matching.py",
        "(length / 2 - trace).mean()",
        "(length - trace).mean()",
    ),
    Planted(
        "length over the last axis alone",
        "score_matching",
        "components/objectives/score_matching.py",
        "gradient.flatten(1).square().sum(1)",
        "gradient.square().sum(-1).view(len(batch), -1)[:, 0]",
    ),
    Planted(
        "trace divided by the dimension",
        "score_matching",
        "maths/laplacian.py",
        "return slope, trace",
        "return slope, trace / dimension",
    ),
    Planted(
        "trace of the first columns",
        "score_matching",
        "maths/laplacian.py",
        "range(0, dimension, COLUMNS)",
        "range(0, min(dimension, COLUMNS), COLUMNS)",
    ),
    Planted(
        "trace without a gradient",
        "score_matching",
        "maths/laplacian.py",
        "along(slope, point, units).sum(0)",
        "along(slope, point, units).sum(0).detach()",
    ),
    Planted(
        "products with a direction summed over the last axis alone",
        "score_matching",
        "maths/laplacian.py",
        "(products * v).flatten(2).sum(2)",
        "(products * v).sum(-1).flatten(2).amax(2) if v.dim() > 3 else (products * v).sum(-1)",
    ),
    Planted(
        "trace of the base as on a line",
        "score_matching",
        "components/models/nets/mlp.py",
        "flat.new_full((len(flat),), flat.shape[1])",
        "flat.new_ones(len(flat))",
    ),
    Planted(
        "second derivative of silu",
        "score_matching",
        "maths/smoothness.py",
        "torch.sub(z + 2, value, alpha=2)",
        "torch.sub(z + 2, value)",
    ),
    Planted(
        "target's score with the wrong sign",
        "score_matching",
        "components/objectives/explicit_score_matching.py",
        "gradient(model, batch)[1] - gradient(",
        "gradient(model, batch)[1] + gradient(",
    ),
    Planted(
        "no 1/2 in the explicit form",
        "score_matching",
        "components/objectives/explicit_score_matching.py",
        "off.square().sum(1).mean() / 2",
        "off.square().sum(1).mean()",
    ),
    Planted(
        "Hutchinson's trace with the wrong sign",
        "score_matching",
        "components/objectives/hutchinson_score_matching.py",
        "(length / 2 - trace).mean()",
        "(length / 2 + trace).mean()",
    ),
    Planted(
        "signs without unit variance",
        "score_matching",
        "maths/probes.py",
        ".mul_(2).sub_(1)",
        ".sub_(0.5)",
    ),
    Planted(
        "directions on the unit sphere",
        "score_matching",
        "maths/probes.py",
        "sqrt(prod(x.shape[1:])) / length",
        "1 / length",
    ),
    Planted(
        "curvatures summed over directions",
        "score_matching",
        "maths/probes.py",
        "bent.flatten(1).sum(1) / len(v)",
        "bent.flatten(1).sum(1)",
    ),
    Planted(
        "curvatures of a network summed over directions",
        "score_matching",
        "components/models/nets/mlp.py",
        "lengths.append(tangent.square().mean(0))",
        "lengths.append(tangent.square().sum(0))",
    ),
    Planted(
        "variance reduced when it is not asked for",
        "score_matching",
        "components/objectives/sliced_score_matching.py",
        "if self.variance_reduced:",
        "if True:",
    ),
    Planted(
        "the mean over directions is squared",
        "score_matching",
        "components/objectives/sliced_score_matching.py",
        ".sum(2).square().mean(0)",
        ".sum(2).mean(0).square()",
    ),
    Planted(
        "sliced without variance reduction: no 1/2",
        "score_matching",
        "components/objectives/sliced_score_matching.py",
        ".sum(2).square().mean(0)",
        ".sum(2).square().mean(0) * 2",
    ),
    Planted(
        "differences of first order",
        "score_matching",
        "components/objectives/finite_difference_score_matching.py",
        "(ahead - behind) / 2,",
        "ahead - here,",
    ),
    Planted(
        "differences without the dimension",
        "score_matching",
        "components/objectives/finite_difference_score_matching.py",
        "scale = d / self.eps**2",
        "scale = 1 / self.eps**2",
    ),
    Planted(
        "differences over twice the step",
        "score_matching",
        "components/objectives/finite_difference_score_matching.py",
        "(ahead - behind) / 2,",
        "ahead - behind,",
    ),
    Planted(
        "normal directions taken for unit ones",
        "score_matching",
        "components/models/nets/mlp.py",
        "lengths, v.flatten(2).square().sum(2).mean(0))",
        "lengths)",
    ),
    Planted(
        "lengths of wide states without the first layer",
        "score_matching",
        "maths/smoothness.py",
        "(jacobian * (jacobian @ gram)).sum(2)",
        "jacobian.square().sum(2)",
    ),
    # denoising score matching
    Planted(
        "target with the wrong sign",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "gradient - xi / self.sigma",
        "gradient + xi / self.sigma",
    ),
    Planted(
        "target over sigma squared",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "xi / self.sigma)",
        "xi / self.sigma**2)",
    ),
    Planted(
        "mean over coordinates",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "off.square().sum(1).mean() / 2",
        "off.square().mean() / 2",
    ),
    Planted(
        "noise of variance sigma",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "alpha=self.sigma)",
        "alpha=self.sigma**0.5)",
    ),
    Planted(
        "one noise for the whole batch",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "torch.empty_like(batch).normal_(generator=context.rng)",
        "torch.empty_like(batch[:1]).normal_(generator=context.rng).expand_as(batch)",
    ),
    # nce and bregman
    Planted(
        "noise ratio inverted",
        "nce",
        "components/objectives/nce.py",
        "softplus(log(r) - log_u.data).mean() + r * softplus(log_u.noise - log(r)).mean()",
        "softplus(-log(r) - log_u.data).mean() + softplus(log_u.noise + log(r)).mean() / r",
    ),
    Planted(
        "log r is missing",
        "nce",
        "components/objectives/nce.py",
        "softplus(log(r) - log_u.data).mean() + r * softplus(log_u.noise - log(r)).mean()",
        "softplus(-log_u.data).mean() + r * softplus(log_u.noise).mean()",
    ),
    Planted(
        "noise without its weight",
        "nce",
        "components/objectives/nce.py",
        "+ r * softplus(",
        "+ softplus(",
    ),
    Planted(
        "arguments of softplus with the wrong signs",
        "nce",
        "components/objectives/nce.py",
        "softplus(log(r) - log_u.data).mean() + r * softplus(log_u.noise - log(r)).mean()",
        "softplus(log_u.data - log(r)).mean() + r * softplus(log(r) - log_u.noise).mean()",
    ),
    Planted(
        "as many noise samples as data",
        "nce",
        "components/objectives/nce.py",
        "max(1, round(r * len(batch)))",
        "len(batch)",
    ),
    Planted(
        "log Z with the wrong sign",
        "nce",
        "components/objectives/nets/ratios.py",
        "-energy - log_z",
        "-energy + log_z",
    ),
    Planted(
        "a ratio without the noise",
        "nce",
        "components/objectives/nets/ratios.py",
        " - noise.log_prob(x)",
        "",
    ),
    Planted(
        "log Z is learnt in any case",
        "nce",
        "components/objectives/nets/contrast.py",
        "requires_grad=learn_log_z",
        "requires_grad=True",
    ),
    Planted(
        "noise that learns is trained along",
        "nce",
        "components/objectives/nets/contrast.py",
        "noise.requires_grad_(False)",
        "noise",
    ),
    Planted(
        "S0 and S1 swapped",
        "nce",
        "components/objectives/bregman.py",
        "self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()",
        "self.generator.s1(log_u.noise).mean() - self.generator.s0(log_u.data).mean()",
    ),
    Planted(
        "noise and data swapped",
        "nce",
        "components/objectives/bregman.py",
        "self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()",
        "self.generator.s0(log_u.data).mean() - self.generator.s1(log_u.noise).mean()",
    ),
    Planted(
        "data and noise in the wrong places",
        "nce",
        "components/objectives/nets/ratios.py",
        "at_data, at_noise = log_u.split([len(batch), count])",
        "at_noise, at_data = log_u.split([count, len(batch)])",
    ),
    # generators
    Planted(
        "noise ratio inverted in S0",
        "generators",
        "components/bregman/logistic.py",
        "softplus(log_u - log(self.noise_ratio))",
        "softplus(log_u + log(self.noise_ratio))",
    ),
    Planted(
        "S1 without its constant",
        "generators",
        "components/bregman/kl.py",
        "return 1 + log_u",
        "return log_u",
    ),
    Planted(
        "half the published psi",
        "generators",
        "components/bregman/hellinger.py",
        "return -2 * u.sqrt()",
        "return -u.sqrt()",
    ),
    Planted(
        "second derivative of the power",
        "generators",
        "components/bregman/power.py",
        "(1 + self.beta) / self.beta * torch.expm1",
        "1 / self.beta * torch.expm1",
    ),
    Planted(
        "S0 with a wrong sign",
        "generators",
        "components/bregman/exponential.py",
        "(log_u + exponent).exp() - exponent.exp()",
        "(log_u + exponent).exp() + exponent.exp()",
    ),
    Planted(
        "derived S0 without u",
        "generators",
        "contracts/kinds/bregman.py",
        "u * self._slope(u) - self.psi(u)",
        "self._slope(u) - self.psi(u)",
    ),
    Planted(
        "derived S0 without the gradient of psi'",
        "generators",
        "contracts/kinds/bregman.py",
        "u * self._slope(u) - self.psi(u)",
        "u * self._slope(u.detach()) - self.psi(u)",
    ),
    Planted(
        "ratios clipped where they still count",
        "generators",
        "components/bregman/exponential.py",
        "BEYOND = 1000.0",
        "BEYOND = 10.0",
    ),
    # noise
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
        "self.inflate * torch.cov",
        "self.inflate**2 * torch.cov",
    ),
    Planted(
        "draws through the transposed factor",
        "noise",
        "components/noise/nets/gaussian_density.py",
        "xi, self.factor.T)",
        "xi, self.factor)",
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
        "height = -(self.high",
        "height = (self.high",
    ),
    Planted(
        "noise around a point with variance sigma",
        "noise",
        "components/noise/nets/conditional_gaussian.py",
        "given + self.sigma *",
        "given + self.sigma**0.5 *",
    ),
    Planted(
        "generated density without the data's unit",
        "noise",
        "components/noise/nets/generator.py",
        "- self.log_sigma.sum() - self.scale.log().sum()",
        "- self.log_sigma.sum()",
    ),
    Planted(
        "Jacobian with the wrong sign",
        "noise",
        "components/noise/nets/flow.py",
        "log_normal + log_det - self.scale",
        "log_normal - log_det - self.scale",
    ),
    Planted(
        "a fit without the weights of its components",
        "noise",
        "components/noise/nets/mixture_fit.py",
        "heights = weights.log() + torch",
        "heights = torch",
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
        "backward(-self.log_prob(",
        "backward(self.log_prob(",
    ),
    # ranking_nce
    Planted(
        "softmax without the noise's density",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "among = torch",
        "data, noise = (-log_u.energy).split([len(batch), self.negatives * len(batch)])\n"
        "        log_u = log_u._replace(data=data, noise=noise)\n"
        "        among = torch",
    ),
    Planted(
        "the data point is not among those it is found among",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "torch.cat([log_u.data.unsqueeze(1), log_u.noise.view(-1, self.negatives)], dim=1)",
        "log_u.noise.view(-1, self.negatives)",
    ),
    Planted(
        "softmax over the batch",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "(among.logsumexp(1) - log_u.data).mean()",
        "(among.logsumexp(0) - log_u.data.mean()).mean()",
    ),
    # conditional_nce
    Planted(
        "one of two conditional terms",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "+ noise.log_prob(y, x) - noise.log_prob(x, y)",
        "+ noise.log_prob(y, x)",
    ),
    Planted(
        "conditional terms swapped",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "+ noise.log_prob(y, x) - noise.log_prob(x, y)",
        "- noise.log_prob(y, x) + noise.log_prob(x, y)",
    ),
    Planted(
        "each noise point with the data point of another",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "at_data.repeat_interleave(self.noise_ratio)",
        "at_data.repeat(self.noise_ratio)",
    ),
    Planted(
        "argument of softplus with the wrong sign",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "softplus(-g)",
        "softplus(g)",
    ),
    # contests
    Planted(
        "weights of the mixture swapped",
        "noise",
        "components/noise/nets/mixed_density.py",
        "log(self.share) + self.base.log_prob(x), log1p(-self.share) + self.other",
        "log1p(-self.share) + self.base.log_prob(x), log(self.share) + self.other",
    ),
    Planted(
        "the mixture's coin upside down",
        "noise",
        "components/noise/nets/mixed_density.py",
        "torch.where(u < self.share",
        "torch.where(u > self.share",
    ),
    Planted(
        "one length for both players where gradients are clipped",
        "contests",
        "engine/stage.py",
        "self._gradient_norm(player) if self._rivals else self._norm",
        "self._norm",
    ),
    Planted(
        "nobody tells the copy that it is due",
        "snapshot",
        "components/objectives/nets/ratios.py",
        "        noise.follow(model, context.step)\n",
        "",
    ),
    Planted(
        "the copy is made before the pass that moves the norms",
        "snapshot",
        "components/objectives/nets/ratios.py",
        "        energy = model(x)\n        noise.follow(model, context.step)\n",
        "        noise.follow(model, context.step)\n        energy = model(x)\n",
    ),
    Planted(
        "the generator helps the model",
        "contests",
        "components/objectives/adversarial_ce.py",
        "rival=-value",
        "rival=value",
    ),
    Planted(
        "the flow helps the model",
        "contests",
        "components/objectives/flow_ce.py",
        "rival=-value",
        "rival=value",
    ),
    Planted(
        "noise ratio inverted against a flow",
        "contests",
        "components/objectives/flow_ce.py",
        "softplus(log(r) - log_u.data).mean() + r * softplus(log_u.noise - log(r)).mean()",
        "softplus(-log(r) - log_u.data).mean() + r * softplus(log_u.noise + log(r)).mean()",
    ),
    Planted(
        "the rival's samples are detached",
        "contests",
        "components/objectives/nets/ratios.py",
        "noise.draw(model, batch, count, context)",
        "noise.draw(model, batch, count, context).detach()",
    ),
    Planted(
        "the rival's density is detached",
        "contests",
        "components/objectives/nets/ratios.py",
        "noise.log_prob(x)",
        "noise.log_prob(x).detach()",
    ),
    Planted(
        "log Z with the wrong sign",
        "contests",
        "components/objectives/nets/ratios.py",
        "-energy - log_z",
        "-energy + log_z",
    ),
    Planted(
        "entropy with the wrong sign",
        "contests",
        "components/objectives/adversarial.py",
        "(at_q + q.log_prob(x)).mean()",
        "(at_q - q.log_prob(x)).mean()",
    ),
    Planted(
        "samples of q are detached",
        "contests",
        "components/objectives/adversarial.py",
        "x = q.draw(model, batch, count, context)",
        "x = q.draw(model, batch, count, context).detach()",
    ),
    Planted(
        "penalty on the data alone",
        "contests",
        "components/objectives/adversarial.py",
        "at_data.square().mean() + at_q.square().mean()",
        "at_data.square().mean()",
    ),
    Planted(
        "Stein's operator with the wrong sign",
        "contests",
        "components/objectives/stein.py",
        "(trace - (slope * f)",
        "(trace + (slope * f)",
    ),
    Planted(
        "half the critic's penalty",
        "contests",
        "components/objectives/stein.py",
        "self.l2 * length",
        "self.l2 / 2 * length",
    ),
    Planted(
        "the critic's trace with a matrix not transposed",
        "contests",
        "components/models/nets/critic.py",
        "(self.first.weight @ self.last.weight).T",
        "(self.first.weight @ self.last.weight)",
    ),
    Planted(
        "product with the critic summed over the last axis alone",
        "contests",
        "components/objectives/stein.py",
        "(slope * f).flatten(1).sum(1)",
        "(slope * f).sum(-1).view(len(f), -1)[:, 0]",
    ),
    Planted(
        "the critic follows the model's loss",
        "contests",
        "components/objectives/stein.py",
        "discrepancy(slope, f.detach(), trace.detach())",
        "discrepancy(slope, f, trace)",
    ),
    Planted(
        "the model follows the critic's loss",
        "contests",
        "components/objectives/stein.py",
        "discrepancy(slope.detach(), f, trace)",
        "discrepancy(slope, f, trace)",
    ),
    Planted(
        "the engine gives a rival the model's loss",
        "contests",
        "engine/stage.py",
        "torch.autograd.backward(loss.rival, inputs=self._rivals)",
        "torch.autograd.backward(loss.value, inputs=self._rivals)",
    ),
    Planted(
        "the engine gives a rival both losses",
        "contests",
        "engine/stage.py",
        "torch.autograd.backward(loss.value, inputs=self._others, retain_graph=True)",
        "torch.autograd.backward(loss.value, retain_graph=True)",
    ),
    # snapshot and the adaptive objectives
    Planted(
        "a copy at every step",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "        if self._is_due(step):\n",
        "        if True:\n",
    ),
    Planted(
        "no copy after the first",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "        if self._is_due(step):\n",
        "        if step == 1:\n",
    ),
    Planted(
        "chains on the live model",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "model if self._is_due(context.step) else self.model, start",
        "model, start",
    ),
    Planted(
        "interval off by one",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "step % self.interval == 0",
    ),
    Planted(
        "one step more between copies",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "(step - 1) % (self.interval + 1) == 0",
    ),
    Planted(
        "the copy is trained along",
        "snapshot",
        "components/noise/nets/snapshot.py",
        ".eval().requires_grad_(False)",
        ".eval()",
    ),
    Planted(
        "a copy in training mode",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "copy.deepcopy(model).eval()",
        "copy.deepcopy(model)",
    ),
    Planted(
        "density of the copy upside down",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "return -energy",
        "return energy",
    ),
    Planted(
        "chain ends are forgotten",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "self.starts.keep(x)",
        "pass",
    ),
    Planted(
        "S0 and S1 swapped",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()",
        "self.generator.s1(log_u.noise).mean() - self.generator.s0(log_u.data).mean()",
    ),
    Planted(
        "penalty on the data alone",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "log_u.energy.chunk(2)[0].square().mean()",
    ),
    Planted(
        "half the penalty",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "log_u.energy.square().mean()",
    ),
    Planted(
        "ratios detached in the noise phase",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "self.generator.s0(log_u.noise).mean() -",
        "self.generator.s0(log_u.noise.detach()).mean() -",
    ),
    Planted(
        "another noise ratio",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "generator=Logistic(),",
        "generator=Logistic(noise_ratio=2.0),",
    ),
    Planted(
        "interval not handed on",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "interval=self.interval,",
        "",
    ),
    Planted(
        "spectral vectors are not copied",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "zip(self.model.state_dict().values(), model.state_dict().values(), strict=True)",
        "zip(self.model.parameters(), model.parameters(), strict=True)",
    ),
    Planted(
        "init not handed on",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "            init=self.init,\n",
        "",
    ),
    # control variate
    Planted(
        "Stein's operator with the wrong sign",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "- trace - (slope_u * slope_m).sum(1)",
        "- trace + (slope_u * slope_m).sum(1)",
    ),
    Planted(
        "Stein's operator without the second slope",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return first * of_log_u + second * slope_u.square().sum(1)",
        "return first * of_log_u",
    ),
    Planted(
        "the copy bends nothing",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "trace_m.detach() - trace -",
        "-trace -",
    ),
    Planted(
        "factor with the wrong sign",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "-self.covariance / torch",
        "self.covariance / torch",
    ),
    Planted(
        "factor fitted to the samples at hand",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return beta * steined.mean()",
        "return self.beta * steined.mean()",
    ),
    Planted(
        "a term without a gradient",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return beta * steined.mean()",
        "return beta * steined.mean().detach()",
    ),
    Planted(
        "another direction for the copy",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "curvature(noise, x, v)",
        "curvature(noise, x, draw_probes('rademacher', x, 1, rng))",
    ),
    # jem
    Planted(
        "cross-entropy over the batch",
        "jem",
        "components/objectives/jem.py",
        "torch.nn.functional.cross_entropy(logits, context.labels)",
        "-logits.log_softmax(0).gather(1, context.labels.unsqueeze(1)).mean()",
    ),
    Planted(
        "cross-entropy summed",
        "jem",
        "components/objectives/jem.py",
        "cross_entropy(logits, context.labels)",
        "cross_entropy(logits, context.labels, reduction='sum')",
    ),
    Planted(
        "weight on the other term",
        "jem",
        "components/objectives/jem.py",
        "cross_entropy + self.weight * generative.value",
        "self.weight * cross_entropy + generative.value",
    ),
    Planted(
        "penalty not handed on",
        "jem",
        "components/objectives/jem.py",
        ", energy_l2=self.energy_l2)",
        ")",
    ),
    Planted(
        "marginal energy upside down",
        "jem",
        "components/models/nets/classifier.py",
        "energy = -self.logits(x).logsumexp(1)",
        "energy = self.logits(x).logsumexp(1)",
    ),
    Planted(
        "the conditional's share in the gradient of a chain",
        "jem",
        "components/models/nets/classifier.py",
        "descend(-(logits.softmax(1) @ self.last.weight), passed)",
        "descend(-(logits.softmax(0) @ self.last.weight), passed)",
    ),
    Planted(
        "labels of the step after",
        "jem",
        "engine/batches.py",
        "self._rows(self.labels, step)",
        "self._rows(self.labels, step + 1)",
    ),
    Planted(
        "labels counted from the first stage",
        "jem",
        "engine/stage.py",
        "self.batches.labels_at(step - self.state.stage_began)",
        "self.batches.labels_at(step)",
    ),
    # diffusion_recovery
    Planted(
        "no precision in the chain",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "gradient + self.precision * away",
        "gradient + away",
    ),
    Planted(
        "precision without the square",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "sigma**-2",
        "sigma**-1",
    ),
    Planted(
        "pulled to the clean point",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "TiltedEnergy(model, noisy, self.sigma)",
        "TiltedEnergy(model, batch, self.sigma)",
    ),
    Planted(
        "chains of the model itself",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "TiltedEnergy(model, noisy, self.sigma)",
        "model",
    ),
    Planted(
        "phases swapped",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "gap = energy_data - energy_model",
        "gap = energy_model - energy_data",
    ),
    # exponential_family
    Planted(
        "Laplacian of a power",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "a * (a - 1) * one",
        "a * one",
    ),
    Planted(
        "gradient along one of two factors",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        " + along_other.unsqueeze(2) * units[self.second]",
        "",
    ),
    Planted(
        "normal equations with the wrong sign",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "torch.linalg.solve(a, -b)",
        "torch.linalg.solve(a, b)",
    ),
    Planted(
        "the last block of the data",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "a += torch.einsum",
        "a = torch.einsum",
    ),
    Planted(
        "curvature summed over the data",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "(a / len(self._data))",
        "a",
    ),
    Planted(
        "no 1/2 in the distance",
        "exponential_family",
        "components/objectives/closed_form_score_matching.py",
        "Loss(off.square().sum() / 2",
        "Loss(off.square().sum()",
    ),
]

#: Bugs that are caught in a moment, each by another file.
QUICK = [
    bug
    for bug in BUGS
    if name_of(bug)
    in {
        "mle: phases swapped",
        "exact_mle: no cell in the quadrature",
        "score_matching: trace divided by the dimension",
        "nce: noise ratio inverted",
        "snapshot: interval off by one",
        "diffusion_recovery: no precision in the chain",
    }
]


# What is as right -----------------------------------------------------------------------------------------------------

AS_RIGHT = [
    Planted(
        "the mean of differences",
        "mle",
        "components/objectives/mle.py",
        "gap = energy_data - energy_model",
        "gap = (at_data - at_model).mean()",
    ),
    Planted(
        "weights shifted before they are summed",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "log_z = log_sum(log_p)",
        "log_z = log_sum(log_p - 5) + 5",
    ),
    Planted(
        "two means",
        "score_matching",
        "components/objectives/score_matching.py",
        "(length / 2 - trace).mean()",
        "length.mean() / 2 - trace.mean()",
    ),
    Planted(
        "fewer columns at a time",
        "score_matching",
        "maths/laplacian.py",
        "COLUMNS = 16",
        "COLUMNS = 5",
    ),
    Planted(
        "signs turned round",
        "score_matching",
        "maths/probes.py",
        ".mul_(2).sub_(1)",
        ".mul_(-2).add_(1)",
    ),
    Planted(
        "noise of the other sign",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        ".normal_(generator=context.rng)",
        ".normal_(generator=context.rng).neg_()",
    ),
    Planted(
        "log sigmoids",
        "nce",
        "components/objectives/nce.py",
        "softplus(log(r) - log_u.data).mean() +",
        "-torch.nn.functional.logsigmoid(log_u.data - log(r)).mean() +",
    ),
    Planted(
        "the root of the ratio",
        "generators",
        "components/bregman/hellinger.py",
        "return (log_u / 2).exp()",
        "return log_u.exp().sqrt()",
    ),
    Planted(
        "draws written out",
        "noise",
        "components/noise/nets/gaussian_density.py",
        "torch.addmm(self.mean, xi, self.factor.T)",
        "(self.mean + xi @ self.factor.T)",
    ),
    Planted(
        "cross-entropy",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "(among.logsumexp(1) - log_u.data).mean()",
        "torch.nn.functional.cross_entropy(among, torch.zeros_like(log_u.data).long())",
    ),
    Planted(
        "log sigmoid",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "torch.nn.functional.softplus(-g).mean()",
        "-torch.nn.functional.logsigmoid(g).mean()",
    ),
    Planted(
        "the critic's trace in one sum",
        "contests",
        "components/models/nets/critic.py",
        "((two.slope @ loop) * one.slope).sum(1)",
        "__import__('torch').einsum('bi,ij,bj->b', two.slope, loop, one.slope)",
    ),
    Planted(
        "steps counted from one",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "step % self.interval == 1 % self.interval",
    ),
    Planted(
        "two means of squares",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "sum(energy.square().mean() for energy in log_u.energy.chunk(2))",
    ),
    Planted(
        "cross-entropy written out",
        "jem",
        "components/objectives/jem.py",
        "torch.nn.functional.cross_entropy(logits, context.labels)",
        "-logits.log_softmax(1).gather(1, context.labels.unsqueeze(1)).mean()",
    ),
    Planted(
        "the quadratic written out",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "gradient + self.precision * away",
        "gradient + (x - self.noisy) * self.precision",
    ),
    Planted(
        "normal equations with signs moved",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "torch.linalg.solve(a, -b)",
        "-torch.linalg.solve(a, b)",
    ),
]
