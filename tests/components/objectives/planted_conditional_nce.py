"""Bugs planted in `conditional_nce`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import contrast
from tests.planting import Planted

PROOFS = [
    contrast("conditional_loss_does_not_see_a_constant", (2,), lambda module: module.ConditionalGaussian),
    contrast("conditional_loss_is_that_of_which_came_first", (2,), lambda module: module.ConditionalGaussian, 3),
    contrast("the_data_minimise_the_conditional_loss_though_the_noise_is_lopsided"),
]

BUGS = [
    Planted(
        "one of two conditional terms",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "difference + noise.log_prob(y, x) - noise.log_prob(x, y)",
        "difference + noise.log_prob(y, x)",
    ),
    Planted(
        "conditional terms swapped",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "difference + noise.log_prob(y, x) - noise.log_prob(x, y)",
        "difference - noise.log_prob(y, x) + noise.log_prob(x, y)",
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
        "torch.nn.functional.softplus(-g)",
        "torch.nn.functional.softplus(g)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "log sigmoid",
        "conditional_nce",
        "components/objectives/conditional_nce.py",
        "torch.nn.functional.softplus(-g).mean()",
        "-torch.nn.functional.logsigmoid(g).mean()",
    )
]
