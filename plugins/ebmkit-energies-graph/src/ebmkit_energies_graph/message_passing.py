"""The energy of a set of particles by message passing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Event, Ge, Gt, Model, ModelTraits, component

if TYPE_CHECKING:
    from ebmkit_energies_graph.message_passing_energy import MessagePassingEnergy


@component("message_passing")
class MessagePassing(Model):
    """Message passing on the complete graph of a set of particles, with a learned trap that confines them.

        E(x) = k/2 sum_i |x_i|^2 + sum_{i<j} u(h_i + h_j, e_ij)
        h_i <- h_i + a(h_i, sum_{j != i} m(h_i, h_j, e_ij)) in every layer, with h_i = 0 before the first
        e_ij = exp(-|x_i - x_j|^2 / (2 w_k^2)),    k = 1, ..., K

    u, a and m are networks with one hidden layer. The energy depends on distances and on |x_i| only: it does not change
    if particles are renamed or the set is rotated, and but for the trap if it is moved. Without layers it is a pair
    potential; every layer lets u depend on further particles. The last axis of a state contains the coordinates of a
    particle; the cost grows with the square of the number of particles.

    Parameters:
        layers: rounds of messages.
        width: of the hidden layers, and of the features h of a particle.
        bumps: K, the number of Gaussians.
        reach: the largest width of a Gaussian, about the size of the set; the smallest is a fiftieth of it.
        trap: k before training.

    Reference: Satorras, Hoogeboom and Welling, "E(n) equivariant graph neural networks", arXiv:2102.09844, whose
    messages depend on distances, too; Schutt et al., "SchNet", arXiv:1706.08566, for the Gaussians.

    Example: model: {use: graph.message_passing, layers: 1, width: 32, reach: 5.0}
    """

    learning_rate: ClassVar[float] = 3e-3

    layers: Annotated[int, Ge(0)] = 1
    width: Annotated[int, Ge(1)] = 32
    bumps: Annotated[int, Ge(2)] = 8
    reach: Annotated[float, Gt(0)] = 5.0
    trap: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> ModelTraits:
        return super().traits()._replace(own_units=True)

    def parameter_count(self, event: Event) -> int:
        h, e = self.width, self.bumps
        messages = _network(2 * h + e, h, h)
        updates = _network(2 * h, h, h)
        return 1 + self.layers * (messages + updates) + _network(h + e, h, 1)

    def build(self, event: Event) -> MessagePassingEnergy:
        from ebmkit_energies_graph.message_passing_energy import MessagePassingEnergy

        return MessagePassingEnergy(self)


def _network(ins: int, hidden: int, outs: int) -> int:
    return (ins + 1) * hidden + (hidden + 1) * outs
