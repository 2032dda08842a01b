"""The energy of a sequence by attention."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Event, Ge, Model, Space, component

if TYPE_CHECKING:
    from ebmkit_energies_graph.energy_attention_energy import AttentionEnergy


@component("energy_attention")
class EnergyAttention(Model):
    """Energy attention: every position of a sequence of spins attends to all others, and what it finds is its energy.

        E(x) = -sum_i b_i x_i - 1/beta sum_{heads} sum_i log sum_{j != i} exp(beta q_i . k_j),    beta = 1 / sqrt(width)
        q_i = Q (a_i x_i + p_i),    k_j = K (a_j x_j + p_j)

    The derivative of the log sum is the softmax of attention, so that a position is drawn to those that its query
    agrees with. Where all scores are small the energy is that of pairs, with couplings a_i Q'K a_j of any two
    positions; large ones select. a, p and b are learned for every position, so that the length of sequences is fixed.
    Not invariant to anything: position and value are independent parts of a token.

    Parameters:
        heads: number of heads, each with its own Q and K.
        width: of a, p, queries and keys.

    Reference: Hoover et al., "Energy transformer", arXiv:2302.07253, equation 4.

    Example: model: {use: graph.energy_attention, heads: 4, width: 16}
    """

    space: ClassVar[Space] = "spin"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals"})
    learning_rate: ClassVar[float] = 1e-2

    heads: Annotated[int, Ge(1)] = 4
    width: Annotated[int, Ge(1)] = 16

    def parameter_count(self, event: Event) -> int:
        return prod(event) * (2 * self.width + 1) + 2 * self.heads * self.width**2

    def build(self, event: Event) -> AttentionEnergy:
        from ebmkit_energies_graph.energy_attention_energy import AttentionEnergy

        return AttentionEnergy(event, self.heads, self.width)
