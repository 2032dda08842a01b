"""Models that break one law each: a Gaussian with one thing wrong, or a Boltzmann machine."""

import random
import time

import torch
from torch import nn

from ebmkit.api import Model, component
from ebmkit.components.models.nets.boltzmann import BoltzmannEnergy
from ebmkit.components.models.nets.gaussian import GaussianEnergy
from ebmkit.components.models.nets.rbm import RBMEnergy
from ebmkit.testing.laws import model as laws


def planted(net):
    @component("planted")
    class Planted(Model):
        offers = frozenset({"energy", "gradient", "sample_exact", "log_z", "noised"})

        def event(self):
            return (2,)

        def build(self, event):
            return net(torch.tensor([0.5, -0.5]), torch.tensor([[1.0, 0.3], [0.3, 2.0]]), event)

    return Planted()


class Column(GaussianEnergy):
    def forward(self, x):
        return super().forward(x)[:, None]


class Centred(GaussianEnergy):
    def forward(self, x):
        energy = super().forward(x)
        return energy - energy.mean() if len(x) > 1 else energy


class Single(GaussianEnergy):
    def forward(self, x):
        return super().forward(x).float()


class Detached(GaussianEnergy):
    def forward(self, x):
        return super().forward(x) + x.detach().square().sum(1)


class Doubled(GaussianEnergy):
    def energy_and_grad(self, x):
        energy, gradient = super().energy_and_grad(x)
        return energy, 2 * gradient


class FixedMean(GaussianEnergy):
    def forward(self, x):
        return super().forward(x + self.mean.detach() - self.mean)


class PythonRandom(GaussianEnergy):
    def __init__(self, mean, covariance, event):
        super().__init__(mean + random.random(), covariance, event)


class Forgetful(GaussianEnergy):
    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.shift = float(torch.randn(()))  # no buffer, so it is not saved

    def forward(self, x):
        return super().forward(x + self.shift)


class Counting(GaussianEnergy):
    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.register_buffer("looks", torch.zeros(()))

    def forward(self, x):
        self.looks += 1
        return super().forward(x)


class Dropping(GaussianEnergy):
    """In training mode too; there alone it would be `nn.Dropout`, which is right."""

    def forward(self, x):
        return super().forward(nn.functional.dropout(x, 0.5, training=True))


class Unseeded(GaussianEnergy):
    """In training mode randomness that the engine does not seed."""

    def forward(self, x):
        return super().forward(x) + (random.random() if self.training else 0.0)


class SeededByTheClock(GaussianEnergy):
    """In training mode randomness of its own."""

    def forward(self, x):
        return super().forward(x) + (time.perf_counter() if self.training else 0.0)


class OnTheHost(GaussianEnergy):
    def forward(self, x):
        return super().forward(x) + torch.zeros(len(x))


class WrongConstant(GaussianEnergy):
    def log_z(self):
        return super().log_z() + 1e-4


class FrozenConstant(GaussianEnergy):
    """Right until training moves the parameters."""

    def __init__(self, mean, covariance, event):
        super().__init__(mean, covariance, event)
        self.register_buffer("normaliser", super().log_z().detach())

    def log_z(self):
        return self.normaliser


class Wide(GaussianEnergy):
    def sample_exact(self, n, rng):
        return 1.05 * super().sample_exact(n, rng)


class Blurred(GaussianEnergy):
    def noised(self, sigma):
        return super().noised(sigma**0.5)


class Entangled(GaussianEnergy):
    def noised(self, sigma):
        noised = super().noised(sigma)
        noised.mean = self.mean
        return noised


def planted_machine(net):
    @component("planted")
    class Planted(Model):
        space = "spin"
        offers = frozenset({"energy", "gradient", "conditionals", "blocks", "sample_exact", "log_z", "ground_state"})

        def event(self):
            return (3,)

        def build(self, event):
            weights = torch.tensor([[0.0, -1.0, -1.0], [-1.0, 0.0, 2.0], [-1.0, 2.0, 0.0]])
            return net(event, (-1.0, 1.0), weights, torch.tensor([0.0, 1.0, 0.0]))

    return Planted()


class Nameless(BoltzmannEnergy):
    def __init__(self, event, values, weights, biases):
        super().__init__(event, values, weights, biases)
        del self.unit_values


class Misnamed(BoltzmannEnergy):
    def __init__(self, event, values, weights, biases):
        super().__init__(event, values, weights, biases)
        self.unit_values = (0.0, 1.0)


class Timid(BoltzmannEnergy):
    """As if a spin went up by one."""

    def log_odds(self, x, sites):
        return super().log_odds(x, sites) / 2


class Unordered(BoltzmannEnergy):
    def log_odds(self, x, sites):
        return super().log_odds(x, sites.sort().values)


class Together(BoltzmannEnergy):
    """One block of units that act on each other."""

    def blocks(self):
        return [self.order]


class Incomplete(BoltzmannEnergy):
    def blocks(self):
        return super().blocks()[1:]


class WrongSum(BoltzmannEnergy):
    def log_z(self):
        return super().log_z() + 1e-4


class Flipped(BoltzmannEnergy):
    def sample_exact(self, n, rng):
        return -super().sample_exact(n, rng)


class Excited(BoltzmannEnergy):
    def ground_state(self):
        return -super().ground_state()


class OneSided(RBMEnergy):
    """Counts the hidden units' higher value only."""

    def forward(self, x):
        v = x.flatten(1)
        return self.visible_energy(v) - self.hidden_field(v).sum(1)


@component("one_sided")
class PlantedHidden(Model):
    """A restricted Boltzmann machine whose energy is not a sum over its hidden units."""

    space = "binary"
    offers = frozenset({"energy", "gradient", "hidden"})

    def build(self, event):
        return OneSided(event, (0.0, 1.0), 3, None, None, None)


def planted_layers(net, ability):
    @component("planted")
    class Planted(Model):
        space = "binary"
        offers = frozenset({"energy", "gradient", "blocks", "hidden", ability})

        def build(self, event):
            return net(event, (0.0, 1.0), 3, None, None, None)

    return Planted()


class Late(RBMEnergy):
    """The energies of other states than those before the sweep."""

    def sweep(self, units, temperature, rng):
        swept, energy = super().sweep(units, temperature, rng)
        return swept, energy + 1


class Loose(RBMEnergy):
    """As if the entropy counted twice."""

    def posterior_energy(self, x, rng):
        return super().posterior_energy(x, rng) - 1


class Excessive(RBMEnergy):
    def activations(self, x):
        return [1 + p for p in super().activations(x)]


class Averaging(RBMEnergy):
    def reconstruct(self, x):
        return x.mean(0).expand_as(x)


class Even(RBMEnergy):
    def joint_log_odds(self, units, sites):
        return units.new_ones(len(units), len(sites))


@component("modest")
class Modest(Model):
    """Counts only its mean."""

    def event(self):
        return (2,)

    def parameter_count(self, event):
        return 2

    def build(self, event):
        return GaussianEnergy(torch.zeros(2), torch.eye(2), event)


def named(*names):
    @component("named")
    class Named(Modest):
        def coordinate_names(self):
            return names

    return Named()


@component("vectors_only")
class VectorsOnly(Model):
    """Does not refuse images."""

    def build(self, event):
        return torch.nn.Sequential(torch.nn.Linear(event[0], 4), torch.nn.SiLU(), torch.nn.Linear(4, 1), Flat())


class Flat(torch.nn.Module):
    def forward(self, x):
        return x[:, 0]


PLANTED = [
    (laws.takes_every_shape_that_it_does_not_refuse, VectorsOnly()),
    (laws.names_its_coordinates, named("mu")),
    (laws.names_its_coordinates, named("mu", "mu")),
    (laws.counts_its_parameters, Modest()),
    (laws.gives_one_number_a_state, planted(Column)),
    (laws.treats_states_apart, planted(Centred)),
    (laws.keeps_the_dtype, planted(Single)),
    (laws.has_the_gradient_of_differences, planted(Detached)),
    (laws.has_the_gradient_by_hand, planted(Doubled)),
    (laws.has_the_parameter_gradient_of_differences, planted(FixedMean)),
    (laws.is_built_from_the_seed_alone, planted(PythonRandom)),
    (laws.is_saved_whole, planted(Forgetful)),
    (laws.is_not_changed_by_looking, planted(Counting)),
    (laws.is_not_changed_by_looking, planted(Dropping)),
    (laws.is_not_changed_by_looking, planted(Unseeded)),
    (laws.is_not_changed_by_looking, planted(SeededByTheClock)),
    (laws.runs_on_the_device, planted(OnTheHost)),
    (laws.knows_the_values_of_its_units, planted_machine(Nameless)),
    (laws.knows_the_values_of_its_units, planted_machine(Misnamed)),
    (laws.has_the_conditionals_of_its_energy, planted_machine(Timid)),
    (laws.has_the_conditionals_of_its_energy, planted_machine(Unordered)),
    (laws.draws_units_given_all_others, planted_machine(Together)),
    (laws.draws_units_given_all_others, planted_machine(Incomplete)),
    (laws.has_the_normaliser_of_quadrature, planted_machine(WrongSum)),
    (laws.draws_from_its_density, planted_machine(Flipped)),
    (laws.has_no_energy_below_its_ground_state, planted_machine(Excited)),
    (laws.sums_over_its_hidden_units, PlantedHidden()),
    (laws.sweeps_over_its_blocks, planted_layers(Late, "sweeps")),
    (laws.bounds_its_energy_by_the_posterior, planted_layers(Loose, "posterior")),
    (laws.has_layers_of_hidden_units, planted_layers(Excessive, "activations")),
    (laws.reconstructs_states, planted_layers(Averaging, "reconstruct")),
    (laws.has_the_joint_conditionals_of_its_energy, planted_layers(Even, "joint_conditionals")),
    (laws.has_the_normaliser_of_quadrature, planted(WrongConstant)),
    (laws.has_the_normaliser_of_quadrature, planted(FrozenConstant)),
    (laws.draws_from_its_density, planted(Wide)),
    (laws.is_convolved_when_noised, planted(Blurred)),
    (laws.is_convolved_when_noised, planted(Entangled)),
]
