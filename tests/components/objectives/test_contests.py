"""Objectives that two play: `adversarial_ce`, `flow_ce`, `adversarial` and `stein`, against closed forms."""

import math

import pytest
import torch
from torch import nn
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence

from ebmkit.chains.context import StepContext
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.nets.critic import Critic
from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.components.noise.nets.generator import GeneratorDensity
from ebmkit.components.noise.nets.mixed_density import MixedDensity
from ebmkit.components.objectives.adversarial import Adversarial
from ebmkit.components.objectives.adversarial_ce import AdversarialCE
from ebmkit.components.objectives.flow_ce import FlowCE
from ebmkit.components.objectives.nets.contrastive_contest import ContrastiveContest
from ebmkit.components.objectives.stein import Stein
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.modules.density import Density
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.stage import Stage
from ebmkit.engine.training_state import TrainingState
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def sigma_points(d):
    """Points with mean zero and covariance one, so that means over them of what is quadratic are exact."""
    return torch.cat([torch.eye(d), -torch.eye(d)]) * math.sqrt(d)


class Bowl(nn.Module):
    """`E(x) = a/2 |x - b|^2`."""

    def __init__(self, event, a=0.7, b=0.4):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(a))
        self.b = nn.Parameter(b + torch.linspace(-0.2, 0.2, math.prod(event)))

    def forward(self, x):
        return self.a / 2 * (x.flatten(1) - self.b).square().sum(1)


class Learner(Density):
    """N(mean, std^2 I), which learns, by draws that are given or made."""

    def __init__(self, event, mean=-0.3, log_std=0.2, xi=None):
        super().__init__()
        self.event, self.xi = event, xi
        self.mean = nn.Parameter(mean + torch.linspace(-0.1, 0.3, math.prod(event)))
        self.log_std = nn.Parameter(torch.tensor(log_std))

    def log_prob(self, x):
        white = (x.flatten(1) - self.mean) / self.log_std.exp()
        return -white.square().sum(1) / 2 - len(self.mean) * (self.log_std + math.log(2 * math.pi) / 2)

    def sample(self, n, rng):
        xi = torch.empty(n, len(self.mean)).normal_(generator=rng) if self.xi is None else self.xi
        assert len(xi) == n
        return (self.mean + self.log_std.exp() * xi).view(n, *self.event)


def slopes(value, *parameters):
    return torch.autograd.grad(value, parameters, retain_graph=True)


# --- adversarial_ce and flow_ce: values ------------------------------------------------------------------------------


def contrasts(event, ratio):
    """Each with a rival, and log Z away from zero."""
    mixed = MixedDensity(Learner(event, mean=1.0, log_std=0.5), Learner(event), 0.3)
    yield AdversarialCE(base_share=0.3, noise_ratio=ratio), ContrastiveContest(mixed)
    yield FlowCE(noise_ratio=ratio), ContrastiveContest(Learner(event))


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
@shapes
def test_the_value_is_the_cross_entropy_of_data_and_noise(event, ratio):
    """`-E_data log(1 - exp h) - r E_noise h`, with h the log-probability of noise; not the thesis's `1 - h`."""
    model, batch = Bowl(event), torch.randn(20, *event, generator=generator(0))
    for objective, contest in contrasts(event, ratio):
        with torch.no_grad():
            contest.log_z.fill_(0.6)
        found = objective.loss(model, batch, StepContext(generator(1), contest, 1))
        noise = contest.rival.sample(round(20 * ratio), generator(1))

        def h(x, rival=contest.rival):
            of_noise = ratio * rival.log_prob(x).exp()
            return (of_noise / (of_noise + torch.exp(-model(x) - 0.6))).log()

        right = -(1 - h(batch).exp()).log().mean() - ratio * h(noise).mean()
        printed = -(1 - h(batch)).mean() - ratio * h(noise).mean()
        close(found.value, right)
        assert abs(float((found.value - printed).detach())) > 0.1
        close(found.rival, -found.value)
        close(found.metrics["log_z"], torch.tensor(0.6))
        log_u = (-model(batch) - 0.6 - contest.rival.log_prob(batch)).detach()
        close(found.metrics["log_ratio_data"], log_u.mean())
        close(found.metrics["log_ratio_noise"], (-model(noise) - 0.6 - contest.rival.log_prob(noise)).mean().detach())


@shapes
def test_adversarial_ce_mixes_its_base_with_its_generator(event):
    """`base_share` is that of the base, which is not trained."""
    d, data = math.prod(event), torch.randn(50, *event, generator=generator(0)) * 2 + 1
    base = GaussianNoise(inflate=2.0)
    torch.manual_seed(0)
    objective = AdversarialCE(noise=base, generator=GeneratorNoise(latents=5, hidden=(4,)), base_share=0.2)
    rival = objective.extras(event, data).rival
    assert isinstance(rival.other, GeneratorDensity)
    law = MultivariateNormal(data.flatten(1).mean(0), 2 * torch.cov(data.flatten(1).T).reshape(d, d))
    p = 0.2 * law.log_prob(data.flatten(1)).exp() + 0.8 * rival.other.log_prob(data).exp()
    torch.testing.assert_close(rival.log_prob(data), p.log(), rtol=1e-9, atol=1e-9)


def test_the_base_of_a_mixture_is_not_moved():
    """Even one that could learn."""
    mixed = MixedDensity(Learner((2,)), Learner((2,)), 0.5)
    assert not any(parameter.requires_grad for parameter in mixed.base.parameters())
    assert all(parameter.requires_grad for parameter in mixed.other.parameters())


# --- adversarial_ce and flow_ce: slopes of both players --------------------------------------------------------------


def slopes_by_hand(model, log_z, batch, drawn, own, learner, base, share, ratio):
    """Those of J in b, a, log Z, and in the mean and log std of the learner, written out.

    Noise has the density `p_n = share p_base + (1 - share) q`, and w(x) is the part of q in it. J is made of
    `G = -E - log Z - log p_n - log r`. The learner moves it by its density, `dlog q`, and by those draws that are its
    own: `dx/dmean = 1`, `dx/dlog std = x - mean`.
    """
    a, b = model.a.detach(), model.b.detach()
    m, s, d = learner.mean.detach(), learner.log_std.detach().exp(), len(learner.mean)
    m0, s0 = base.mean.detach(), base.log_std.detach().exp()
    found = {"b": torch.zeros(d), "a": 0.0, "log_z": 0.0, "mean": torch.zeros(d), "log_std": 0.0}
    for x, sign, weight in ((batch.flatten(1), -1, 1 / len(batch)), (drawn.flatten(1), 1, ratio / len(drawn))):
        away, white = x - b, (x - m) / s
        p0, q = (Normal(mean, std).log_prob(x).sum(1).exp() for mean, std in ((m0, s0), (m, s)))
        p_n = share * p0 + (1 - share) * q
        w = (1 - share) * q / p_n
        g = -a / 2 * away.square().sum(1) - log_z - p_n.log() - math.log(ratio)
        force = sign * torch.sigmoid(sign * g) * weight  # d softplus(sign G) / dG
        found["b"] += force @ (a * away)
        found["a"] += force @ (-away.square().sum(1) / 2)
        found["log_z"] += -force.sum()
        found["mean"] += (force * -w) @ (white / s)
        found["log_std"] += (force * -w) @ (white.square().sum(1) - d)
        if sign == 1:
            moved = -a * away + (1 - w)[:, None] * (x - m0) / s0**2 + w[:, None] * white / s  # dG/dx
            found["mean"] += (force * own) @ moved
            found["log_std"] += (force * own) @ (moved * (x - m)).sum(1)
    return found


@pytest.mark.parametrize("ratio", [1.0, 2.5])
@shapes
def test_both_players_of_flow_ce_have_the_slopes_of_the_closed_form(event, ratio):
    """The model goes down, the noise goes up; draws and density both count."""
    model, learner = Bowl(event), Learner(event)
    contest = ContrastiveContest(learner)
    with torch.no_grad():
        contest.log_z.fill_(0.6)
    batch = torch.randn(20, *event, generator=generator(0))
    found = FlowCE(noise_ratio=ratio).loss(model, batch, StepContext(generator(1), contest, 1))
    drawn = learner.sample(round(20 * ratio), generator(1)).detach()
    expected = slopes_by_hand(model, 0.6, batch, drawn, torch.ones(len(drawn)), learner, learner, 0.0, ratio)
    for got, name in zip(slopes(found.value, model.b, model.a, contest.log_z), ("b", "a", "log_z"), strict=True):
        close(got, expected[name])
    for got, name in zip(slopes(found.rival, learner.mean, learner.log_std), ("mean", "log_std"), strict=True):
        close(got, -expected[name])


@pytest.mark.parametrize("ratio", [1.0, 2.5])
@shapes
def test_both_players_of_adversarial_ce_have_the_slopes_of_the_closed_form(event, ratio):
    d, count = math.prod(event), round(20 * ratio)
    xi = [torch.randn(count, d, generator=generator(seed)) for seed in (2, 3)]
    model, base, learner = Bowl(event), Learner(event, 1.0, 0.5, xi[0]), Learner(event, xi=xi[1])
    contest = ContrastiveContest(MixedDensity(base, learner, 0.3))
    with torch.no_grad():
        contest.log_z.fill_(0.6)
    batch = torch.randn(20, *event, generator=generator(0))
    found = AdversarialCE(base_share=0.3, noise_ratio=ratio).loss(model, batch, StepContext(generator(1), contest, 1))
    own = torch.empty(count).uniform_(generator=generator(1)) >= 0.3  # the coins
    assert 0 < int(own.sum()) < count
    drawn = torch.where(own[:, None], *(part.sample(count, None).detach().flatten(1) for part in (learner, base)))
    expected = slopes_by_hand(model, 0.6, batch, drawn, own.double(), learner, base, 0.3, ratio)
    for got, name in zip(slopes(found.value, model.b, model.a, contest.log_z), ("b", "a", "log_z"), strict=True):
        close(got, expected[name])
    for got, name in zip(slopes(found.rival, learner.mean, learner.log_std), ("mean", "log_std"), strict=True):
        close(got, -expected[name])


@shapes
def test_flow_ce_rests_when_model_and_noise_are_the_data(event):
    """Then G = 0 everywhere, and J = 2 log 2; on draws whose second moments are exact, nobody moves."""
    d = math.prod(event)
    model, learner = Bowl(event), Learner(event, xi=sigma_points(d))
    with torch.no_grad():
        model.b.copy_(learner.mean)
        model.a.copy_((-2 * learner.log_std).exp())
    contest = ContrastiveContest(learner)
    with torch.no_grad():
        contest.log_z.copy_(d / 2 * math.log(2 * math.pi) + d * learner.log_std)
    batch = learner.sample(2 * d, None).detach()
    found = FlowCE(noise_ratio=1.0).loss(model, batch, StepContext(generator(1), contest, 1))
    close(found.value.detach(), torch.tensor(2 * math.log(2)))
    for slope in (
        *slopes(found.value, model.b, model.a, contest.log_z),
        *slopes(found.rival, learner.mean, learner.log_std),
    ):
        close(slope, torch.zeros_like(slope))


# --- adversarial -----------------------------------------------------------------------------------------------------


@shapes
def test_the_bound_is_log_z_when_q_is_the_model(event):
    """Every single draw has `-E - log q = log Z`; the lecture's fourth line has Z in the place of log Z."""
    d, covariance = math.prod(event), random_covariance(math.prod(event), 0)
    model = Gaussian(mean=(0.4,) * d, covariance=rows(covariance), shape=event).build(event)
    q = GaussianNoise(mean=(0.4,) * d, covariance=rows(covariance)).build(event, torch.zeros(3, *event))
    batch = torch.randn(7, *event, generator=generator(0))
    found = Adversarial().loss(_trainable(model), batch, StepContext(generator(1), Contest(_trainable(q)), 1))
    log_z = (d * math.log(2 * math.pi) + float(torch.logdet(covariance))) / 2
    assert float(found.metrics["log_z_bound"]) == pytest.approx(log_z, abs=1e-10)
    assert abs(float(found.metrics["log_z_bound"]) - math.exp(log_z)) > 0.5


def _trainable(module):
    """A density of buffers has a parameter all the same, so that there is something to differentiate."""
    module.unused = nn.Parameter(torch.zeros(()))
    return module


@shapes
def test_the_bound_is_below_log_z_by_the_divergence(event):
    """`log Z - bound = KL(q || p)`, exactly, on draws whose second moments are exact."""
    d = math.prod(event)
    model, q = Bowl(event), Learner(event, xi=sigma_points(d))
    batch = torch.randn(2 * d, *event, generator=generator(0))
    found = Adversarial().loss(model, batch, StepContext(generator(1), Contest(q), 1))
    p = Independent(Normal(model.b, model.a.rsqrt().expand(d)), 1)
    kl = kl_divergence(Independent(Normal(q.mean, q.log_std.exp().expand(d)), 1), p).detach()
    log_z = (d / 2 * (2 * math.pi / model.a).log()).detach()
    assert float(kl) > 0.1
    close(found.metrics["log_z_bound"], log_z - kl)
    close(found.rival.detach(), kl - log_z)


@pytest.mark.parametrize("ratio", [1, 3])
@shapes
def test_both_players_of_adversarial_have_the_slopes_of_the_closed_form(event, ratio):
    d = math.prod(event)
    model, q = Bowl(event), Learner(event)
    batch = torch.randn(20, *event, generator=generator(0))
    objective = Adversarial(noise_ratio=ratio, energy_l2=0.3)
    found = objective.loss(model, batch, StepContext(generator(1), Contest(q), 1))
    x, y = batch.flatten(1), q.sample(20 * ratio, generator(1)).detach().flatten(1)
    a, b, m = model.a.detach(), model.b.detach(), q.mean.detach()
    lengths = [(at - b).square().sum(1) for at in (x, y)]
    up, down = (a / 2 * length for length in lengths)
    close(found.value.detach(), up.mean() - down.mean() + 0.3 * (up.square().mean() + down.square().mean()))
    close(found.metrics["gap"], up.mean() - down.mean())
    close(found.metrics["energy_data"], up.mean())
    close(found.metrics["energy_model"], down.mean())
    data, drawn = (1 + 0.6 * up) / 20, (-1 + 0.6 * down) / (20 * ratio)  # dvalue/dE
    slope_b, slope_a = slopes(found.value, model.b, model.a)
    close(slope_b, -a * (data @ (x - b) + drawn @ (y - b)))
    close(slope_a, (data @ lengths[0] + drawn @ lengths[1]) / 2)
    slope_m, slope_s = slopes(found.rival, q.mean, q.log_std)  # of E_q[E] - H(q), whose entropy is d log s + ...
    close(slope_m, a * (y - b).mean(0))
    close(slope_s, a * ((y - b) * (y - m)).sum(1).mean() - d)


@shapes
def test_q_descends_the_divergence_to_the_model(event):
    """The rival's slopes are those of KL(q || p), which torch knows."""
    d = math.prod(event)
    model, q = Bowl(event), Learner(event, xi=sigma_points(d))
    batch = torch.randn(2 * d, *event, generator=generator(0))
    found = Adversarial().loss(model, batch, StepContext(generator(1), Contest(q), 1))
    p = Independent(Normal(model.b.detach(), model.a.detach().rsqrt().expand(d)), 1)
    kl = kl_divergence(Independent(Normal(q.mean, q.log_std.exp().expand(d)), 1), p)
    for got, wanted in zip(slopes(found.rival, q.mean, q.log_std), slopes(kl, q.mean, q.log_std), strict=True):
        close(got, wanted)


# --- stein -----------------------------------------------------------------------------------------------------------


class Affine(nn.Module):
    """A critic `f(x) = A x + c`, whose trace is that of A."""

    def __init__(self, a, c):
        super().__init__()
        self.a, self.c = nn.Parameter(a.clone()), nn.Parameter(c.clone())

    def forward(self, x):
        return (x.flatten(1) @ self.a.T + self.c).view_as(x), self.a.trace().expand(len(x))


@shapes
def test_the_trace_of_a_critic_is_that_of_its_jacobian(event):
    torch.manual_seed(0)
    critic, x = Critic(event, 7), torch.randn(6, *event, generator=generator(0))
    f, trace = critic(x)
    assert f.shape == x.shape

    def flat(row):
        return critic(row.view(1, *event))[0].flatten()

    for k in range(6):
        jacobian = torch.autograd.functional.jacobian(flat, x[k].flatten())
        close(trace[k].detach(), jacobian.trace())


@shapes
def test_stein_by_hand(event):
    """Both losses with autograd's own derivatives, and that each player is a constant to the other."""
    torch.manual_seed(0)
    model, batch = MLP(hidden=(5,)).build(event), torch.randn(9, *event, generator=generator(0))
    objective = Stein(l2=0.7, width=6)
    contest = objective.extras(event, batch)
    found = objective.loss(model, batch, StepContext(generator(1), contest, 1))
    total, lengths = 0.0, 0.0
    for row in batch:
        x = row[None].clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        f = contest.rival(x)[0].flatten()
        for i in range(len(f)):
            (along,) = torch.autograd.grad(f[i], x, create_graph=True)
            total = total + along.flatten()[i] - slope.flatten()[i] * f[i]
        lengths = lengths + f.square().sum()
    discrepancy, length = total / 9, lengths / 9
    close(found.value, discrepancy)
    close(found.rival, 0.7 * length - discrepancy)  # the penalty holds the critic back
    close(found.metrics["critic_length"], length.detach())
    learnt = [p for name, p in model.named_parameters() if name != "last.bias"]
    for got, wanted in zip(slopes(found.value, *learnt), slopes(discrepancy, *learnt), strict=True):
        close(got, wanted)
    critics = list(contest.rival.parameters())
    for got, wanted in zip(slopes(found.rival, *critics), slopes(0.7 * length - discrepancy, *critics), strict=True):
        close(got, wanted)
    assert all(
        slope is None for slope in torch.autograd.grad(found.value, critics, allow_unused=True, retain_graph=True)
    )
    assert all(slope is None for slope in torch.autograd.grad(found.rival, learnt, allow_unused=True))


@shapes
def test_no_critic_tells_a_model_from_itself(event):
    """Stein's identity for a Gaussian and any affine critic, on points whose second moments are exact."""
    d = math.prod(event)
    covariance, a = random_covariance(d, 0), torch.randn(d, d, generator=generator(1))
    model = Gaussian(mean=(0.4,) * d, covariance=rows(covariance), shape=event).build(event)
    batch = (0.4 + sigma_points(d) @ torch.linalg.cholesky(covariance).T).view(-1, *event)
    contest = Contest(Affine(a, torch.linspace(-1, 2, d)))
    found = Stein().loss(model, batch, StepContext(generator(1), contest, 1))
    assert abs(float(found.value.detach())) < 1e-10
    narrow = Gaussian(mean=(0.4,) * d, covariance=rows(covariance / 2), shape=event).build(event)
    found = Stein().loss(narrow, batch, StepContext(generator(1), contest, 1))  # E s'f = -tr(2 C^-1 A C) = -2 tr A
    close(found.value.detach(), -a.trace())


def test_no_critic_tells_a_bent_density_from_itself():
    """Stein's identity on a line, for the network and a density that is no Gaussian, by quadrature."""
    torch.manual_seed(0)
    model, critic = MLP(hidden=(8,), base_scale=0.7).build((1,)), Critic((1,), 16)
    with torch.no_grad():
        for parameter in critic.parameters():
            parameter.mul_(2)
    x = torch.linspace(-9, 9, 4001)[:, None]
    weights = torch.softmax(-model(x), 0).detach()
    found = [
        Stein().loss(model, row[None], StepContext(generator(0), Contest(critic), 1)).value.detach()
        for row in x[1500:1503]
    ]
    f, trace = (part.detach() for part in critic(x))
    point = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(point).sum(), point)
    each = trace - (slope * f)[:, 0]
    close(torch.stack(found), each[1500:1503])
    assert abs(float(weights @ each)) < 1e-10
    assert float(weights @ each.abs()) > 0.1  # not by weakness


@pytest.mark.parametrize("l2", [0.5, 2.0])
@shapes
def test_the_best_critic_is_the_difference_of_scores(event, l2):
    """(s - s_data) / (2 l2): it does not want to move, and is worth the Fisher divergence over 4 l2."""
    d = math.prod(event)
    precisions = [torch.linalg.inv(random_covariance(d, seed)) for seed in (0, 1)]  # of model and data
    means = [torch.full((d,), 0.4), torch.linspace(-1, 1, d)]
    model = Gaussian(mean=tuple(means[0].tolist()), covariance=rows(random_covariance(d, 0)), shape=event).build(event)
    batch = means[1] + sigma_points(d) @ torch.linalg.cholesky(random_covariance(d, 1)).T
    turn, shift = precisions[1] - precisions[0], precisions[0] @ means[0] - precisions[1] @ means[1]
    best = Affine(turn / (2 * l2), shift / (2 * l2))
    found = Stein(l2=l2).loss(model, batch.view(-1, *event), StepContext(generator(1), Contest(best), 1))
    at_mean = turn @ means[1] + shift
    fisher = (turn @ random_covariance(d, 1) @ turn.T).trace() + at_mean.square().sum()
    close(found.rival.detach(), -fisher / (4 * l2))
    close(found.value.detach(), fisher / (2 * l2))
    for slope in slopes(found.rival, best.a, best.c):
        torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-9)


# --- the engine ------------------------------------------------------------------------------------------------------

CONTESTS = [
    {"use": "adversarial_ce", "generator": {"use": "generator", "latents": 8, "hidden": [4]}},
    {"use": "flow_ce", "noise": {"use": "flow", "transforms": 1, "bins": 3, "hidden": [4], "steps": 1}},
    {"use": "adversarial", "noise": {"use": "generator", "latents": 8, "hidden": [4]}},
    {"use": "stein", "width": 4},
]


@pytest.mark.parametrize("clip", [None, 1e-3], ids=["whole", "clipped"])
@pytest.mark.parametrize("objective", CONTESTS, ids=lambda o: o["use"])
def test_every_player_follows_its_own_loss_alone(objective, clip):
    """And where gradients are clipped, each is by its own length."""
    plan = load_spec(
        {
            "ebmkit": 1,
            "dtype": "float64",
            "data": {"use": "two_moons", "size": 50, "test_size": 50},
            "model": {"use": "mlp", "hidden": [4]},
            "objective": objective,
            "train": {"steps": 1, "batch_size": 10, "optimizer": {"use": "sgd", "lr": 0.1}, "clip_gradient": clip},
        }
    )
    parts = build(plan)
    view = assemble(plan, parts)
    history, state = view.history, TrainingState(plan, parts, view.streams, view.history)
    stage = Stage(view, state)
    loss = plan.spec.objective.loss(parts.model, stage.batch(1), StepContext(generator(0), parts.extras, 1))
    rivals = [p for p in parts.extras.rival.parameters() if p.requires_grad]
    others = [p for name, p in parts.extras.named_parameters() if not name.startswith("rival.")]
    others += [p for p in parts.model.parameters() if p.requires_grad]
    wanted = []
    for what, players in ((loss.value, others), (loss.rival, rivals)):
        slopes = torch.autograd.grad(what, players, retain_graph=True, allow_unused=True)
        length = torch.cat([slope.flatten() for slope in slopes if slope is not None]).norm()
        wanted += [slope if slope is None or clip is None else slope * clip / length for slope in slopes]
        assert clip is None or length > clip
    before = [p.detach().clone() for p in (*others, *rivals)]
    stage.differentiate(loss)
    norm = stage.gradient_norm()
    history.add(1, *stage.numbers(loss, StepContext(generator(0), parts.extras, 1), norm))
    stage.update(1, norm)
    moved = 0
    for p, old, slope in zip((*others, *rivals), before, wanted, strict=True):
        torch.testing.assert_close(p.detach(), old if slope is None else old - 0.1 * slope, rtol=1e-12, atol=1e-12)
        moved += slope is not None and bool(slope.any())
    assert moved > len(others) // 2
