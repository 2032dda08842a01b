from typing import Annotated, Any, NamedTuple, Protocol

from ebmkit.api import Ge, Model, Sampler, StepInfo, ability, component, torch


class HeatedLayers(NamedTuple):
    cold: Any
    temperature: Any  # (B,)

    def redraw(self, x, rng):
        return self.cold.redraw(x, rng, self.temperature.unsqueeze(1))

    def free_energy(self, x):
        return self.cold.free_energy(x, self.temperature.unsqueeze(1))


@ability("layers", heated=HeatedLayers)
class Layers(Protocol):
    def redraw(self, x, rng): ...  # hidden given visible units, then visible given hidden ones
    def free_energy(self, x): ...  # of the distribution that `redraw` leaves invariant


class Net(torch.nn.Module):
    unit_values = (0.0, 1.0)

    def __init__(self, event, hidden):
        super().__init__()
        self.linear = torch.nn.Linear(torch.Size(event).numel(), hidden)
        self.bias = torch.nn.Parameter(torch.zeros(self.linear.in_features))

    def forward(self, x, temperature=1.0):
        x, softplus = x.flatten(1), torch.nn.functional.softplus
        return -(x * self.bias / temperature).sum(1) - softplus(self.linear(x) / temperature).sum(1)

    free_energy = forward

    def redraw(self, x, rng, temperature=1.0):
        h = torch.bernoulli((self.linear(x.flatten(1)) / temperature).sigmoid(), generator=rng)
        field = (h @ self.linear.weight + self.bias) / temperature
        return torch.bernoulli(field.sigmoid(), generator=rng).view_as(x)


@component("rbm")
class RBM(Model):
    """Restricted Boltzmann machine: binary visible units, hidden units summed out."""

    space, offers = "binary", frozenset({"energy", "gradient", "layers"})
    hidden: int = 4

    def build(self, event):
        return Net(event, self.hidden)


class Units(NamedTuple):
    x: Any
    energy: Any


@component("block_gibbs")
class BlockGibbs(Sampler):
    """Block Gibbs sampling of layers, Metropolis-corrected where E is not their free energy (at T != 1)."""

    spaces, needs, traces = frozenset({"binary"}), frozenset({"energy", "layers"}), frozenset({"energy", "acceptance"})
    steps: Annotated[int, Ge(1)] = 10

    def init(self, energy, x, rng):
        return Units(x, energy(x))

    def step(self, energy, state, rng):
        layers, before = energy.ask(Layers), state.energy
        proposal = layers.redraw(state.x, rng)
        change = before - layers.free_energy(state.x) - (proposed := energy(proposal)) + layers.free_energy(proposal)
        taken = torch.empty_like(before).uniform_(generator=rng) < change.exp()
        x = torch.where(taken.view(-1, *[1] * (state.x.dim() - 1)), proposal, state.x)
        return Units(x, torch.where(taken, proposed, before)), StepInfo(before, acceptance=change.exp().clamp(max=1))
