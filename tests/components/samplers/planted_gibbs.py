"""Bugs planted in `gibbs`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import table
from tests.planting import Planted, proof

ISING = "components.models.test_ising"

PROOFS = [
    proof(ISING, "test_a_sweep_is_the_product_of_exact_draws", (2, 2), False, "spin", 1.7, to_the_letter=True),
    proof(ISING, "test_half_lattices_have_the_field_and_the_energy_of_the_whole_one", (4, 6), True, "binary"),
    proof(ISING, "test_half_lattices_have_the_field_and_the_energy_of_the_whole_one", (3, 5), False, "spin"),
    proof(ISING, "test_a_sweep_is_the_product_of_exact_draws", (3,), False, "spin", 1.0, to_the_letter=True),
    proof(ISING, "test_half_lattices_of_a_chain_follow_states_that_were_changed"),
    proof("maths.test_coins", "test_all_bits_together_are_every_number_once", lambda module: module.torch.float32),
    table("image", "fixed", 1.5),
    table("lattice", "block", 1.5),
    table("lattice", "random", 1.5),
    table("torus", "block", 1.5),
    proof("statistics.test_discrete_samplers", "test_chains_come_from_everywhere_to_everywhere", "fixed"),
    proof(
        "statistics.test_discrete_samplers",
        "test_a_random_sweep_is_reversible",
        "three spins",
        0.6,
        to_the_letter=True,
    ),
    proof(
        "statistics.test_discrete_samplers",
        "test_a_fixed_sweep_is_the_product_of_its_draws",
        "three spins",
        1.7,
        to_the_letter=True,
    ),
]

BOARD, LATTICE, COINS = (
    "components/models/nets/checkerboard.py",
    "components/models/nets/swept_lattice.py",
    "maths/coins.py",
)

BUGS = [
    Planted(
        "sweeps of one colour",
        "gibbs",
        LATTICE,
        "board.draw(colour, odds.sigmoid_(), rng)",
        "board.draw(0, odds.sigmoid_(), rng)",
    ),
    Planted("half lattices of the wrong parity", "gibbs", BOARD, "-1 if first else 1", "1 if first else -1"),
    Planted("gaps that are units", "gibbs", BOARD, "gap.zero_()", "pass"),
    Planted("rings that are open", "gibbs", BOARD, "periodic and shape[-1] > 2", "False"),
    Planted("a lattice that forgets its temperature", "gibbs", LATTICE, "odds.div_(temperature)", "pass"),
    Planted("states that are not read again", "gibbs", BOARD, "units._base is self._last[0]", "True"),
    Planted("changed states that are not read again", "gibbs", BOARD, "units._version == self._last[1]", "True"),
    Planted("energies without the field", "gibbs", LATTICE, "board.along_field(1)", "0"),
    Planted(
        "numbers without their rest",
        "gibbs",
        COINS,
        "self._shared.mul_(2.0**-self._digits)",
        "self._shared.mul_(0.0)",
    ),
    Planted("signed bits that are not shifted", "gibbs", COINS, "0.5", "0.0"),
    Planted(
        "neighbours of the sweep before",
        "gibbs",
        "components/samplers/gibbs.py",
        "model.draw_units(units, sites, self.temperature, rng)",
        "model.draw_units(state.x.flatten(1), sites, self.temperature, rng)",
    ),
    Planted(
        "all units at once",
        "gibbs",
        "components/samplers/gibbs.py",
        "return model.blocks()",
        "return [torch.arange(count, device=device)]",
    ),
    Planted(
        "upside down",
        "gibbs",
        "maths/two_valued.py",
        "is_high if values == (0, 1) else low + (high - low) * is_high",
        "high - (high - low) * is_high",
    ),
    Planted(
        "temperature forgotten",
        "gibbs",
        "components/samplers/gibbs.py",
        "model.draw_units(units, sites, self.temperature, rng)",
        "model.draw_units(units, sites, 1.0, rng)",
    ),
    Planted(
        "the last unit never drawn",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.split(torch.arange(count, device=device), 1)",
        "torch.split(torch.arange(count - 1, device=device), 1)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "units in reverse order",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.arange(count, device=device)",
        "torch.arange(count, device=device).flip(0)",
    )
]
