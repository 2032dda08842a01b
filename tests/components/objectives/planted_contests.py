"""Bugs planted in objectives that two play, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import IMAGE, contests, differences
from tests.planting import Planted

PROOFS = [
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
]

BUGS = [
    Planted(
        "one length for both players where gradients are clipped",
        "contests",
        "engine/stage.py",
        "None if self._rivals else norm",
        "norm",
    ),
    Planted(
        "the generator helps the model",
        "contests",
        "components/objectives/adversarial_ce.py",
        "Loss(value, {'log_z': contest.log_z.detach(), **log_u.metrics()}, rival=-value)",
        "Loss(value, {'log_z': contest.log_z.detach(), **log_u.metrics()}, rival=value)",
    ),
    Planted(
        "the flow helps the model",
        "contests",
        "components/objectives/flow_ce.py",
        "Loss(value, {'log_z': contest.log_z.detach(), **log_u.metrics()}, rival=-value)",
        "Loss(value, {'log_z': contest.log_z.detach(), **log_u.metrics()}, rival=value)",
    ),
    Planted(
        "noise ratio inverted against a flow",
        "contests",
        "components/objectives/nets/ratios.py",
        "softplus(log(r) - self.data).mean() + r * softplus(self.noise - log(r)).mean()",
        "softplus(-log(r) - self.data).mean() + r * softplus(self.noise + log(r)).mean()",
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
        "trace - (slope * f).flatten(1).sum(1)",
        "trace + (slope * f).flatten(1).sum(1)",
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
]

AS_RIGHT: list[Planted] = [
    Planted(
        "the critic's trace in one sum",
        "contests",
        "components/models/nets/critic.py",
        "((two.slope @ loop) * one.slope).sum(1)",
        "__import__('torch').einsum('bi,ij,bj->b', two.slope, loop, one.slope)",
    )
]
