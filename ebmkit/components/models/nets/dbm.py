"""The deep Boltzmann machine, as a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.layered import Layered
from ebmkit.components.models.nets.rowwise import rowwise
from ebmkit.components.models.nets.tied_rbm import TiedRBMEnergy
from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import draw_values, log_sum, mean

#: Passes of mean field for the bound, which is computed less often than a gradient.
BOUND_PASSES = 100


class DBMEnergy(nn.Module):
    """`E(h_0, h_1, ..., h_L)` of layers with weights and biases of its parts; `h_0 = x`.

    A layer between two others has a bias in both of its parts, of which the mean counts.
    """

    #: Drawing hidden units given the visible ones takes a chain.
    keeps_hidden = True
    even: Tensor
    odd: Tensor

    def __init__(
        self, event: tuple[int, ...], hidden: Sequence[int], parts: Mapping[str, TiedRBMEnergy], passes: int
    ) -> None:
        """`parts` are by name, from the lowest to the highest."""
        super().__init__()
        self.event = event
        self.names = list(parts)
        self.layers = nn.ModuleList(parts.values())
        self.unit_values = next(iter(parts.values())).unit_values
        self.passes = passes
        self.hidden_units = sum(hidden)
        # The two blocks, by the numbers of their units in a joint state.
        sizes = [prod(event), *hidden]
        numbers = torch.split(torch.arange(sum(sizes)), sizes)
        self.register_buffer("even", torch.cat(numbers[0::2]), persistent=False)
        self.register_buffer("odd", torch.cat(numbers[1::2]), persistent=False)

    def _layer(self, number: int) -> TiedRBMEnergy:
        layer = self.layers[number]
        assert isinstance(layer, TiedRBMEnergy)
        return layer

    def layered(self) -> Layered:
        """The whole machine."""
        parts = [self._layer(number).single for number in range(len(self.layers))]
        between = [(low.hidden_biases + high.visible_biases) / 2 for low, high in pairwise(parts)]
        biases = [parts[0].visible_biases, *between, parts[-1].hidden_biases]
        return Layered([part.weights for part in parts], biases, self.unit_values)

    # Parts -----------------------------------------------------------------------------------------------------------

    def part(self, name: str) -> nn.Module:
        """A layer with the one below it."""
        return self._layer(self.names.index(name))

    @torch.no_grad()
    def begin_part(self, name: str) -> None:
        """Start a layer from the transpose of the one below, if sizes allow, and with the biases of the layer that both
        share. In a machine of two hidden layers the upper one then stands for the second copy of x."""
        number = self.names.index(name)
        if number == 0:
            return
        layer, below = self._layer(number).single, self._layer(number - 1).single
        if layer.weights.shape == below.weights.T.shape:
            layer.weights.copy_(below.weights.T)
            layer.hidden_biases.copy_(below.visible_biases)
        layer.visible_biases.copy_(below.hidden_biases)

    def seen_by(self, name: str, x: Tensor, rng: Generator) -> Tensor:
        """Two copies of x, or hidden units of the part below, drawn upwards from these."""
        h = torch.stack([x, x], 1)
        for number in range(self.names.index(name)):
            h = self._layer(number).draw_hidden(h, rng)
        return h

    # Joint states ----------------------------------------------------------------------------------------------------

    def joint_energy(self, units: Tensor) -> Tensor:
        """`E(x, h)`."""
        machine = self.layered()
        return machine.energy(machine.split(units))

    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """One pass upwards, in which the input from below counts twice where that from above is unknown."""
        machine, h, drawn = self.layered(), x.flatten(1), []
        for number in range(1, machine.top + 1):
            h = self._draw(machine.upwards(number, h), 1.0, rng)
            drawn.append(h)
        return torch.cat(drawn, 1)

    def _draw(self, field: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        low, high = self.unit_values
        return draw_values((high - low) * field / temperature, self.unit_values, rng)

    def blocks(self) -> list[Tensor]:
        """Layers of even number, among them the visible one, then those of odd number."""
        return [self.even, self.odd]

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Layers of even or odd number, or single units, given all others."""
        return self._draw(self._field_at(units, sites), temperature, rng)

    def joint_log_odds(self, units: Tensor, sites: Tensor) -> Tensor:
        """`E` at the lower value minus `E` at the higher one."""
        low, high = self.unit_values
        return (high - low) * self._field_at(units, sites)

    def _field_at(self, units: Tensor, sites: Tensor) -> Tensor:
        """What multiplies the units `sites (K,)`, `(B, K)`."""
        machine = self.layered()
        layers = machine.split(units)
        for parity, block in enumerate(self.blocks()):
            if sites is block:
                return torch.cat([machine.field(number, layers) for number in machine.every_second(parity)], 1)
        # Which layers they are in stays on the device.
        return torch.cat([machine.field(number, layers) for number in layers], 1).index_select(1, sites)

    # Mean field ------------------------------------------------------------------------------------------------------

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """With q of independent units, by mean field: an upper bound of E(x)."""
        return self.mean_field_energy(x, self.passes)

    def mean_field_energy(self, x: Tensor, passes: int) -> Tensor:
        """`E_q[E(x, h)] - H(q)` after this many passes, `(B,)`, with q constant."""
        machine, v = self.layered(), x.flatten(1)
        with torch.no_grad():
            fields = machine.mean_field(v, passes)
        return machine.mean_field_energy(v, fields)

    def log_bounds(self, x: Tensor, rng: Generator) -> Tensor:
        """The bound of log p(x) by mean field, `(B, 1)`. It is not random."""
        return (-self.mean_field_energy(x, BOUND_PASSES) - self.log_z()).unsqueeze(1)

    # Layers ----------------------------------------------------------------------------------------------------------

    def activations(self, x: Tensor) -> list[Tensor]:
        """`q(h_k = high)` by mean field."""
        low, high = self.unit_values
        fields = self.layered().mean_field(x.flatten(1), self.passes)
        return [torch.sigmoid((high - low) * fields[number]) for number in sorted(fields)]

    def receptive_fields(self) -> list[Tensor]:
        """`W_1`, `W_1 W_2`, and so on, a field per unit."""
        found = list(accumulate(self.layered().weights, torch.matmul))
        return [down.T.reshape(-1, *self.event) for down in found]

    def reconstruct(self, x: Tensor) -> Tensor:
        """Log odds of x given the mean of h_1 by mean field."""
        machine, (low, high) = self.layered(), self.unit_values
        fields = machine.mean_field(x.flatten(1), self.passes)
        return ((high - low) * machine.field(0, {1: mean(fields[1], self.unit_values)})).view_as(x)

    # Sums over all states --------------------------------------------------------------------------------------------

    def forward(self, x: Tensor) -> Tensor:
        """`-log sum_h exp(-E(x, h))`: layers of odd or of even number are enumerated, the others are summed out."""
        machine, v = self.layered(), x.flatten(1)
        fewest = min(machine.every_second(1), machine.every_second(2), key=machine.units)
        rows = torch.arange(2 ** machine.units(fewest), device=v.device)
        layers = machine.states(rows, fewest)
        input_of_h1, linear = v @ machine.weights[0], machine.linear(layers)
        if 1 in layers:
            # x multiplies h_1 only, which is enumerated.
            log_mass = linear + machine.summed(machine.every_second(2), layers)
            log_sums = rowwise(lambda some: (some @ layers[1].T + log_mass).logsumexp(1), input_of_h1, len(rows))
        else:
            # h_1 is summed out, for every x and every state of the layers that are enumerated.
            log_mass = linear + machine.summed(machine.every_second(3), layers)
            above = F.linear(layers[2], machine.weights[1], machine.biases[1])

            def of(some: Tensor) -> Tensor:
                sums = log_sum(some.unsqueeze(1) + above, self.unit_values).sum(2)
                return (sums + log_mass).logsumexp(1)

            log_sums = rowwise(of, input_of_h1, above.numel())
        return -(v @ machine.biases[0]) - log_sums

    def log_z(self) -> Tensor:
        """log Z by enumeration of the layers of even or of odd number, whichever are fewer units."""
        return self._log_masses(self.layered()).logsumexp(0)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples: layers of even or of odd number by enumeration, and x among them or given h_1."""
        machine = self.layered()
        log_masses = self._log_masses(machine)
        layers = machine.states(enumeration.draw(log_masses, n, rng), machine.every_second(self._fewer()))
        x = layers[0] if 0 in layers else self._draw(machine.field(0, layers), 1.0, rng)
        total = log_masses.logsumexp(0)
        return (x + (total - total)).view(n, *self.event)  # NaN if an energy is

    def _fewer(self) -> int:
        """0 if layers of even number are fewer units, else 1."""
        return int(len(self.even) >= len(self.odd))

    def _log_masses(self, machine: Layered) -> Tensor:
        """The log of the mass of every state of those layers."""
        parity = self._fewer()

        def of(rows: Tensor) -> Tensor:
            layers = machine.states(rows, machine.every_second(parity))
            return machine.linear(layers) + machine.summed(machine.every_second(1 - parity), layers)

        rows = torch.arange(2 ** len(self.blocks()[parity]), device=self.even.device)
        return rowwise(of, rows, len(self.even) + len(self.odd))
