"""Schedules: levels by their formulas, processes by their equations, the diameter by looking at every pair."""

import dataclasses
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ebmkit.components.schedules import diameter as module
from ebmkit.components.schedules.constant import Constant
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.diameter import diameter
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.linear import Linear
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.maths.process import least_noise, level_of, log_sigma, rates, rates_at, signal_and_noise, time_of
from tests.components.diffusions import PROCESSES
from tests.components.oracles import EVENTS, generator

NAMES = list(PROCESSES)


def grid(schedule, n=23):
    return torch.linspace(schedule.earliest, schedule.horizon, n)


# Levels


@pytest.mark.parametrize(("most", "least", "count"), [(50.0, 0.01, 10), (3.0, 0.5, 2), (1.0, 0.2, 7)])
def test_levels(most, least, count):
    geometric = Geometric(sigma_max=most, sigma_min=least, count=count)
    linear = Linear(sigma_max=most, sigma_min=least, count=count)
    by_ratio = [most * (least / most) ** (i / (count - 1)) for i in range(count)]
    by_step = [most - (most - least) * i / (count - 1) for i in range(count)]
    torch.testing.assert_close(geometric.levels(), torch.tensor(by_ratio), rtol=1e-12, atol=0)
    torch.testing.assert_close(linear.levels(), torch.tensor(by_step), rtol=1e-12, atol=0)
    assert geometric.prior_std() == linear.prior_std() == most
    assert least_noise(geometric) == pytest.approx(least, rel=1e-12)
    assert signal_and_noise(linear, 0.7) == (1.0, 0.7)


def test_a_single_level():
    schedule = Constant(sigma=0.3)
    assert schedule.levels().tolist() == [0.3]
    assert schedule.levels().dtype == torch.float64
    assert (schedule.count, schedule.prior_std(), least_noise(schedule)) == (1, 0.3, 0.3)


@pytest.mark.parametrize("cls", [Geometric, Linear, VE], ids=lambda cls: cls.component_name)
def test_what_is_left_to_the_data(cls):
    """`auto` is the diameter, of the data that are given, and without data an error."""
    schedule, x = cls(), torch.randn(50, 3, generator=generator(0))
    assert schedule.needs_data
    with pytest.raises(ValueError, match="without data, give a number"):
        schedule.prior_std()
    fitted = schedule.fitted(x)
    assert fitted.sigma_max == fitted.prior_std() == pytest.approx(brute_force(x), rel=1e-12)
    assert not fitted.needs_data
    assert fitted.fitted(10 * x) == fitted  # what is known stays
    assert cls(sigma_max=2.0).fitted(x) == cls(sigma_max=2.0)
    if cls is not VE:
        assert float(fitted.levels()[0]) == pytest.approx(brute_force(x), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Geometric(sigma_max=0.1, sigma_min=0.1), "must be above 'sigma_min'"),
        (lambda: Linear(sigma_max=0.1, sigma_min=0.2), "must be above 'sigma_min'"),
        (lambda: VE(sigma_max=0.1, sigma_min=0.2), "must be above 'sigma_min'"),
        (lambda: Cosine(sigma_max=0.1, sigma_min=0.2), "must be above 'sigma_min'"),
        (lambda: VP(horizon=1.0, earliest=1.0), "must be below 'horizon'"),
        (lambda: VP(horizon=1.0, earliest=2.0), "must be below 'horizon'"),
    ],
)
def test_contradictions_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


def test_data_narrower_than_the_smallest_level_are_refused():
    with pytest.raises(ValueError, match="must be above 'sigma_min'"):
        Geometric(sigma_min=0.01).fitted(torch.tensor([[0.0], [0.001]]))


# The diameter


def brute_force(x):
    flat = x.double().flatten(1)
    return float((flat[:, None] - flat[None]).square().sum(2).sqrt().max())


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 10, 300])
@pytest.mark.parametrize("block", [1, 7, 64, 1 << 22])
def test_diameter_is_the_largest_distance(monkeypatch, event, n, block):
    monkeypatch.setattr(module, "BLOCK", block)
    for seed in range(3):
        x = torch.randn(n, *event, generator=generator(seed)) * torch.linspace(0.5, 2, event[-1]) + 3 * seed
        assert diameter(x) == pytest.approx(brute_force(x), rel=1e-12)


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]),
        torch.linspace(-1, 3, 101)[:, None] * torch.tensor([1.0, 2.0, -2.0]),
        torch.cat([torch.zeros(99, 2), torch.ones(1, 2)]),  # the centre is at one end
        torch.stack([torch.linspace(0, 6.28, 200).cos(), torch.linspace(0, 6.28, 200).sin()], 1),  # all far out
        1e6 + torch.tensor([[0.0], [1.0], [0.25]]),
        torch.tensor([[-3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]),  # off centre: the two are 5 apart
        torch.randn(50, 4, generator=generator(4)) * 1e-8,
        torch.randn(50, 4, generator=generator(4)).float(),
        torch.randint(256, (40, 1, 4, 4), generator=generator(5)).to(torch.uint8),
    ],
    ids=["duplicates", "collinear", "outlier", "circle", "far", "triangle", "small", "float32", "bytes"],
)
@pytest.mark.parametrize("block", [8, 1 << 22])
def test_diameter_of_awkward_points(monkeypatch, x, block):
    monkeypatch.setattr(module, "BLOCK", block)
    assert diameter(x) == pytest.approx(brute_force(x), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 97])
@pytest.mark.parametrize("d", [1, 2, 10, 33])
def test_points_that_are_all_the_same_have_none(n, d):
    for seed in range(5):
        x = (torch.randn(1, d, generator=generator(seed)) + 0.1).expand(n, d)
        for dtype in (torch.float64, torch.float32):
            with pytest.raises(ValueError, match="are equal"):
                diameter(x.to(dtype))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_points_that_are_not_finite_have_none(wrong):
    x = torch.randn(20, 3, generator=generator(0))
    x[7, 1] = wrong
    with pytest.raises(ValueError, match="finite"):
        diameter(x)


class Largest(TorchDispatchMode):
    """The most numbers that any result has."""

    most = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(value, torch.Tensor) and value._base is None:
                self.most = max(self.most, value.numel())
        return result


def test_diameter_takes_bounded_memory(monkeypatch):
    """A circle, of which no pair can be left out: 3000 points have 9e6 distances, of which 4096 are held at a time."""
    angle = 6.28 * torch.rand(3000, generator=generator(0))
    x = torch.stack([angle.cos(), angle.sin()], 1)
    monkeypatch.setattr(module, "BLOCK", 4096)
    with Largest() as seen:
        diameter(x)
    assert seen.most <= x.numel()


# Processes


@pytest.mark.parametrize("name", NAMES)
def test_signal_and_noise_by_hand(name):
    process = PROCESSES[name]
    t = grid(process.schedule)
    signal, noise = process.schedule.at(t)
    for i, time in enumerate(t.tolist()):
        assert float(signal[i]) == pytest.approx(process.signal(time), rel=1e-12)
        assert float(noise[i]) == pytest.approx(process.noise(time), rel=1e-12)
        assert signal_and_noise(process.schedule, time) == pytest.approx(
            (process.signal(time), process.noise(time)), rel=1e-12
        )
    several = t[:12].view(3, 4)  # of any shape
    assert torch.equal(process.schedule.at(several)[1], noise[:12].view(3, 4))


@pytest.mark.parametrize("name", NAMES)
def test_rates_by_hand_and_by_differences(name):
    process = PROCESSES[name]
    t, eps = grid(process.schedule)[1:-1], 1e-5
    drift, diffusion = rates(process.schedule, t)
    assert not drift.requires_grad
    assert not diffusion.requires_grad
    for i, time in enumerate(t.tolist()):
        assert float(drift[i]) == pytest.approx(process.drift(time), rel=1e-11, abs=1e-14)
        assert float(diffusion[i]) == pytest.approx(process.diffusion(time), rel=1e-11)
        log_a = [math.log(process.signal(s)) for s in (time - eps, time + eps)]
        variance = [process.noise(s) ** 2 for s in (time - eps, time + eps)]
        f = (log_a[1] - log_a[0]) / (2 * eps)
        g2 = (variance[1] - variance[0]) / (2 * eps) - 2 * f * process.noise(time) ** 2
        assert float(drift[i]) == pytest.approx(f, rel=1e-6, abs=1e-9)
        assert float(diffusion[i]) == pytest.approx(g2, rel=1e-6)
    one, other = rates(process.schedule, t[3])
    assert one.shape == other.shape == ()
    for i, time in enumerate(t.tolist()):
        assert rates_at(process.schedule, time) == pytest.approx((float(drift[i]), float(diffusion[i])), rel=1e-14)
    with torch.no_grad():  # as inside a chain
        assert torch.equal(rates(process.schedule, t)[1], diffusion)


@pytest.mark.parametrize("name", NAMES)
def test_marginals_solve_the_equations_of_the_process(name):
    """dm/dt = f m and dv/dt = 2 f v + g^2, from the earliest time, give a m and a^2 v + noise^2 at every time."""
    process = PROCESSES[name]
    schedule, steps = process.schedule, 300
    t = torch.linspace(schedule.earliest, schedule.horizon, 2 * steps + 1)  # and the middles that RK4 looks at
    h = float(t[2] - t[0])
    f, g2 = rates(schedule, t)
    a, n = torch.tensor([(process.signal(s), process.noise(s)) for s in t.tolist()]).T
    mean, variance = torch.linspace(-1, 2, 10), torch.linspace(0.2, 1.7, 10)
    y = torch.stack([a[0] * mean, a[0] ** 2 * variance + n[0] ** 2])

    def field(i, y):
        return torch.stack([f[i] * y[0], 2 * f[i] * y[1] + g2[i]])

    for i in range(0, 2 * steps, 2):
        k1 = field(i, y)
        k2 = field(i + 1, y + h / 2 * k1)
        k3 = field(i + 1, y + h / 2 * k2)
        k4 = field(i + 2, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        exact = torch.stack([a[i + 2] * mean, a[i + 2] ** 2 * variance + n[i + 2] ** 2])
        assert float(((y - exact).abs() / (1 + exact.abs())).max()) < 1e-6


def test_ornstein_uhlenbeck_is_vp_with_a_rate_of_two():
    schedule, t = VP(beta_min=2.0, beta_max=2.0, horizon=5.0), torch.linspace(1e-3, 5, 50)
    signal, noise = schedule.at(t)
    torch.testing.assert_close(signal, (-t).exp(), rtol=1e-14, atol=0)
    torch.testing.assert_close(noise.square(), 1 - (-2 * t).exp(), rtol=1e-12, atol=0)
    drift, diffusion = rates(schedule, t)
    torch.testing.assert_close(drift, -torch.ones_like(t), rtol=1e-13, atol=0)
    torch.testing.assert_close(diffusion, 2 * torch.ones_like(t), rtol=1e-11, atol=0)


def test_noise_of_early_times_keeps_its_digits_in_float32():
    _, noise = VP().at(torch.tensor([1e-3], dtype=torch.float32))
    exact = math.sqrt(-math.expm1(-(0.1e-3 + 19.9 / 2 * 1e-6)))
    assert float(noise) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_horizon_is_a_matter_of_units(name):
    schedule = PROCESSES[name].schedule
    if name in ("vp", "ou"):  # rates are per time
        slow = dataclasses.replace(
            schedule,
            horizon=3 * schedule.horizon,
            earliest=3 * schedule.earliest,
            beta_min=schedule.beta_min / 3,
            beta_max=schedule.beta_max / 3,
        )
    else:
        slow = dataclasses.replace(schedule, horizon=3 * schedule.horizon)
    t = grid(schedule)
    for quick, late in zip(schedule.at(t), slow.at(3 * t), strict=True):
        torch.testing.assert_close(late, quick, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("schedule", "std"), [(VE(sigma_max=7.0), 7.0), (VP(), 1.0), (Cosine(), 1.0)], ids=["ve", "vp", "cosine"]
)
def test_where_sampling_begins(schedule, std):
    assert schedule.prior_std() == std


@pytest.mark.parametrize("name", NAMES)
def test_times_and_noise_find_each_other(name):
    process = PROCESSES[name]
    schedule = process.schedule
    t = grid(schedule)
    sigma = torch.tensor([process.noise(s) / process.signal(s) for s in t.tolist()])
    torch.testing.assert_close(log_sigma(schedule, t).exp(), sigma, rtol=1e-12, atol=0)
    torch.testing.assert_close(time_of(schedule, sigma), t, rtol=1e-10, atol=1e-12)
    for time, noise in zip(t.tolist(), sigma.tolist(), strict=True):
        assert level_of(schedule, noise) == pytest.approx(time, rel=1e-10, abs=1e-12)
    outside = time_of(schedule, torch.tensor([float(sigma[0]) / 10, float(sigma[-1]) * 10]))
    torch.testing.assert_close(outside, torch.tensor([schedule.earliest, schedule.horizon]))
    assert least_noise(schedule) == schedule.earliest
    for wrong in (float(sigma[0]) * 0.999, float(sigma[-1]) * 1.001):
        with pytest.raises(ValueError, match="outside the range"):
            level_of(schedule, wrong)


def test_noise_levels_are_their_own_levels():
    schedule = Geometric(sigma_max=5.0, sigma_min=0.1, count=4)
    for sigma in (5.0, 1.0, 0.1):
        assert level_of(schedule, sigma) == sigma
    for wrong in (5.01, 0.0999):
        with pytest.raises(ValueError, match=r"training, 0\.1 to 5"):
            level_of(schedule, wrong)


def test_nichol_and_dhariwals_offset():
    """Their angle (t / T + s) / (1 + s) pi / 2 begins, for s = 0.008, where noise is 0.0125 of the signal."""
    assert math.tan(0.008 / 1.008 * math.pi / 2) == pytest.approx(0.0125, abs=5e-5)
    schedule = Cosine(sigma_max=1e6, sigma_min=math.tan(0.008 / 1.008 * math.pi / 2))
    t = torch.linspace(0, 1, 11)
    theirs = ((t + 0.008) / 1.008 * math.pi / 2).cos()
    torch.testing.assert_close(schedule.at(t)[0], theirs, rtol=0, atol=2e-6)
