"""Bugs planted in `icm`, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

FILE = "components/samplers/icm.py"
HERE = "components.samplers.test_icm"

PROOFS = [
    proof(HERE, "test_a_sweep_takes_the_lower_energy_unit_by_unit", (10,), "spin"),
    proof(HERE, "test_a_sweep_takes_the_lower_energy_unit_by_unit", (1, 4, 4), "binary"),
    proof(HERE, "test_synchronous_units_see_the_sweep_before", (10,), "binary"),
    proof(HERE, "test_the_energy_never_increases_and_ends_in_a_local_minimum", "spin", "random"),
    proof(HERE, "test_a_sweep_is_over_all_units", "random"),
    proof(HERE, "test_a_random_scan_has_another_order_in_every_sweep"),
    proof(HERE, "test_a_unit_without_a_preference_keeps_its_value", "spin", "block"),
    proof(HERE, "test_numbers_that_are_not_finite_are_not_hidden"),
]

BUGS = [
    Planted(
        "neighbours of the sweep before", "icm", FILE, "model.log_odds(x, sites)", "model.log_odds(state.x, sites)"
    ),
    Planted(
        "upside down",
        "icm",
        FILE,
        "torch.where(odds > 0, high, torch.where(odds < 0, low, present))",
        "torch.where(odds < 0, high, torch.where(odds > 0, low, present))",
    ),
    Planted(
        "ties go down",
        "icm",
        FILE,
        "torch.where(odds < 0, low, present)",
        "torch.where(odds < 0, low, low)",
    ),
    Planted("NaN keeps the value", "icm", FILE, "torch.where(odds.isnan(), odds, mode)", "mode"),
    Planted(
        "synchronous by blocks",
        "icm",
        FILE,
        "return [torch.arange(count, device=device)]",
        "return energy.ask(Blocks).blocks()",
    ),
    Planted(
        "one order for all sweeps",
        "icm",
        FILE,
        "torch.randperm(count, generator=rng, device=device)",
        "torch.arange(count, device=device)",
    ),
    Planted(
        "the last unit never changed",
        "icm",
        FILE,
        "torch.randperm(count, generator=rng, device=device)",
        "torch.randperm(count, generator=rng, device=device)[:-1]",
    ),
]

AS_RIGHT = [
    Planted(
        "another random order",
        "icm",
        FILE,
        "torch.randperm(count, generator=rng, device=device)",
        "torch.randperm(count, generator=rng, device=device).flip(0)",
    )
]
