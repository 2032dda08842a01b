"""Places where a number that is not finite may arise, and what a run says of each."""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple

from .injection import Plant

#: Five steps on points of the plane.
PLANE: dict[str, Any] = {
    "ebmkit": 1,
    "name": "injected",
    "seed": 1,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 32, "test_size": 16},
    "model": {"use": "mlp", "hidden": [4]},
    "objective": {"use": "nce", "noise": {"use": "gaussian"}},
    "train": {"steps": 5, "batch_size": 8, "optimizer": {"use": "adam", "lr": 0.001}},
    "sampler": {"use": "langevin", "steps": 3},
    "init": {"use": "noise"},
    "samples": 8,
    "samples_every": None,
}
IMAGES: dict[str, Any] = {
    **PLANE,
    "data": {"use": "digits", "dequantize": True},
    "model": {"use": "conv", "layers": [{"channels": 2, "stride": 2}]},
}


class Site(NamedTuple):
    """A plant in the run of a spec; who is named, and the words that say when."""

    name: str
    plant: Plant
    who: str
    when: str
    spec: dict[str, Any]
    #: What a run that ends says of it, instead of an error: a rejection that was counted.
    counted: str = ""
    #: Of the command: 4, or 3 for components that are refused before there is a run.
    status: int = 4


def plane(**changes: Any) -> dict[str, Any]:
    return {**PLANE, **changes}


def images(**changes: Any) -> dict[str, Any]:
    return {**IMAGES, **changes}


def objective(use: str, **parameters: Any) -> dict[str, Any]:
    return {"objective": {"use": use, **parameters}}


def chains(use: str, init: str = "replay", **parameters: Any) -> dict[str, Any]:
    """Maximum likelihood by a sampler."""
    return objective("mle", sampler={"use": use, "steps": 3, **parameters}, init={"use": init})


def sampling(model: dict[str, Any], sampler: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A spec without training."""
    left_out = {"data", "objective", "train", "samples_every"}
    base = {name: value for name, value in PLANE.items() if name not in left_out}
    return {**base, "model": model, "sampler": sampler, **changes}


NETS, NOISE = "components.models.nets", "components.noise.nets"
MLP, CONV = f"{NETS}.mlp:MLPEnergy", f"{NETS}.conv:ConvEnergy"
GAUSSIAN = {"use": "gaussian", "mean": [0, 0], "covariance": [[1.0, 0.0], [0.0, 1.0]]}
OF_GAUSSIAN = f"{NETS}.gaussian:GaussianEnergy"
DENSITY = f"{NOISE}.gaussian_density:GaussianDensity"
TRAINED = "after 5 training steps"
SCORES = {
    "model": {"use": "mlp_score", "hidden": [4]},
    "objective": {"use": "noise_conditional_score_matching"},
    "sampler": {"use": "annealed_langevin", "steps_per_level": 1},
}


VALUES = (nan, inf, -inf)


def energies() -> list[Site]:
    """The energy of one state that an objective receives, at the first step, a later one and the last."""
    uses: list[tuple[str, dict[str, Any]]] = [
        ("nce", {}),
        ("ranking_nce", {}),
        ("conditional_nce", {}),
        ("bregman", {"generator": {"use": "kl"}}),
        ("exact_mle", {"points": 9}),
        ("denoising_score_matching", {}),
        ("adversarial_ce", {"generator": {"use": "generator", "latents": 8, "hidden": [4]}}),
        ("stein", {"width": 4}),
        ("diffusion_recovery", {"sampler": {"use": "langevin", "steps": 2}}),
    ]
    found = []
    for turn, (use, parameters) in enumerate(uses):
        for shift in (0, 1) if turn < 6 else (0,):
            value, step, row = VALUES[(turn + shift) % 3], (1, 3, 5)[(turn + 2 * shift) % 3], (0, 2, 7)[shift]
            plant = Plant(f"{MLP}.forward", step, value, row=row)
            spec = plane(**objective(use, **parameters))
            found.append(Site(f"energy {value} under {use}", plant, "model 'mlp'", f"at step {step}", spec))
    return found


MODELS = [
    Site(
        "energy of an image",
        Plant(f"{CONV}.forward", 3, inf, row=9),
        "model 'conv'",
        "at step 3",
        images(),
    ),
    Site(
        "energy under maximum likelihood",
        Plant(f"{MLP}.forward", 4, -inf, row=12),
        "model 'mlp'",
        "at step 4",
        plane(**chains("langevin")),
    ),
    Site(
        "logit of a class that is not the label",
        Plant(f"{NETS}.classifier:ClassifierEnergy.logits", 2, -inf, row=3),
        "model 'classifier'",
        "at step 2",
        images(
            model={"use": "classifier", "hidden": [4], "classes": 10},
            objective={"use": "jem", "weight": 0.0},
        ),
    ),
    Site(
        "gradient in x under denoising score matching",
        Plant(f"{NETS}.mlp:MLPEnergy.forward", 2, nan, row=3, backward=True),
        "objective 'denoising_score_matching'",
        "at step 2",
        plane(**objective("denoising_score_matching")),
    ),
    Site(
        "gradient in the parameters",
        Plant(f"{MLP}.forward", 3, inf, row=1, backward=True),
        "objective 'nce'",
        "at step 3",
        plane(),
    ),
    Site(
        "gradient in the parameters, clipped",
        Plant(f"{MLP}.forward", 3, nan, row=1, backward=True),
        "objective 'nce'",
        "at step 3",
        plane(train={**PLANE["train"], "clip_gradient": 0.1}),
    ),
    Site(
        "score of a network",
        Plant(f"{NETS}.noised_network:NoisedScore.forward", 2, inf, row=4),
        "model 'mlp_score'",
        "at step 2",
        plane(**SCORES),
    ),
    Site(
        "score of a network in a chain",
        Plant(f"{NETS}.noised_network:NoisedScore.forward", 0, nan, row=4),
        "sampler 'annealed_langevin'",
        TRAINED,
        plane(**SCORES),
    ),
    Site(
        "Laplacian by hand",
        Plant(f"{MLP}.laplacian", 2, -inf, row=5, part="2"),
        "objective 'score_matching'",
        "at step 2",
        plane(**objective("score_matching")),
    ),
    Site(
        "curvature along probes",
        Plant("maths.probes:curvature", 2, nan, row=5, part="1"),
        "objective 'sliced_score_matching'",
        "at step 2",
        plane(**objective("sliced_score_matching")),
    ),
    Site(
        "probe",
        Plant("maths.probes:draw_probes", 4, inf, row=0),
        "objective 'hutchinson_score_matching'",
        "at step 4",
        plane(**objective("hutchinson_score_matching")),
    ),
    Site(
        "spectral norm",
        Plant("maths.spectral:SpectralNorm.normalised_weight", 3, nan, row=0),
        "model 'conv'",
        "at step 3",
        images(model={**IMAGES["model"], "spectral_norm": True}),
    ),
    Site(
        "weight at the beginning",
        Plant("components.models.mlp:MLP.build", 0, nan, row=0, part="last.weight"),
        "model 'mlp'",
        "before the first step",
        plane(),
    ),
    Site(
        "log Z of the model",
        Plant("components.objectives.nets.normaliser:normaliser", 2, nan, row=None, part="log_z"),
        "objective 'exact_mle'",
        "at step 2",
        plane(**objective("exact_mle", points=9)),
    ),
    Site(
        "critic",
        Plant(f"{NETS}.critic:Critic.forward", 3, inf, row=2, part="0"),
        "objective 'stein'",
        "at step 3",
        plane(**objective("stein", width=4)),
    ),
    Site(
        "control variate",
        Plant("components.objectives.nets.control_variate:stein", 3, nan, row=None),
        "objective 'adaptive_nce'",
        "at step 3",
        plane(**objective("adaptive_nce", control_variate=True, sampler={"use": "langevin", "steps": 2})),
    ),
]


def log_densities() -> list[Site]:
    """The log density of the noise at one state: at data (the first rows) or at noise samples, for every objective."""
    noises: dict[str, tuple[str, dict[str, Any]]] = {
        "gaussian": (f"{DENSITY}.log_prob", {}),
        "uniform": (f"{NOISE}.uniform:UniformDensity.log_prob", {}),
        "parzen": (f"{NOISE}.parzen:ParzenDensity.log_prob", {}),
        "gaussian_mixture": (f"{NOISE}.gaussian_mixture_density:GaussianMixtureDensity.log_prob", {"components": 2}),
        "generator": (f"{NOISE}.generator:GeneratorDensity.log_prob", {"latents": 8, "hidden": [4]}),
        "flow": (f"{NOISE}.flow:FlowDensity.log_prob", {"transforms": 1, "steps": 2, "hidden": [4]}),
        "conditional_gaussian": (f"{NOISE}.conditional_gaussian:ConditionalGaussian.log_prob", {}),
        "snapshot": (f"{NOISE}.snapshot:SnapshotDensity.log_prob", {"sampler": {"use": "langevin", "steps": 2}}),
    }
    uses = [
        ("nce", "gaussian", nan, 1, 0),
        ("nce", "uniform", -inf, 3, 2),
        ("nce", "uniform", -inf, 5, 9),
        ("nce", "parzen", inf, 3, 20),
        ("nce", "snapshot", inf, 2, 3),
        ("ranking_nce", "gaussian_mixture", -inf, 1, 1),
        ("ranking_nce", "uniform", nan, 4, 30),
        ("ranking_nce", "gaussian", inf, 4, 30),
        ("bregman", "gaussian", -inf, 2, 3),
        ("bregman", "flow", inf, 5, 12),
        ("conditional_nce", "conditional_gaussian", nan, 2, 5),
        ("conditional_nce", "conditional_gaussian", inf, 1, 5),
        ("conditional_nce", "conditional_gaussian", -inf, 3, 30),
        ("adversarial_ce", "generator", -inf, 3, 1),
        ("adversarial_ce", "generator", inf, 2, 10),
        ("adversarial", "generator", nan, 2, 4),
        ("flow_ce", "flow", -inf, 3, 6),
        ("flow_ce", "flow", inf, 1, 9),
    ]
    found = []
    for use, noise, value, step, row in uses:
        method, parameters = noises[noise]
        place = "generator" if use == "adversarial_ce" else "noise"
        spec = plane(**objective(use, **{place: {"use": noise, **parameters}}))
        plant = Plant(method, step, value, row=row)
        found.append(
            Site(f"log density {value} of {noise} under {use}", plant, f"noise '{noise}'", f"at step {step}", spec)
        )
    return found


NOISES = [
    Site(
        "log density at an image",
        Plant(f"{DENSITY}.log_prob", 3, -inf, row=5),
        "noise 'gaussian'",
        "at step 3",
        images(),
    ),
    Site(
        "log density of a copy of the model",
        Plant(f"{NOISE}.snapshot:SnapshotDensity.log_prob", 4, inf, row=2),
        "objective 'adaptive_nce'",
        "at step 4",
        plane(**objective("adaptive_nce", sampler={"use": "langevin", "steps": 2})),
    ),
    Site(
        "log density of a copy of the model, with a generator that hides it",
        Plant(f"{NOISE}.snapshot:SnapshotDensity.log_prob", 4, -inf, row=12),
        "objective 'adaptive_bregman'",
        "at step 4",
        plane(**objective("adaptive_bregman", sampler={"use": "langevin", "steps": 2})),
    ),
    Site(
        "sample of the noise",
        Plant(f"{DENSITY}.sample", 2, inf, row=3),
        "noise 'gaussian'",
        "at step 2",
        plane(),
    ),
    Site(
        "sample of uniform noise, which tanh would hide",
        Plant(f"{NOISE}.uniform:UniformDensity.sample", 2, nan, row=3),
        "noise 'uniform'",
        "at step 2",
        plane(
            model={"use": "mlp", "hidden": [4], "activation": "tanh", "base_scale": None},
            objective={"use": "nce", "noise": {"use": "uniform"}},
        ),
    ),
    Site(
        "sample of conditional noise",
        Plant(f"{NOISE}.conditional_gaussian:ConditionalGaussian.sample", 2, nan, row=3),
        "noise 'conditional_gaussian'",
        "at step 2",
        plane(**objective("conditional_nce", noise={"use": "conditional_gaussian"})),
    ),
    Site(
        "fitted covariance",
        Plant(f"{NOISE}.gaussian_density:whitening", 0, nan, row=0),
        "noise 'gaussian'",
        "before the first step",
        plane(),
    ),
    Site(
        "generator of a Bregman divergence",
        Plant("components.bregman.exponential:Exponential.s0", 3, inf, row=3),
        "objective 'bregman'",
        "at step 3",
        plane(**objective("bregman", generator={"use": "exponential"})),
    ),
    Site(
        "generator that is nan where the mean is of data",
        Plant("components.bregman.kl:KullbackLeibler.s1", 1, nan, row=3),
        "objective 'bregman'",
        "at step 1",
        plane(**objective("bregman", generator={"use": "kl"})),
    ),
]


CHAINS_IN_TRAINING = [
    Site(
        "start of chains in training",
        Plant("components.inits.nets.replay:ReplayStarts.draw", 2, nan, row=3),
        "init 'replay'",
        "at step 2",
        plane(**chains("langevin")),
    ),
    Site(
        "start of persistent chains",
        Plant("components.inits.nets.persistent:PersistentStarts.draw", 3, inf, row=0),
        "init 'persistent'",
        "at step 3",
        plane(**chains("metropolis", "persistent")),
    ),
    *(
        Site(
            f"state of {use} in training",
            Plant(f"components.samplers.{use}:{name}.step", 2, value, row=3, part="0.x", call=2),
            f"sampler '{use}'",
            "at step 2",
            plane(**chains(use)),
        )
        for use, name, value in (
            ("langevin", "Langevin", nan),
            ("underdamped_langevin", "UnderdampedLangevin", inf),
            ("hmc", "HMC", -inf),
        )
    ),
    Site(
        "velocity of underdamped chains",
        Plant("components.samplers.underdamped_langevin:UnderdampedLangevin.step", 2, nan, row=3, part="0.v", call=1),
        "sampler 'underdamped_langevin'",
        "at step 2",
        plane(**chains("underdamped_langevin")),
    ),
    Site(
        "gradient of one number of an image in a chain",
        Plant(f"{CONV}.energy_and_grad", 2, nan, row=3, part="1", call=2),
        "sampler 'langevin'",
        "at step 2",
        images(**chains("langevin")),
    ),
    Site(
        "gradient in a clipped and clamped chain",
        Plant(f"{MLP}.energy_and_grad", 2, inf, row=3, part="1", call=1),
        "sampler 'langevin'",
        "at step 2",
        plane(**chains("langevin", clip_gradient=1.0, clamp=[-3, 3])),
    ),
    Site(
        "energy in a chain whose gradient is finite",
        Plant(f"{MLP}.energy_and_grad", 2, nan, row=3, part="0", call=2),
        "sampler 'langevin'",
        "at step 2",
        plane(**chains("langevin")),
    ),
    *(
        Site(
            f"energy at a proposal of {use} in training",
            Plant(method, 2, value, row=3, call=3, **({"part": "0"} if "grad" in method else {})),
            f"sampler '{use}'",
            "",
            plane(**chains(use, **parameters)),
            counted="0.833% of the steps of chains",
        )
        for use, method, value, parameters in (
            ("metropolis", f"{MLP}.forward", nan, {}),
            ("metropolis", f"{MLP}.forward", -inf, {"center": 0.0}),
            ("mala", f"{MLP}.energy_and_grad", inf, {}),
            ("hmc", f"{MLP}.energy_and_grad", nan, {"leapfrog_steps": 2}),
            ("nuts", f"{MLP}.energy_and_grad", -inf, {"max_depth": 2}),
        )
    ),
    Site(
        "gradient at a proposal of finite energy",
        Plant(f"{MLP}.energy_and_grad", 2, nan, row=3, part="1", call=3),
        "sampler 'mala'",
        "",
        plane(**chains("mala")),
        counted="0.833% of the steps of chains",
    ),
    Site(
        "energy in an exchange of replicas",
        Plant(f"{MLP}.forward", 2, nan, row=3, call=3),
        "sampler 'parallel_tempering'",
        "",
        plane(
            **chains("parallel_tempering", sampler={"use": "metropolis", "steps": 1}, temperatures=[1, 2]),
        ),
        counted="0.833% of the steps of chains",
    ),
    Site(
        "log odds of a Gibbs chain",
        Plant(f"{NETS}.pairwise:Pairwise.log_odds", 2, nan, row=3),
        "sampler 'gibbs'",
        "at step 2",
        plane(
            data={"use": "from_model", "model": {"use": "ising", "shape": [2, 2]}, "size": 32, "test_size": 16},
            model={"use": "boltzmann", "values": "spin"},
            sampler={"use": "gibbs", "steps": 2},
            **chains("gibbs"),
        ),
    ),
    Site(
        "acceptance of a step",
        Plant("components.samplers.mala:MALA.step", 2, nan, row=3, part="1.acceptance", call=3),
        "sampler 'mala'",
        "at step 2",
        plane(**chains("mala")),
    ),
    Site(
        "state that a snapshot draws",
        Plant("components.samplers.langevin:Langevin.step", 3, nan, row=1, part="0.x", call=2),
        "sampler 'langevin'",
        "at step 3",
        plane(**objective("adaptive_nce", sampler={"use": "langevin", "steps": 2})),
    ),
]


def draws(use: str, **parameters: Any) -> dict[str, Any]:
    """Two long chains of a Gaussian, with one step for each draw."""
    return sampling(GAUSSIAN, {"use": use, **parameters}, chains={"count": 2, "warmup": 0, "burn_in": 0}, samples=40)


def ends(use: str, **parameters: Any) -> dict[str, Any]:
    """Eight chains of a Gaussian, of which the ends are kept."""
    return sampling(GAUSSIAN, {"use": use, "steps": 5, **parameters})


GRADIENT = f"{OF_GAUSSIAN}.energy_and_grad"
CHAINS_OF_SAMPLES = [
    Site(
        "start of chains",
        Plant("components.inits.nets.noise_starts:NoiseStarts.draw", 0, nan, row=2),
        "init 'noise'",
        "",
        ends("langevin"),
    ),
    *(
        Site(
            f"state of {use}",
            Plant(f"components.samplers.{use}:{name}.step", 0, value, row=1, part="0.x", call=3),
            f"sampler '{use}'",
            when,
            ends(use),
        )
        for use, name, value, when in (
            ("langevin", "Langevin", nan, "at their step 4"),
            ("underdamped_langevin", "UnderdampedLangevin", inf, "at their step 4"),
            ("mala", "MALA", -inf, "1 of 8 samples are not finite"),  # no trace shows it: such a proposal is rejected
        )
    ),
    Site(
        "gradient of unadjusted chains",
        Plant(GRADIENT, 0, inf, row=1, part="1", call=2),
        "sampler 'langevin'",
        "step 2",
        ends("langevin"),
    ),
    Site(
        "energy of unadjusted chains",
        Plant(GRADIENT, 0, -inf, row=1, part="0", call=4),
        "sampler 'langevin'",
        "step 4",
        ends("langevin"),
    ),
    *(
        Site(
            f"energy at a proposal of {use}",
            Plant(method, 0, value, row=1, call=9, **({"part": "0"} if "grad" in method else {})),
            f"sampler '{use}'",
            "",
            draws(use, **parameters),
            counted="1 of 40 steps",
        )
        for use, method, value, parameters in (
            ("metropolis", f"{OF_GAUSSIAN}.forward", nan, {}),
            ("mala", GRADIENT, -inf, {}),
            ("hmc", GRADIENT, nan, {"leapfrog_steps": 3}),  # in the middle of a trajectory
            ("nuts", GRADIENT, inf, {}),
        )
    ),
    Site(
        "energy at a proposal of short chains",
        Plant(f"{OF_GAUSSIAN}.forward", 0, nan, row=1, call=4),
        "sampler 'metropolis'",
        "",
        ends("metropolis"),
        counted="2.50% of the steps",
    ),
    Site(
        "energy at a proposal of short chains after training",
        Plant(f"{MLP}.forward", 0, nan, row=1, call=4),
        "sampler 'metropolis'",
        "",
        plane(sampler={"use": "metropolis", "steps": 5}),
        counted="2.50% of the steps",
    ),
    Site(
        "gradient at a proposal",
        Plant(GRADIENT, 0, nan, row=1, part="1", call=9),
        "sampler 'hmc'",
        "",
        draws("hmc", leapfrog_steps=2),
        counted="1 of 40 steps",
    ),
    Site(
        "acceptance in a warm-up, which sets the step size",
        Plant("components.samplers.mala:MALA.step", 0, nan, row=1, part="1.acceptance", call=5),
        "sampler 'mala'",
        "warm-up",
        {**draws("mala"), "chains": {"count": 2, "warmup": 20}},
    ),
    Site(
        "masses of a warm-up",
        Plant("chains.warmup:Spread.variance", 0, nan, row=0),
        "sampler 'hmc'",
        "warm-up",
        {**draws("hmc"), "chains": {"count": 2, "warmup": 100}},
    ),
    Site(
        "energy in the burn-in",
        Plant(GRADIENT, 0, nan, row=1, part="0", call=3),
        "sampler 'langevin'",
        "the mean energy of the chains is nan at their draw 1",
        {**draws("langevin"), "chains": {"count": 2, "burn_in": 10}},
    ),
    Site(
        "energy between two draws",
        Plant(GRADIENT, 0, inf, row=1, part="0", call=5),
        "sampler 'langevin'",
        "the mean energy of the chains is nan at their draw 2",
        {**draws("langevin"), "chains": {"count": 2, "burn_in": 0, "thin": 3}},
    ),
    Site(
        "energy at a proposal in the warm-up",
        Plant(GRADIENT, 0, nan, row=1, part="0", call=7),
        "sampler 'hmc'",
        "",
        {**draws("hmc", leapfrog_steps=2), "chains": {"count": 2, "warmup": 30}},
        counted="before the first draw, 1 steps diverged",
    ),
    Site(
        "energy of a replica",
        Plant(f"{OF_GAUSSIAN}.forward", 0, nan, row=1, call=10),
        "sampler 'parallel_tempering'",
        "",
        draws("parallel_tempering", sampler={"use": "metropolis", "steps": 2}, temperatures=[1, 2]),
        counted="1 of 40 steps",
    ),
    Site(
        "log odds",
        Plant(f"{NETS}.pairwise:Pairwise.log_odds", 0, nan, row=1, call=3),
        "sampler 'gibbs'",
        "",
        sampling({"use": "ising", "shape": [2, 2]}, {"use": "gibbs", "steps": 3, "scan": "fixed"}),
    ),
    Site(
        "gradient of discrete proposals",
        Plant(f"{NETS}.pairwise:Pairwise.energy_and_grad", 0, nan, row=1, part="1", call=3),
        "sampler 'gibbs_with_gradients'",
        "",
        sampling({"use": "ising", "shape": [2, 2]}, {"use": "gibbs_with_gradients", "steps": 5}),
        counted="2.50% of the steps",
    ),
    Site(
        "exact draw",
        Plant(f"{OF_GAUSSIAN}.sample_exact", 0, inf, row=1),
        "sampler 'exact'",
        "",
        sampling(GAUSSIAN, {"use": "exact"}),
    ),
]


def reverse(use: str, **parameters: Any) -> dict[str, Any]:
    return plane(
        model={"use": "mlp_score", "hidden": [4], "schedule": {"use": "vp"}},
        objective={"use": "sde_score_matching", "schedule": {"use": "vp"}},
        sampler={"use": use, "schedule": {"use": "vp"}, **parameters},
    )


SCORE = f"{NETS}.noised_network:NoisedScore.forward"
FROM_NOISE = [
    *(
        Site(
            f"score in {use}",
            Plant(SCORE, 0, value, row=1, call=2),
            f"sampler '{use}'",
            TRAINED,
            reverse(use, **parameters),
        )
        for use, value, parameters in (
            ("reverse_sde", nan, {"steps": 4}),
            ("probability_flow_ode", inf, {"steps": 4}),
            ("predictor_corrector", -inf, {"steps": 4}),
        )
    ),
    Site(
        "score in the adaptive solver",
        Plant(SCORE, 0, nan, row=1, call=1),
        "sampler 'probability_flow_ode'",
        TRAINED,
        reverse("probability_flow_ode", tolerance=0.1, steps=2),
    ),
]

DATA = [
    Site(
        "noise level of a schedule",
        Plant("components.schedules.geometric:Geometric.levels", 0, nan, row=0),
        "model 'mlp_score'",
        "schedule 'geometric' has levels that are not positive and decreasing",
        plane(**SCORES),
        status=3,
    ),
    Site(
        "score of a noised test point",
        Plant(SCORE, 0, inf, row=1, call=12),
        "metric 'denoising'",
        TRAINED,
        plane(**{**SCORES, "evaluate": [{"use": "denoising", "sigma": 0.5}]}),
    ),
    Site(
        "training point",
        Plant("components.data.two_moons:TwoMoons.load", 0, nan, row=3, part="x"),
        "data 'two_moons'",
        "train point 3",
        plane(),
        status=3,
    ),
    Site(
        "test point",
        Plant("components.data.two_moons:TwoMoons.load", 0, -inf, row=3, part="x", call=2),
        "data 'two_moons'",
        "test point 3",
        plane(),
        status=3,
    ),
    Site(
        "image after dequantisation",
        Plant("components.data.digits:dequantized", 0, inf, row=3),
        "data 'digits'",
        "train point 3",
        images(data={"use": "digits", "dequantize": True}),
        status=3,
    ),
    Site(
        "batch",
        Plant("engine.batches:Batches.at", 4, nan, row=3),
        "noise 'gaussian'",
        "but it was given states that are not finite",
        plane(),
    ),
    Site(
        "outlier",
        Plant("components.data.eight_gaussians:EightGaussians.load", 0, inf, row=3, part="x"),
        "metric 'ood_auroc'",
        TRAINED,
        plane(evaluate=[{"use": "ood_auroc", "outliers": {"use": "eight_gaussians", "size": 32, "test_size": 16}}]),
    ),
]

OPTIMIZER = [
    Site(
        "learning rate",
        Plant("engine.learning_rate:LearningRate.factor", 3, nan, row=None),
        "optimizer 'adam'",
        "at step 3",
        plane(train={**PLANE["train"], "warmup": 4}),
    ),
]


def measured(**metric: Any) -> dict[str, Any]:
    """A trained model, and one metric at the end."""
    return plane(evaluate=[metric])


def metrics() -> list[Site]:
    """One energy, score or feature of those that a metric averages, sorts or integrates."""
    forward, slope = f"{MLP}.forward", f"{MLP}.energy_and_grad"
    mixture = {"use": "gaussian_mixture", "means": [[-1, 0], [1, 0]]}
    known = {"use": "from_model", "model": mixture, "size": 32, "test_size": 16}
    classifier = {
        "model": {"use": "classifier", "hidden": [4], "classes": 10},
        "objective": {"use": "jem", "weight": 0.0},
    }
    uses: list[tuple[str, Plant, dict[str, Any]]] = [
        ("energy_gap", Plant(forward, 0, nan, row=2, call=3), measured(use="energy_gap", samples=8)),
        ("energy_gap", Plant(forward, 0, inf, row=2, call=3), measured(use="energy_gap", samples=8)),
        ("ood_auroc", Plant(forward, 0, nan, row=2, call=3), measured(use="ood_auroc")),
        ("ood_auroc", Plant(forward, 0, -inf, row=2, call=2), measured(use="ood_auroc")),
        ("log_likelihood", Plant(forward, 0, nan, row=5, call=3), measured(use="log_likelihood")),
        ("kl_divergence", Plant(forward, 0, nan, row=0, call=6), {**measured(use="kl_divergence"), "data": known}),
        (
            "gradient_magnitude",
            Plant("components.metrics.gradient_magnitude:trace", 0, nan),
            measured(use="gradient_magnitude"),
        ),
        (
            "score_error",
            Plant(slope, 0, -inf, row=2, call=4, part="1"),
            measured(use="score_error", target=mixture, points=200),
        ),
        (
            "fisher_divergence",
            Plant(slope, 0, inf, row=2, call=4, part="1"),
            measured(use="fisher_divergence", target=mixture),
        ),
        (
            "mmd",
            Plant("components.metrics.mmd:MMD.measure", 0, nan, row=None, part="mmd"),
            measured(use="mmd", samples=8),
        ),
        (
            "accuracy",
            Plant(f"{NETS}.classifier:ClassifierEnergy.logits", 0, -inf, row=2, call=3),
            images(**classifier, evaluate=[{"use": "accuracy"}]),
        ),
        (
            "calibration",
            Plant(f"{NETS}.classifier:ClassifierEnergy.logits", 0, nan, row=2, call=2),
            images(**classifier, evaluate=[{"use": "calibration"}]),
        ),
    ]
    return [Site(f"{plant.value} in {use}", plant, f"metric '{use}'", TRAINED, spec) for use, plant, spec in uses]


def metrics_without_training() -> list[Site]:
    """The same, of models that need none."""
    lattice = {"use": "ising", "shape": [2, 2]}
    states = {"use": "from_model", "model": lattice, "size": 32, "test_size": 16}
    spins = {**sampling(lattice, {"use": "gibbs", "steps": 3}), "data": states}
    pairwise = f"{NETS}.pairwise:Pairwise"
    uses = [
        ("log_z", Plant(f"{OF_GAUSSIAN}.log_z", 0, inf, row=None), sampling(GAUSSIAN, {"use": "exact"})),
        ("total_variation", Plant(f"{pairwise}.forward", 0, nan, row=3, call=7), spins),
    ]
    return [
        Site(
            f"{plant.value} in {use}",
            plant,
            f"metric '{use}'",
            "",
            {**spec, "evaluate": [{"use": use}]},
        )
        for use, plant, spec in uses
    ]


SITES = [
    *energies(),
    *MODELS,
    *log_densities(),
    *NOISES,
    *CHAINS_IN_TRAINING,
    *CHAINS_OF_SAMPLES,
    *FROM_NOISE,
    *DATA,
    *OPTIMIZER,
    *metrics(),
    *metrics_without_training(),
]
