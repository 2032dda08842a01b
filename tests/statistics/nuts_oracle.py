"""The No-U-Turn sampler once more, for one chain and by brute force.

An orbit is all states that leapfrog steps reach from one. The sampler is written as a game on intervals of it, straight
from its definition, without a tree: every stretch of every doubling is looked at by its place in the orbit.
"""

import math
from itertools import product

import numpy as np

DIVERGED = 1000.0


class Orbit:
    """State k of an orbit is k leapfrog steps after state 0, or before it."""

    def __init__(self, energy_and_grad, x, p, step_size, mass, temperature):
        self.energy_and_grad, self.step_size, self.temperature = energy_and_grad, step_size, temperature
        self.mass, self.inverse = mass, np.linalg.inv(mass)
        self.x, self.p, self.h, self.gradient = {}, {}, {}, {}
        self._put(0, x, p, *energy_and_grad(x))

    def _put(self, k, x, p, energy, gradient):
        self.x[k], self.p[k], self.gradient[k] = x, p, gradient
        self.h[k] = energy + p @ self.inverse @ p / 2

    def reach(self, k):
        """Make the states between here and k."""
        step = 1 if k > 0 else -1
        eps = step * self.step_size
        for new in range(step, k + step, step):
            if new not in self.x:
                p = self.p[new - step] - eps / 2 * self.gradient[new - step]
                x = self.x[new - step] + eps * self.inverse @ p
                energy, gradient = self.energy_and_grad(x)
                self._put(new, x, p - eps / 2 * gradient, energy, gradient)

    def turned(self, a, b):
        """Betancourt's criterion, with the integral of the momentum between two times."""
        rho = self.mass @ (self.x[b] - self.x[a])
        return self.p[a] @ self.inverse @ rho < 0 or self.p[b] @ self.inverse @ rho < 0

    def log_weight(self, k, start=0):
        return (self.h[start] - self.h[k]) / self.temperature

    def diverged(self, k, start=0):
        return not -DIVERGED < self.log_weight(k, start) < math.inf

    def weight(self, states, start=0):
        return sum(math.exp(self.log_weight(k, start)) for k in states)


def stretch_turned(orbit, states):
    """A stretch turned as a whole, or one half of it with the next state of the other."""
    middle = len(states) // 2
    pairs = [(states[0], states[-1]), (states[0], states[middle]), (states[middle - 1], states[-1])]
    return any(orbit.turned(min(pair), max(pair)) for pair in pairs)


def walk(orbit, half, start):
    """How many states of a new half are visited, and what ended it: None, "turn" or "divergence"."""
    for n, k in enumerate(half, start=1):
        orbit.reach(k)
        if orbit.diverged(k, start):
            return n, "divergence"
        size = 2
        while n % size == 0:
            if stretch_turned(orbit, half[n - size : n]):
                return n, "turn"
            size *= 2
    return len(half), None


def trajectory(orbit, backwards, start=0):
    """The halves that are joined, in the order in which they are, all states that were visited, and what ended it."""
    joined, visited = [[start]], []
    low = high = start
    for depth, back in enumerate(backwards):
        size = 2**depth
        half = list(range(low - 1, low - size - 1, -1) if back else range(high + 1, high + size + 1))
        n, end = walk(orbit, half, start)
        visited += half[:n]
        if end is not None:
            return joined, visited, end
        joined.append(half)
        low, high = min(low, half[-1]), max(high, half[-1])
        whole = list(range(low, high + 1))
        if stretch_turned(orbit, whole):
            return joined, visited, "turn"
    return joined, visited, None


def draw(orbit, joined, move, inside):
    """The state that a chain moves to, given its random numbers."""
    at = 0
    old = orbit.weight(joined[0])
    for depth, half in enumerate(joined[1:]):
        new = orbit.weight(half)
        if move[depth] < new / old:
            at = depth + 1
        old += new
    stretch = joined[at]
    while len(stretch) > 1:
        middle = len(stretch) // 2
        share = orbit.weight(stretch[middle:]) / orbit.weight(stretch)
        level = int(math.log2(len(stretch))) - 1
        stretch = stretch[middle:] if inside[level] < share else stretch[:middle]
    return stretch[0]


def kernel(orbit, start, max_depth):
    """Where chains from a state of the orbit go: state -> probability, over all directions of time."""
    found = {}
    for backwards in product([False, True], repeat=max_depth):
        joined, _, _ = trajectory(orbit, backwards, start)
        weights = [orbit.weight(half) for half in joined]
        before = np.cumsum(weights)
        moves = [1.0, *(min(1.0, new / old) for old, new in zip(before, weights[1:], strict=False))]
        stays = np.cumprod([1.0, *(1 - move for move in reversed(moves[1:]))])[::-1]
        for half, weight, move, stay in zip(joined, weights, moves, stays, strict=True):
            for k in half:
                chance = move * stay * orbit.weight([k]) / weight / 2**max_depth
                found[k] = found.get(k, 0.0) + chance
    return found


def in_absolute_time(turned_around):
    """Turning around is relative to the direction so far."""
    backwards = []
    for turn in turned_around:
        backwards.append(bool(turn) != (bool(backwards) and backwards[-1]))
    return backwards
