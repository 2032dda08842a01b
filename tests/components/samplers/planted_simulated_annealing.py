"""Bugs planted in `simulated_annealing`, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

FILE = "components/samplers/simulated_annealing.py"
HERE = "components.samplers.test_simulated_annealing"

PROOFS = [
    proof(HERE, "test_temperatures_decrease_by_one_factor"),
    proof(HERE, "test_at_one_temperature_it_is_the_inner_sampler", "spin"),
    proof(HERE, "test_the_last_step_is_made_at_the_last_temperature"),
    proof(HERE, "test_it_finds_lower_energies_than_a_descent", "binary"),
    proof(HERE, "test_energies_are_those_of_the_model_not_of_its_temperature"),
]

BUGS = [
    Planted("the end is not reached", "annealing", FILE, "count / (self.steps - 1)", "count / self.steps"),
    Planted("temperatures increase", "annealing", FILE, "self.end / self.start", "self.start / self.end"),
    Planted(
        "a linear decrease", "annealing", FILE, "(self.end / self.start) ** share", "(1 - share) + self.end * share"
    ),
    Planted("one temperature", "annealing", FILE, "self.temperature(state.done)", "self.start"),
    Planted("temperatures are never counted", "annealing", FILE, "state.done + 1", "state.done"),
    Planted(
        "cold chains",
        "annealing",
        FILE,
        "self.sampler.step(heated, inner, rng)",
        "self.sampler.step(energy, inner, rng)",
    ),
    Planted("one step at each temperature", "annealing", FILE, "range(self.sampler.steps)", "range(1)"),
    Planted("heated energies", "annealing", FILE, "StepInfo(energy=height)", "StepInfo(energy=heated(state.x))"),
]

AS_RIGHT = [
    Planted(
        "powers by logarithms",
        "annealing",
        FILE,
        "self.start * (self.end / self.start) ** share",
        "self.start ** (1 - share) * self.end ** share",
    )
]
