"""Runge-Kutta methods: the conditions their numbers satisfy, and equations whose solution is known."""

import math

import pytest
import torch

from ebmkit.chains.ode import DOPRI5, HEUN, RK4, runge_kutta, solve_ode

METHODS = {"heun": (HEUN, 2), "rk4": (RK4, 4), "dopri5": (DOPRI5, 5)}


@pytest.fixture(autouse=True)
def _precise(precise):
    pass


def arrays(tableau):
    n = len(tableau.nodes)
    matrix = torch.zeros(n, n)
    for i, row in enumerate(tableau.matrix):
        matrix[i, : len(row)] = torch.tensor(row, dtype=torch.float64)
    nodes, weights = (torch.tensor(row, dtype=torch.float64) for row in (tableau.nodes, tableau.weights))
    return nodes, matrix, weights


def trees(c, A, b):
    """What the conditions of each order say is 1 (Hairer, Norsett, Wanner, table II.2.2), as weight, value pairs."""
    one = torch.ones_like(c)
    yield 1, [(b @ one, 1)]
    yield 2, [(b @ c, 1 / 2)]
    yield 3, [(b @ c**2, 1 / 3), (b @ A @ c, 1 / 6)]
    yield 4, [(b @ c**3, 1 / 4), (b @ (c * (A @ c)), 1 / 8), (b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)]
    yield (
        5,
        [
            (b @ c**4, 1 / 5),
            (b @ (c**2 * (A @ c)), 1 / 10),
            (b @ (c * (A @ c**2)), 1 / 15),
            (b @ (c * (A @ A @ c)), 1 / 30),
            (b @ (A @ c) ** 2, 1 / 20),
            (b @ A @ c**3, 1 / 20),
            (b @ A @ (c * (A @ c)), 1 / 40),
            (b @ A @ A @ c**2, 1 / 60),
            (b @ A @ A @ A @ c, 1 / 120),
        ],
    )


def order_of(c, A, b):
    """How many orders' conditions hold."""
    order = 0
    for order_now, conditions in trees(c, A, b):
        if any(abs(float(value) - wanted) > 1e-14 for value, wanted in conditions):
            break
        order = order_now
    return order


@pytest.mark.parametrize("name", METHODS)
def test_conditions_of_order(name):
    tableau, order = METHODS[name]
    c, A, b = arrays(tableau)
    torch.testing.assert_close(A.sum(1), c, rtol=0, atol=1e-14)
    assert order_of(c, A, b) == order


def test_the_doubted_weights_are_those_of_a_method_of_order_four():
    c, A, b = arrays(DOPRI5)
    assert order_of(c, A, b - torch.tensor(DOPRI5.error_weights)) == 4


EQUATIONS = {
    "y' = -y": (lambda t, y: -y, lambda t: math.exp(-t)),
    "y' = t y": (lambda t, y: t.unsqueeze(-1) * y, lambda t: math.exp(t * t / 2)),
    "y' = -y^2": (lambda t, y: -y * y, lambda t: 1 / (2 + t)),
}


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.5), (1.5, 0.0), (-1.0, 1.0)])
@pytest.mark.parametrize(
    ("name", "equation"),
    # Of the last one the leading error changes its sign on the way, and what is left of y' = -y^2 is near rounding.
    [(name, equation) for name in METHODS for equation in EQUATIONS if (name, equation) != ("dopri5", "y' = -y^2")],
)
def test_errors_fall_as_the_order_says(name, equation, start, end):
    tableau, order = METHODS[name]
    field, exact = EQUATIONS[equation]
    errors = []
    for steps in (10, 20, 40):
        h = torch.tensor((end - start) / steps)
        times = [start + i * (end - start) / steps for i in range(steps + 1)]
        # Every step from where it should begin, so that errors do not cancel each other.
        steps_of_it = (
            (runge_kutta(field, tableau, torch.tensor(t), torch.tensor([[exact(t)]]), h)[0], exact(t + float(h)))
            for t in times[:-1]
        )
        errors.append(sum(abs(float(y) - wanted) for y, wanted in steps_of_it))
    assert errors[-1] < 0.02
    assert math.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.4), errors


def test_a_polynomial_of_the_methods_degree_is_integrated_exactly():
    for tableau, degree in ((HEUN, 1), (RK4, 3), (DOPRI5, 4)):
        y, slopes = runge_kutta(
            lambda t, y, k=degree: (t**k).expand(len(y)).unsqueeze(1),
            tableau,
            torch.tensor(0.5),
            torch.zeros(2, 1),
            torch.tensor(1.5),
        )
        assert y[:, 0].tolist() == pytest.approx(
            [(2 ** (degree + 1) - 0.5 ** (degree + 1)) / (degree + 1)] * 2, rel=1e-14
        )
        assert len(slopes) == len(tableau.nodes)


def test_every_row_may_have_a_step_of_its_own():
    t, h = torch.tensor([0.0, 1.0]), torch.tensor([0.1, -0.2])
    field = lambda t, y: t.unsqueeze(-1) * y  # noqa: E731
    together, _ = runge_kutta(field, RK4, t, torch.ones(2, 3), h)
    for i in range(2):
        alone, _ = runge_kutta(field, RK4, t[i], torch.ones(1, 3), h[i])
        assert torch.equal(together[i : i + 1], alone)


@pytest.mark.parametrize("name", METHODS)
def test_plain_numbers_for_time_and_step_give_the_same(name):
    tableau, _ = METHODS[name]
    y = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))
    plain, _ = runge_kutta(lambda t, y: t * y, tableau, 0.3, y, -0.2)
    tensors, _ = runge_kutta(lambda t, y: t * y, tableau, torch.tensor(0.3), y, torch.tensor(-0.2))
    torch.testing.assert_close(plain, tensors, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("start", "end"), [(0.0, 2.0), (2.0, 0.0), (-1.0, 1.0)])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_an_adaptive_solution_keeps_its_tolerance(equation, start, end, tolerance):
    field, exact = EQUATIONS[equation]
    y = solve_ode(field, torch.full((3, 2), exact(start)), start, end, tolerance, 1000)
    assert float((y - exact(end)).abs().max()) < 20 * tolerance * (1 + exact(end))
    assert bool((y == y[0, 0]).all())


def rotation(speed, seen=None):
    def field(t, y):
        if seen is not None:
            seen.append(len(y))
        return torch.stack([-y[:, 1], y[:, 0]], 1) * speed[: len(y), None]

    return field


def test_a_row_that_needs_small_steps_does_not_disturb_the_others():
    """Rows that turn slowly and forty times as fast: each arrives, bit for bit, where it arrives alone."""
    speed = torch.tensor([1.0, 40.0, 3.0])
    y = torch.tensor([[1.0, 0.0]]).expand(3, 2)
    all_of_them, alone, tries = [], [], []
    for rows in ([0, 1, 2], [0], [1], [2]):
        seen = []
        ended = solve_ode(rotation(speed[rows], seen), y[rows], 0.0, 6.0, 1e-6, 10_000)
        (all_of_them if len(rows) > 1 else alone).append(ended)
        tries.append(len(seen) // 7)
    assert torch.equal(all_of_them[0], torch.cat(alone))
    assert tries[0] == tries[2] > 10 * tries[1]
    exact = torch.stack([(6 * speed).cos(), (6 * speed).sin()], 1)
    assert float((all_of_them[0] - exact).abs().max()) < 1e-2


def test_errors_are_relative_to_large_numbers():
    """These may be as far off, for their size, as small ones, and cost no more."""
    calls = []
    for y in (1.0, 1e6):
        seen = []
        ended = solve_ode(lambda t, y, seen=seen: seen.append(t) or -y, torch.full((1, 1), y), 0.0, 1.0, 1e-6, 1000)
        assert abs(float(ended) * math.e / y - 1) < 1e-5
        calls.append(len(seen))
    assert calls[1] < 2 * calls[0], calls


@pytest.mark.parametrize("length", [5e-4, 1e-9])
def test_a_short_way_is_gone_too(length):
    y = solve_ode(lambda t, y: -y, torch.ones(1, 1), 1.0, 1.0 + length, 1e-6, 100)
    assert 1 - float(y) == pytest.approx(-math.expm1(-length), rel=1e-6)


def test_nothing_to_do_is_done():
    y = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(solve_ode(lambda t, y: y / 0, y, 1.0, 1.0, 1e-6, 1), y)


@pytest.mark.parametrize(
    ("field", "lost"),
    [
        (lambda t, y: torch.where(y > 0, (1e9 * (y + t.unsqueeze(-1))).sin() * 1e9, -y), 2),
        (lambda t, y: torch.where(y > 0, y * y * 1e3, -y), 2),  # it runs away before the end
    ],
    ids=["rough", "explodes"],
)
def test_what_cannot_be_solved_is_said(field, lost):
    y = torch.tensor([[1.0], [-1.0], [2.0], [-3.0]])
    with pytest.raises(ArithmeticError, match=f"{lost} of 4 equations were not solved to 1e-08 in 200 tries"):
        solve_ode(field, y, 0.0, 1.0, 1e-8, 200)


def test_a_slope_that_is_not_finite_is_said_at_once():
    """At a stage of a step it may be avoided by a shorter one; at the point itself it may not."""
    y = torch.tensor([[1.0], [-1.0], [2.0], [-3.0]])
    with pytest.raises(FloatingPointError, match="the slope of 2 of 4 equations is not finite"):
        solve_ode(lambda t, y: torch.where(y > 0, torch.nan, -y), y, 0.0, 1.0, 1e-8, 3)
    beyond = solve_ode(lambda t, y: torch.where(y < 2.7, -torch.ones_like(y), torch.nan), y - 3, 1.0, 0.0, 1e-3, 50)
    assert torch.allclose(beyond, y - 2)


def test_too_few_tries_are_said():
    with pytest.raises(ArithmeticError, match="in 2 tries"):
        solve_ode(lambda t, y: -y, torch.ones(1, 1), 0.0, 1.0, 1e-6, 2)


def test_in_single_precision_it_arrives_too():
    y = solve_ode(lambda t, y: -y, torch.ones(2, 2, dtype=torch.float32), 0.1, 1.3, 1e-4, 200)
    assert y.dtype == torch.float32
    assert float((y - math.exp(-1.2)).abs().max()) < 1e-3


def test_a_step_that_leaves_the_domain_is_tried_again_shorter():
    """From 2.9 an Euler stage of the first step lands beyond 3, where there is no slope."""

    def field(t, y):
        return torch.where(y.abs() > 3, torch.nan, -50 * y)

    y = solve_ode(field, torch.tensor([[2.9]], dtype=torch.float64), 0.0, 1.0, 1e-8, 1000)
    assert float(y) == pytest.approx(2.9 * math.exp(-50), abs=1e-7)
