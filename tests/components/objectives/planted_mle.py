"""Bugs planted in `mle`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import differences, objectives
from tests.planting import Planted

PROOFS = [
    objectives("mle_from_data_is_contrastive_divergence", (2,)),
    objectives("mle_penalty_is_on_both_phases"),
    objectives("mle_keeps_its_chains_and_leaves_the_model_as_it_was"),
    differences("mle"),
]

BUGS = [
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
        "context.chain(self.sampler, model, starts.draw(batch, context.rng), starts=starts)",
        "context.chain(self.sampler, model, starts.draw(batch, context.rng))",
    ),
    Planted(
        "energies of the model phase summed",
        "mle",
        "components/objectives/mle.py",
        "at_data.mean(), at_model.mean()",
        "at_data.mean(), at_model.sum()",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "the mean of differences",
        "mle",
        "components/objectives/mle.py",
        "gap = energy_data - energy_model",
        "gap = (at_data - at_model).mean()",
    )
]
