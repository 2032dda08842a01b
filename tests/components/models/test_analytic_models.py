"""`banana`, `double_well`, `funnel`, `ring` and `mixture_1d`, against quadrature, finite differences and their laws."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.models.funnel import Funnel
from ebmkit.components.models.mixture_1d import Mixture1D
from ebmkit.components.models.ring import Ring
from ebmkit.components.samplers.exact import Exact
from tests.components.oracles import EVENTS, FALSE_ALARM, assert_follows, generator, normal_cdf, numeric_gradient

DRAWS = 40_000

# The energies as the docstrings print them, on the rows of a matrix ---------------------------------------------------


def banana(x, s, b):
    first, second = x[:, 0], x[:, 1]
    return first**2 / (2 * s**2) + (second + b * (first**2 - s**2)) ** 2 / 2 + (x[:, 2:] ** 2).sum(1) / 2


def double_well(x, a, h):
    return h * ((x[:, 0] / a) ** 2 - 1) ** 2 + (x[:, 1:] ** 2).sum(1) / 2


def funnel(x, s):
    v, d = x[:, 0], x.shape[1]
    return v**2 / (2 * s**2) + (d - 1) * v / 2 + torch.exp(-v) / 2 * (x[:, 1:] ** 2).sum(1)


def ring(x, R, w):
    q = x[:, 0] ** 2 + x[:, 1] ** 2
    return (q - R**2) ** 2 / (8 * R**2 * w**2) + (x[:, 2:] ** 2).sum(1) / 2


def mixture_1d(x):
    return -torch.log(3 * torch.exp(-((x[:, 0] + 2) ** 2) / 2) + torch.exp(-((x[:, 0] - 4) ** 2) / 8))


#: A component for d coordinates, the smallest d, and its energy.
MODELS = {
    "banana": (lambda d: Banana(dim=d, scale=1.3, curvature=0.7), 2, lambda x: banana(x, 1.3, 0.7)),
    "straight": (lambda d: Banana(dim=d, scale=0.6, curvature=0.0), 2, lambda x: banana(x, 0.6, 0.0)),
    "double_well": (lambda d: DoubleWell(dim=d, position=1.7, barrier=2.5), 1, lambda x: double_well(x, 1.7, 2.5)),
    "low_barrier": (lambda d: DoubleWell(dim=d, position=0.8, barrier=0.05), 1, lambda x: double_well(x, 0.8, 0.05)),
    "high_barrier": (lambda d: DoubleWell(dim=d, position=1.2, barrier=80.0), 1, lambda x: double_well(x, 1.2, 80.0)),
    "funnel": (lambda d: Funnel(dim=d, scale=1.1), 2, lambda x: funnel(x, 1.1)),
    "ring": (lambda d: Ring(dim=d, radius=2.0, width=0.3), 2, lambda x: ring(x, 2.0, 0.3)),
    "disc": (lambda d: Ring(dim=d, radius=0.9, width=1.4), 2, lambda x: ring(x, 0.9, 1.4)),  # most of it is cut off
    "mixture_1d": (lambda d: Mixture1D(), 1, mixture_1d),
}

every = pytest.mark.parametrize("name", MODELS)


#: All models in every dimension that they have, and on a small image.
CASES = [
    (name, event)
    for name, (_, least, _) in MODELS.items()
    for event in EVENTS
    if math.prod(event) >= least and (event == (1,) or name != "mixture_1d")
]
shapes = pytest.mark.parametrize(("name", "event"), CASES, ids=str)


def build(name, event):
    return MODELS[name][0](math.prod(event)).build(event)


def points(event, seed=0):
    return 1.5 * torch.randn(40, *event, generator=generator(seed))


# Energies and gradients -----------------------------------------------------------------------------------------------


@shapes
def test_the_energy_is_the_formula(name, event):
    x = points(event)
    torch.testing.assert_close(build(name, event)(x), MODELS[name][2](x.flatten(1)))


@shapes
def test_the_gradient_by_hand_is_that_of_the_formula(name, event):
    module, x = build(name, event), points(event)
    energy, gradient = Energy(module).value_and_grad(x)
    by_differences = numeric_gradient(lambda: MODELS[name][2](x.flatten(1)).sum(), x)
    torch.testing.assert_close(gradient, by_differences, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(energy, module(x))
    point = x.clone().requires_grad_()
    (by_autograd,) = torch.autograd.grad(module(point).sum(), point)
    torch.testing.assert_close(gradient, by_autograd)
    assert not gradient.requires_grad


@every
def test_the_event_follows_from_the_parameters(name):
    make, least, _ = MODELS[name]
    for d in (1,) if name == "mixture_1d" else (least, 7):
        assert make(d).event() == (d,)


@every
def test_nothing_is_trained_and_everything_is_saved_and_moved(name):
    torch.set_default_dtype(torch.float32)
    module = build(name, (2,) if name != "mixture_1d" else (1,))
    assert not list(module.parameters())
    assert {tensor.dtype for tensor in module.state_dict().values()} == {torch.float32}
    assert module.sample_exact(3, generator(0)).dtype == module.log_z().dtype == torch.float32
    assert bool(module.sample_exact(100_000, generator(0)).isfinite().all())
    module.double()
    assert module.sample_exact(3, generator(0)).dtype == module.log_z().dtype == torch.float64


# Normalisers ----------------------------------------------------------------------------------------------------------


def line(low, high, n):
    """Points of the trapezoidal rule, and the log of their distance."""
    axis = torch.linspace(low, high, n)
    return axis, math.log(float(axis[1] - axis[0]))


#: In ten dimensions the funnel has a test of its own: beyond the second, its coordinates are not standard normal.
GRIDS = [(name, event[0]) for name, event in CASES if len(event) == 1 and (name, event) != ("funnel", (10,))]


@pytest.mark.parametrize(("name", "d"), GRIDS)
def test_log_z_is_the_integral_on_a_grid(name, d):
    """The grid covers the first two coordinates, in which the models differ; in the others all are standard normal."""
    make, _, energy = MODELS[name]
    if d == 1:
        x, log_dx = line(-40.0, 40.0, 200_001)
        log_mass = torch.logsumexp(log_dx - energy(x[:, None]), 0)
    else:
        # The second coordinate of the funnel lives on the scale exp(x_1 / 2).
        funnel = name == "funnel"
        first, log_dx = line(-14.0, 14.0, 1401)
        second, log_dy = line(-12.0, 12.0, 401) if funnel else line(-60.0, 60.0, 2001)
        x, y = torch.meshgrid(first, second, indexing="ij")
        stretch = x / 2 if funnel else torch.zeros_like(x)
        plane = torch.stack([x, y * torch.exp(stretch)], 2).view(-1, 2)
        log_mass = torch.logsumexp(log_dx + log_dy + stretch.flatten() - energy(plane), 0)
    integral = float(log_mass) + max(d - 2, 0) / 2 * math.log(2 * math.pi)
    assert float(make(d).build((d,)).log_z()) == pytest.approx(integral, abs=1e-9)


def test_the_log_z_of_an_image_is_that_of_its_coordinates():
    for name, event in CASES:
        d = math.prod(event)
        assert float(build(name, event).log_z()) == float(build(name, (d,)).log_z())


def test_the_funnel_is_normalised_given_its_first_coordinate():
    """With v fixed, the other nine coordinates are Gaussians of variance exp(v)."""
    module, v = Funnel(dim=10, scale=1.1).build((10,)), torch.tensor([-2.0, 0.0, 1.5])
    y = torch.randn(3, 9, generator=generator(0))
    given = torch.distributions.Normal(0.0, torch.exp(v / 2)[:, None].expand(3, 9)).log_prob(y).sum(1)
    expected = torch.distributions.Normal(0.0, 1.1).log_prob(v) + given
    torch.testing.assert_close(-module(torch.cat([v[:, None], y], 1)) - module.log_z(), expected)


@pytest.mark.parametrize("barrier", [1e-6, 1e-3, 49.0, 51.0, 1e4, 1e8])
def test_the_table_of_the_double_well_finds_its_wells(barrier):
    module = DoubleWell(dim=1, position=1.0, barrier=barrier).build((1,))
    if barrier >= 1e4:  # two Gaussians of precision 8 h, and the first correction to them
        expected = math.log(2 * math.sqrt(2 * math.pi / (8 * barrier))) + math.log1p(3 / (16 * barrier))
        accuracy = 1 / barrier**2
    else:
        t, log_dt = line(0.0, 3 * (50 / barrier) ** 0.25 + 2, 1_000_001)
        halved = torch.where(t == 0, math.log(2), 0.0)
        expected = math.log(2) + float(torch.logsumexp(-barrier * (t**2 - 1) ** 2 - halved, 0)) + log_dt
        accuracy = 1e-10
    assert float(module.log_z()) == pytest.approx(expected, abs=max(accuracy, 1e-10))


@pytest.mark.parametrize("barrier", [1e-3, 1.0, 49.0, 51.0, 300.0])
def test_the_table_of_the_double_well_is_as_fine_as_it_says(barrier, monkeypatch):
    """The magnitudes that belong to given uniform numbers, put into a distribution function from a finer grid."""
    module = DoubleWell(dim=1, position=1.0, barrier=barrier).build((1,))
    u = torch.linspace(1e-6, 1 - 1e-6, 10_007)
    monkeypatch.setattr(module, "uniform", lambda n, columns, rng: u[:, None])
    t = module.sample_exact(len(u), generator(0)).abs().flatten()
    low, high = float(module.magnitudes[0]), float(module.magnitudes[-1])
    cdf = cdf_of(lambda t: barrier * (t**2 - 1) ** 2, low, high, n=2_000_003)
    torch.testing.assert_close(cdf(t), u, atol=2e-7, rtol=0)


# Draws ----------------------------------------------------------------------------------------------------------------


def draws(name, event, n=DRAWS, seed=5):
    module = build(name, event)
    x = run_chain(Exact(), module, torch.zeros(n, *event), generator(seed)).x
    assert x.shape == (n, *event)
    return x.flatten(1)


def cdf_of(energy, low, high, n=400_001):
    """The distribution function of exp(-energy) on an interval, integrated on a grid that is not the model's."""
    grid = torch.linspace(low, high, n)
    log_density = -energy(grid)
    mass = torch.cumulative_trapezoid(torch.exp(log_density - log_density.max()), grid)
    total = torch.cat([torch.zeros(1), mass / mass[-1]])

    def cdf(x):
        above = torch.searchsorted(grid, x).clamp(1, n - 1)
        fraction = (x - grid[above - 1]) / (grid[above] - grid[above - 1])
        return torch.lerp(total[above - 1], total[above], fraction.clamp(0, 1))

    return cdf


def laws(name, x):
    """Statistics of the draws that are independent under the model, each with its distribution function."""
    if name in ("banana", "straight"):
        s, b = (1.3, 0.7) if name == "banana" else (0.6, 0.0)
        white = torch.cat([x[:, :1] / s, x[:, 1:2] + b * (x[:, :1] ** 2 - s**2), x[:, 2:]], 1)
        return [(column, normal_cdf) for column in white.T], white
    if name == "funnel":
        white = torch.cat([x[:, :1] / 1.1, x[:, 1:] / torch.exp(x[:, :1] / 2)], 1)
        return [(column, normal_cdf) for column in white.T], white
    if name in ("ring", "disc"):
        R, w = (2.0, 0.3) if name == "ring" else (0.9, 1.4)
        radius, angle = x[:, :2].norm(dim=1), torch.atan2(x[:, 1], x[:, 0])
        of_radius = cdf_of(lambda r: (r**2 - R**2) ** 2 / (8 * R**2 * w**2) - torch.log(r), 1e-9, 12.0)
        uniform = [(radius, of_radius), (angle, lambda t: (t + math.pi) / (2 * math.pi))]
        rest = [(column, normal_cdf) for column in x[:, 2:].T]
        return uniform + rest, torch.stack([of_radius(radius), angle, *x[:, 2:].T], 1)
    if name == "mixture_1d":
        return [(x[:, 0], lambda t: 0.6 * normal_cdf(t + 2) + 0.4 * normal_cdf((t - 4) / 2))], x
    a, h = {"double_well": (1.7, 2.5), "low_barrier": (0.8, 0.05), "high_barrier": (1.2, 80.0)}[name]
    of_first = cdf_of(lambda t: h * ((t / a) ** 2 - 1) ** 2, -12.0, 12.0)
    return [(x[:, 0], of_first), *[(column, normal_cdf) for column in x[:, 1:].T]], x


@shapes
def test_draws_follow_the_law_and_their_parts_are_independent(name, event):
    one_by_one, columns = laws(name, draws(name, event))
    n, d = columns.shape
    # Magnitudes beside the columns themselves: a sign drawn apart would hide a link between two of them.
    for version in (columns, columns.abs()):
        standard = (version - version.mean(0)) / version.std(0)
        correlations = (standard.T @ standard / n)[torch.triu_indices(d, d, 1).unbind()]
        assert all(math.erfc(abs(r) * math.sqrt(n / 2)) > FALSE_ALARM / (d * (d - 1)) for r in correlations.tolist())
    assert_follows(one_by_one)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "mixture_1d"])
def test_draws_fill_the_cells_of_a_grid_as_the_density_does(name):
    """Chi-square in the plane: the density is integrated over each cell, whatever the model says of its parts."""
    x, energy = draws(name, (2,), n=100_000, seed=9), MODELS[name][2]
    # Cells between quantiles of the draws, so that all are filled; an edge has no influence on the others' share.
    edges = [torch.quantile(column[:50_000], torch.linspace(0.02, 0.98, 9)) for column in x.T]
    x = x[50_000:]
    expected = torch.zeros(8, 8)
    log_z = MODELS[name][0](2).build((2,)).log_z()
    nodes, weights = gauss_legendre(24)
    for i in range(8):
        for j in range(8):
            sides = [(edges[0][i], edges[0][i + 1]), (edges[1][j], edges[1][j + 1])]
            (u, du), (v, dv) = [((a + b) / 2 + (b - a) / 2 * nodes, (b - a) / 2 * weights) for a, b in sides]
            density = torch.exp(-energy(torch.cartesian_prod(u, v)) - log_z).view(24, 24)
            expected[i, j] = du @ density @ dv
    row, column = (torch.bucketize(x[:, k].contiguous(), edges[k]) - 1 for k in (0, 1))
    inside = (row >= 0) & (row < 8) & (column >= 0) & (column < 8)
    counts = torch.bincount(row[inside] * 8 + column[inside], minlength=64)
    counts = torch.cat([counts, (~inside).sum()[None]]).to(expected)
    wanted = len(x) * torch.cat([expected.flatten(), (1 - expected.sum())[None]])
    common = wanted >= 10  # the rest together
    counts, wanted = (torch.cat([c[common], c[~common].sum()[None]]) for c in (counts, wanted))
    if float(wanted[-1]) < 10:
        counts, wanted = counts[:-1], wanted[:-1]
    statistic = ((counts - wanted) ** 2 / wanted).sum()
    degrees = torch.tensor((len(wanted) - 1) / 2)
    assert float(torch.special.gammaincc(degrees, statistic / 2)) > FALSE_ALARM / 8


def gauss_legendre(n):
    """Nodes and weights on [-1, 1], by the eigenvalues of the Jacobi matrix."""
    k = torch.arange(1, n)
    off = k / torch.sqrt(4 * k**2 - 1)
    nodes, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    return nodes, 2 * vectors[0] ** 2


def test_the_figures_of_the_mixture_on_the_line():
    x = draws("mixture_1d", (1,), n=400_000)[:, 0]
    assert float(x.mean()) == pytest.approx(0.4, abs=6 * math.sqrt(10.84 / 400_000))  # variance 3 + 8 - 0.4^2
    density = torch.exp(-Mixture1D().build((1,))(torch.tensor([[-2.0], [4.0]])))
    torch.testing.assert_close(density, torch.tensor([3 + math.exp(-4.5), 3 * math.exp(-18) + 1]))


@pytest.mark.parametrize("component", [Mixture1D(), DoubleWell(dim=1), DoubleWell(dim=3, position=1.5, barrier=30.0)])
def test_modes_hold_the_mass_that_is_nearest_to_them(component):
    """Up to the overlap: of N(4, 4), the share Phi(-1.5) lies nearer to -2."""
    module = component.build(component.event())
    points, weights = module.modes()
    x = module.sample_exact(100_000, generator(2))
    share = (torch.cdist(x, points).argmin(1)[:, None] == torch.arange(2)).double().mean(0)
    overlap = 0.4 * 0.0668 - 0.6 * 0.00135 if isinstance(component, Mixture1D) else 0.0
    torch.testing.assert_close(share, weights + torch.tensor([overlap, -overlap]), atol=0.01, rtol=0)
    gradient = Energy(module).value_and_grad(points)[1]
    torch.testing.assert_close(gradient, torch.zeros_like(points), atol=0.05, rtol=0)


def test_the_moments_that_the_banana_states():
    x = draws("banana", (2,), n=400_000)
    s, b = 1.3, 0.7
    variances = torch.tensor([s**2, 1 + 2 * b**2 * s**4])
    assert bool((x.mean(0).abs() < 6 * torch.sqrt(variances / len(x))).all())
    fourth = ((x - x.mean(0)) ** 4).mean(0)
    assert bool(((x.var(0) - variances).abs() < 6 * torch.sqrt(fourth / len(x))).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "component",
    [
        Ring(radius=50.0, width=0.01),
        Ring(radius=5.061, width=4.01),  # rounding leaves the least squared radius just below zero
        DoubleWell(barrier=1e-3),
        DoubleWell(barrier=1e3),
    ],
)
def test_extreme_random_numbers_give_finite_draws(component, dtype, monkeypatch):
    torch.set_default_dtype(dtype)
    for u in (0.0, 1.0 - torch.finfo(dtype).eps / 2):  # the least and the greatest of torch's uniform numbers
        with monkeypatch.context() as patched:
            patched.setattr(
                torch.Tensor, "uniform_", lambda x, low, high, generator, u=u: x.fill_(low + (high - low) * u)
            )
            x = component.build((2,)).sample_exact(4, generator(0))
        assert bool(x.isfinite().all()), u
