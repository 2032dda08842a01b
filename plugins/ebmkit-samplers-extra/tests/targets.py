"""Energies with known distributions, and the Kolmogorov-Smirnov test against them."""

import math

import torch

#: False-alarm rate of each test, before the correction for several comparisons.
FALSE_ALARM = 1e-6


def generator(seed):
    return torch.Generator().manual_seed(seed)


class Quadratic(torch.nn.Module):
    """A Gaussian with correlated coordinates of different scales, of states of any shape."""

    def __init__(self, event):
        super().__init__()
        d = math.prod(event)
        self.event, self.mean = event, torch.linspace(-0.5, 1.0, d, dtype=torch.float64)
        mixing = torch.randn(d, d, generator=generator(7), dtype=torch.float64) / math.sqrt(d)
        self.covariance = 0.4 * mixing @ mixing.T + torch.diag(torch.linspace(0.5, 1.5, d, dtype=torch.float64))
        self.root = torch.linalg.cholesky(self.covariance)
        self.precision = torch.linalg.inv(self.covariance)

    def forward(self, x):
        off = x.flatten(1) - self.mean
        return (off @ self.precision * off).sum(1) / 2

    def energy_and_grad(self, x):
        slope = (x.flatten(1) - self.mean) @ self.precision
        return ((x.flatten(1) - self.mean) * slope).sum(1) / 2, slope.view_as(x)

    def draws(self, n, seed, temperature=1.0):
        xi = torch.randn(n, len(self.mean), generator=generator(seed), dtype=torch.float64)
        return (self.mean + math.sqrt(temperature) * xi @ self.root.T).view(n, *self.event)

    def uniforms(self, x, temperature=1.0):
        """Statistics of states at a temperature, by their distribution functions: uniform if the states are right."""
        off = x.flatten(1) - self.mean
        white = torch.linalg.solve_triangular(self.root, off.T, upper=False).T / math.sqrt(temperature)
        d = white.shape[1]
        across = off @ torch.ones(d, dtype=off.dtype) / (self.covariance.sum() * temperature).sqrt()
        radius = torch.special.gammainc(torch.tensor(d / 2, dtype=off.dtype), white.square().sum(1) / 2)
        last = off[:, -1] / (self.covariance[-1, -1] * temperature).sqrt()
        return torch.stack([*map(torch.special.ndtr, (white[:, 0], white[:, -1], last, across)), radius], 1)


class Posterior(Quadratic):
    """The closed form of a regression's posterior, by the normal equations."""

    def __init__(self, model):
        super().__init__((len(model.inputs[0]),))
        z, y = (torch.tensor(numbers, dtype=torch.float64) for numbers in (model.inputs, model.targets))
        d = z.shape[1]

        def eye(n):
            return torch.eye(n, dtype=torch.float64)

        common = torch.full((d, d), model.correlation, dtype=torch.float64)
        prior = model.prior_std**2 * ((1 - model.correlation) * eye(d) + common)
        gain = prior @ z.T @ torch.linalg.inv(z @ prior @ z.T + model.noise_std**2 * eye(len(y)))
        self.mean = model.prior_mean + gain @ (y - z @ torch.full_like(z[0], model.prior_mean))
        self.covariance = prior - gain @ z @ prior
        self.root, self.precision = torch.linalg.cholesky(self.covariance), torch.linalg.inv(self.covariance)


class TwoModes(torch.nn.Module):
    """`1/3 N(-1.2, 0.5^2) + 2/3 N(1, 0.8^2)` in one dimension."""

    means, stds, weights = (-1.2, 1.0), (0.5, 0.8), (1 / 3, 2 / 3)

    def _parts(self):
        return (torch.tensor(part, dtype=torch.float64) for part in (self.means, self.stds, self.weights))

    def forward(self, x):
        means, stds, weights = self._parts()
        return -torch.logsumexp(-(((x - means) / stds) ** 2) / 2 + (weights / stds).log(), 1)

    def draws(self, n, seed):
        means, stds, weights = self._parts()
        which = torch.multinomial(weights, n, True, generator=generator(seed))
        return (means[which] + stds[which] * torch.randn(n, generator=generator(seed + 100), dtype=torch.float64))[
            :, None
        ]

    def uniforms(self, x):
        means, stds, weights = self._parts()
        return (torch.special.ndtr((x - means) / stds) * weights).sum(1, keepdim=True)


def p_values(uniforms):
    """The Kolmogorov-Smirnov probability that independent uniform numbers are so uneven, for each column."""
    n = len(uniforms)
    rank = torch.arange(n + 1, dtype=uniforms.dtype)[:, None] / n
    ordered = uniforms.sort(0).values
    distance = torch.maximum((rank[1:] - ordered).amax(0), (ordered - rank[:-1]).amax(0))
    scaled = ((math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance).tolist()
    return [min(1.0, 2 * math.exp(-2 * s * s)) for s in scaled]  # the first term, an upper bound


def assert_uniform(uniforms, comparisons):
    """Corrected for all the comparisons of a test file."""
    found = p_values(uniforms)
    assert min(found) > FALSE_ALARM / comparisons, found
