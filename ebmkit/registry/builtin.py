"""The built-in components. Each is registered by its name, which is also the name of its file.

They use the same hook and the same validation as those of plugins, as offers that are imported when a spec names
them: there are many, but `ebmkit validate` needs few. The panels of the report are in `report/panels/builtin.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ebmkit.registry.first_sentence import first_sentence
from ebmkit.registry.hookspecs import hookimpl
from ebmkit.registry.offer import Offer

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component

#: For each kind, its folder and the names in it.
COMPONENTS = {
    "data": (
        "data",
        "categorical_csv celeba checkerboard cifar10 csv digits eight_gaussians from_model line npz rings spirals "
        "swiss_roll tensor_file text two_moons",
    ),
    "model": (
        "models",
        "banana boltzmann categorical_boltzmann categorical_rbm classifier conv conv_classifier dbm dbn double_well "
        "exponential_family funnel gaussian gaussian_mixture gaussian_rbm grid_mrf hopfield ising latent mixture "
        "mixture_1d mlp mlp_potential mlp_score noised_mixture potts rbm ring sum tempered unet_potential "
        "unet_score",
    ),
    "objective": (
        "objectives",
        "adaptive_bregman adaptive_nce adversarial adversarial_ce bregman closed_form_score_matching "
        "conditional_nce denoising_score_matching diffusion_recovery exact_mle explicit_score_matching "
        "finite_difference_score_matching fisher_rbm flow_ce hutchinson_score_matching jem mle nce "
        "noise_conditional_score_matching pseudo_likelihood ranking_nce ratio_matching score_matching "
        "sde_score_matching sliced_score_matching stein variational_mle",
    ),
    "sampler": (
        "samplers",
        "ancestral annealed_langevin exact exact_map gibbs gibbs_with_gradients hmc icm langevin mala metropolis "
        "mixed_mala nuts parallel_tempering predictor_corrector probability_flow_ode reverse_sde simulated_annealing "
        "underdamped_langevin",
    ),
    "init": ("inits", "data noise patterns persistent points replay training"),
    "noise": ("noise", "conditional_gaussian flow gaussian gaussian_mixture generator parzen snapshot uniform"),
    "schedule": ("schedules", "constant cosine geometric linear ve vp"),
    "bregman": ("bregman", "exponential hellinger itakura_saito kl least_squares logistic power"),
    "metric": (
        "metrics",
        "acceptance accuracy ais calibration denoising energy_gap ess fid fisher_divergence gradient_magnitude "
        "heat_flow inpainting kl_divergence log_likelihood log_z loss_curve mean_energy mmd mode_weights moments "
        "nearest_neighbours ode_log_likelihood ood_auroc probability pseudo_likelihood recall reconstruction "
        "restoration rhat sampling_error score_error sliced_wasserstein total_variation variational_bound verdict",
    ),
    "optimizer": (
        "optimizers",
        "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd",
    ),
    "tracker": ("trackers", "jsonl tensorboard"),
}


@hookimpl
def ebmkit_components() -> Sequence[Offer]:
    """An offer for each name above."""
    return [
        Offer(
            kind,
            name,
            load=partial(_load, f"ebmkit.components.{folder}.{name}", name),
            summarise=partial(_summarise, folder, name),
        )
        for kind, (folder, names) in COMPONENTS.items()
        for name in names.split()
    ]


def _load(module: str, name: str) -> type[Component]:
    """The component that a file defines, not one of the same name that it imports."""
    classes = [value for value in vars(import_module(module)).values() if isinstance(value, type)]
    (cls,) = [cls for cls in classes if cls.__module__ == module and vars(cls).get("component_name") == name]
    return cls


def _summarise(folder: str, name: str) -> str | None:
    return first_sentence(Path(__file__).parents[1] / "components" / folder / f"{name}.py", name)
