"""Bugs planted in `nuts`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import orbit, stationary
from tests.planting import Planted, proof

PROOFS = [
    stationary("nuts", "line"),
    stationary("nuts", "plane"),
    stationary("cold nuts, matrix", "mixture"),
    stationary("hot nuts, masses", "two modes"),
    proof("statistics.test_nuts", "test_walls_cut_the_target_off"),
    proof("components.samplers.test_nuts", "test_masses_are_a_change_of_coordinates", False),
    orbit("line"),
    orbit("plane"),
    orbit("banana"),
]

BUGS = [
    Planted(
        "masses taken for their inverse",
        "nuts",
        "components/samplers/mass.py",
        "given.reciprocal()",
        "given",
    ),
    Planted(
        "halves that turned inside are kept",
        "nuts",
        "components/samplers/trajectory.py",
        "sound = self.going & half.going",
        "sound = self.going",
    ),
    Planted(
        "no look inside halves",
        "nuts",
        "components/samplers/trajectory.py",
        "self.going & later.going & ~turns(self, later)",
        "~turns(self, later)",
    ),
    Planted(
        "U-turns of the whole alone",
        "nuts",
        "components/samplers/trajectory.py",
        "return whole | u_turn(first.back, second.back) | u_turn(first.front, second.front)",
        "return whole",
    ),
    Planted(
        "U-turns at one end alone",
        "nuts",
        "components/samplers/trajectory.py",
        "torch.minimum(at_back, at_front) < 0",
        "at_front < 0",
    ),
    Planted(
        "states of a half drawn evenly",
        "nuts",
        "components/samplers/nuts.py",
        "(second.log_weight - first.log_weight).sigmoid()",
        "0.5",
    ),
    Planted(
        "odds of the new half upside down",
        "nuts",
        "components/samplers/nuts.py",
        "(half.log_weight - trajectory.log_weight).exp()",
        "(trajectory.log_weight - half.log_weight).exp()",
    ),
    Planted(
        "the new half always",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.move[depth] < odds",
        "uniforms.move[depth] < 1",
    ),
    Planted(
        "forwards in time only",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.side[depth] < 0.5",
        "uniforms.side[depth] < 0",
    ),
    Planted(
        "turned around without its momentum",
        "nuts",
        "components/samplers/trajectory.py",
        "end._replace(p=-end.p)",
        "end._replace(p=end.p)",
    ),
    Planted(
        "weights of joined halves forgotten",
        "nuts",
        "components/samplers/trajectory.py",
        "torch.where(sound, whole.log_weight, self.log_weight)",
        "self.log_weight",
    ),
    Planted(
        "temperature forgotten in the weights",
        "nuts",
        "components/samplers/nuts.py",
        "(first - phase.hamiltonian(state.mass)) / self.temperature",
        "first - phase.hamiltonian(state.mass)",
    ),
    Planted(
        "not a number weighs as the start does",
        "nuts",
        "components/samplers/nuts.py",
        "Trajectory.leaf(phase, (first - phase.hamiltonian(state.mass)) / self.temperature)",
        "Trajectory.leaf(phase, ((first - phase.hamiltonian(state.mass)) / self.temperature).nan_to_num())",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "the new half with its share of all weight",
        "nuts",
        "components/samplers/nuts.py",
        "(half.log_weight - trajectory.log_weight).exp()",
        "(half.log_weight - trajectory.log_weight).sigmoid()",
    ),
    Planted(
        "directions of time swapped",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.side[depth] < 0.5",
        "uniforms.side[depth] >= 0.5",
    ),
]
