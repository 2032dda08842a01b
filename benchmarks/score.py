"""What a step of training, and a step of sampling, costs beside the network alone.

    .venv/bin/python benchmarks/score.py [training] [sampling] [twins] [--json FILE]

Tables go to the terminal as Markdown. The unit is the limit: the bare network F, which is told the noise level, once
forward for every score that a sampler's step takes, and for training once forward and once backward to all weights. A
training step is the noise, the loss and its backward pass, without the optimizer. Everybody runs in one process on one
thread and takes turns; a figure is the median over the turns of the ratio to the limit's turn, of CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from measuring import Report, run_sections, seconds, take_turns
from torch import Generator, Tensor

from ebmkit.chains.chain import run_chain
from ebmkit.chains.context import StepContext
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.unet_score import UNetScore
from ebmkit.components.objectives.noise_conditional_score_matching import NoiseConditionalScoreMatching
from ebmkit.components.objectives.sde_score_matching import SDEScoreMatching
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.samplers.predictor_corrector import PredictorCorrector
from ebmkit.components.samplers.probability_flow_ode import ProbabilityFlowODE
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.kinds import Model, Objective, Sampler
from ebmkit.testing.setting import small_setting

TURNS, TURN = 25, 0.05  # how many, and about how many seconds the limit's turn takes
SIGMAS, TIME = Geometric(sigma_max=5.0, count=10), VP()
#: Shapes of states, and how many of them.
PLANE, FIFTY, IMAGES = ((2,), (256, 4096)), ((50,), (256, 4096)), ((1, 8, 8), (64,))

Work = Callable[[], object]


def networks(event: tuple[int, ...], schedule: Any) -> dict[str, Model]:
    if len(event) == 3:
        return {"U-Net": UNetScore(schedule=schedule)}
    return {"MLP": MLPScore(schedule=schedule)}


def built(model: Model, event: tuple[int, ...], points: Tensor) -> Any:
    torch.manual_seed(0)
    module: Any = model.build(event)
    module.prepare(small_setting(module, event, data=points))
    return module


def turns_of(works: dict[str, Work]) -> dict[str, dict[str, float]]:
    """With as many units a turn as take the limit about TURN seconds."""
    for work in works.values():
        for _ in range(3):
            work()
    units = max(1, round(TURN / max(1e-6, min(seconds(works["limit"])[1] for _ in range(5)))))

    def often(work: Work) -> Work:
        def turn() -> None:
            for _ in range(units):
                work()

        return turn

    return take_turns({name: often(work) for name, work in works.items()}, TURNS, units)


def training(report: Report) -> None:
    """A loss and its gradient, against forward and backward pass of the network."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    cases: list[tuple[str, Any, Objective]] = [
        ("noise levels", SIGMAS, NoiseConditionalScoreMatching(schedule=SIGMAS)),
        ("vp", TIME, SDEScoreMatching(schedule=TIME)),
    ]
    for event, counts in (PLANE, FIFTY, IMAGES):
        for count in counts:
            x = torch.randn(count, *event)
            for words, schedule, objective in cases:
                for name, model in networks(event, schedule).items():
                    module, rng = built(model, event, x), Generator()
                    sigma = torch.rand(count).add_(0.1)

                    def bare(module: Any = module, x: Tensor = x, sigma: Tensor = sigma) -> None:
                        module.network(x, sigma, None).sum().backward()

                    def ours(module: Any = module, x: Tensor = x, rng: Any = rng, objective: Any = objective) -> None:
                        objective.loss(module, x, StepContext(rng, None, 1)).value.backward()

                    title = f"{name} on {event}, {count} points, {words}"
                    rows[title] = turns_of({"limit": bare, "ours": ours})
                    report.aim(f"training: {title}", rows[title]["ours"]["cpu_x_limit"], at_most=1.1)
    report.table("A training step", rows)


def sampling(report: Report) -> None:
    """A step of every sampler, against as many forward passes as it takes scores."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    steps = 20
    samplers: list[tuple[str, Any, Sampler, int]] = [
        ("annealed_langevin", SIGMAS, AnnealedLangevin(schedule=SIGMAS, steps_per_level=2, denoise=False), steps),
        ("reverse_sde", TIME, ReverseSDE(steps=steps, denoise=False), steps),
        ("predictor_corrector", TIME, PredictorCorrector(steps=steps, denoise=False), 2 * steps),
        ("probability_flow_ode", TIME, ProbabilityFlowODE(steps=steps, denoise=False), 2 * steps),
    ]
    for event, counts in (PLANE, FIFTY, IMAGES):
        for count in counts:
            x = torch.randn(count, *event)
            for words, schedule, sampler, scores in samplers:
                for name, model in networks(event, schedule).items():
                    module, rng = built(model, event, x).eval().requires_grad_(False), Generator()

                    def bare(module: Any = module, x: Tensor = x, scores: int = scores) -> None:
                        sigma = torch.ones(1)
                        with torch.no_grad():
                            for _ in range(scores):
                                module.network(x, sigma, None)

                    def ours(module: Any = module, x: Tensor = x, rng: Any = rng, sampler: Any = sampler) -> None:
                        run_chain(sampler, module, x, rng)

                    title = f"{name} on {event}, {count} chains, {words}"
                    rows[title] = turns_of({"limit": bare, "ours": ours})
                    report.aim(f"sampling: {title}", rows[title]["ours"]["cpu_x_limit"], at_most=1.1)
    report.table("Sampling, a whole chain", rows)


def twins(report: Report) -> None:
    """A score by a potential, which goes forward and backward, against one by its twin."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for event, counts in (PLANE, FIFTY):
        for count in counts:
            x, t = torch.randn(count, *event), 0.5
            score, potential = (built(model(schedule=TIME), event, x) for model in (MLPScore, MLPPotential))

            def limit(module: Any = score, x: Tensor = x, t: float = t) -> None:
                with torch.no_grad():
                    module.score(x, t)

            potential.requires_grad_(False)

            def ours(module: Any = potential, x: Tensor = x, t: float = t) -> None:
                with torch.no_grad():
                    module.score(x, t)

            rows[f"MLP on {event}, {count} states"] = turns_of({"limit": limit, "ours": ours})
    report.table("The score of mlp_potential compared with mlp_score", rows)


if __name__ == "__main__":
    assert __doc__
    run_sections(__doc__.splitlines()[0], {"training": training, "sampling": sampling, "twins": twins})
