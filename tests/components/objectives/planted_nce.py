"""Bugs planted in `nce`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import contrast, objectives
from tests.planting import Planted

PROOFS = [
    objectives("nce_is_logistic_regression_between_data_and_noise", (2,), 3.0),
    objectives("bregman_with_logistic_is_nce", (2,), 3.0),
    objectives("log_z_stays_zero_when_it_is_not_learnt"),
    contrast("noise_that_could_learn_is_left_alone_by_whoever_has_no_rival", lambda module: module.NCE),
]

BUGS = [
    Planted(
        "noise ratio inverted",
        "nce",
        "components/objectives/nets/ratios.py",
        "softplus(log(r) - self.data).mean() + r * softplus(self.noise - log(r)).mean()",
        "softplus(-log(r) - self.data).mean() + softplus(self.noise + log(r)).mean() / r",
    ),
    Planted(
        "log r is missing",
        "nce",
        "components/objectives/nets/ratios.py",
        "softplus(log(r) - self.data).mean() + r * softplus(self.noise - log(r)).mean()",
        "softplus(-self.data).mean() + r * softplus(self.noise).mean()",
    ),
    Planted(
        "noise without its weight",
        "nce",
        "components/objectives/nets/ratios.py",
        "r * softplus(self.noise - log(r)).mean()",
        "softplus(self.noise - log(r)).mean()",
    ),
    Planted(
        "arguments of softplus with the wrong signs",
        "nce",
        "components/objectives/nets/ratios.py",
        "softplus(log(r) - self.data).mean() + r * softplus(self.noise - log(r)).mean()",
        "softplus(self.data - log(r)).mean() + r * softplus(log(r) - self.noise).mean()",
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
        "-energy - log_z - noise.log_prob(x)",
        "-energy - log_z",
    ),
    Planted(
        "log Z is learnt in any case",
        "nce",
        "components/objectives/nets/contrast.py",
        "nn.Parameter(torch.zeros(()), requires_grad=learn_log_z)",
        "nn.Parameter(torch.zeros(()), requires_grad=True)",
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
]

AS_RIGHT: list[Planted] = [
    Planted(
        "log sigmoids",
        "nce",
        "components/objectives/nets/ratios.py",
        "softplus(log(r) - self.data).mean()",
        "-torch.nn.functional.logsigmoid(self.data - log(r)).mean()",
    )
]
