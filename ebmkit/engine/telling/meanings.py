"""What recorded numbers mean, in a few words, for the places that show them."""

from __future__ import annotations

from ebmkit.language.plan import Plan
from ebmkit.registry.reference import result_meanings

#: Statistics of training. Those of objectives that need no explanation, such as `cross_entropy`, are left out.
STATISTICS = {
    "gradient_norm": "norm of the gradient of the loss in all parameters",
    "energy_data": "mean energy of the data in a batch",
    "energy_model": "mean energy of the model's samples in training",
    "gap": "energy_data minus energy_model",
    "v": "norm of dE/dx, averaged over the chains of training and their steps",
    "chain_acceptance": "mean probability that the chains of training accept a proposal",
    "chain_divergence": "share of proposals in training that diverged",
    "buffer_age": "mean number of training steps since entries of the replay buffer were last used",
    "log_z": "learned log normaliser",
    "rival_loss": "loss of the second network",
    "trace": "mean trace of the second derivatives of the energy, or its estimate",
    "excess": "how far the loss is above its minimum",
    "mass_at_edge": "share of the mass at the edge of the grid",
    "control_variate": "factor of the control variate",
    "critic_length": "mean norm of the critic",
    "found": "share of data points ranked above all noise",
    "unweighted": "the loss without the weights of the noise levels",
}


def meanings(plan: Plan) -> dict[str, str]:
    """The meaning of every statistic and of every result of the metrics of a plan, by name."""
    found = dict(STATISTICS)
    for metric in plan.spec.evaluate:
        found |= result_meanings(metric)
    return found
