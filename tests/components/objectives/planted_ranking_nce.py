"""Bugs planted in `ranking_nce`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import contrast
from tests.planting import Planted

PROOFS = [
    contrast("ranking_is_the_cross_entropy_of_a_softmax", (2,), 5),
    contrast("ranking_does_not_see_a_constant", (2,)),
    contrast("the_data_minimise_the_ranking_loss"),
]

BUGS = [
    Planted(
        "softmax without the noise's density",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "log_u = contrast.log_ratios(model, batch, self.negatives * len(batch), context)",
        "log_u = contrast.log_ratios(model, batch, self.negatives * len(batch), context)\n"
        "data, noise = (-log_u.energy).split([len(batch), self.negatives * len(batch)])\n"
        "log_u = log_u._replace(data=data, noise=noise)",
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
]

AS_RIGHT: list[Planted] = [
    Planted(
        "cross-entropy",
        "ranking_nce",
        "components/objectives/ranking_nce.py",
        "(among.logsumexp(1) - log_u.data).mean()",
        "torch.nn.functional.cross_entropy(among, torch.zeros_like(log_u.data).long())",
    )
]
