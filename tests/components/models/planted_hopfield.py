"""Bugs planted in `hopfield` and in its recall, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

NET = "components/models/nets/hopfield.py"
METRIC = "components/metrics/recall.py"
CORRUPTION = "maths/corruption.py"
STARTS = "components/inits/nets/pattern_starts.py"
HERE = "components.models.test_hopfield"

PROOFS = [
    proof(HERE, "test_the_energy_is_that_of_the_rule", "hebbian"),
    proof(HERE, "test_the_energy_is_that_of_the_rule", "pseudo_inverse"),
    proof(HERE, "test_binary_units_have_the_energy_of_spins_up_to_a_constant", "hebbian"),
    proof(HERE, "test_dependent_patterns_are_stored_by_the_pseudo_inverse"),
    proof(HERE, "test_patterns_that_leave_no_room_are_refused"),
    proof(HERE, "test_the_training_data_are_stored", "binary"),
    proof("components.metrics.test_recall", "test_what_is_far_below_the_capacity_is_recalled", "spin"),
    proof("components.metrics.test_recall", "test_starts_that_stay_have_the_overlap_of_their_corruption", "binary"),
    proof("components.metrics.test_recall", "test_starts_are_the_patterns_in_turn"),
    proof("maths.test_corruption", "test_exactly_a_share_of_the_units_is_flipped", (0.0, 1.0)),
    proof("maths.test_corruption", "test_masked_units_are_coins_and_no_flipped_ones"),
]

BUGS = [
    Planted("a diagonal", "hopfield", NET, "((w + w.T) / 2).fill_diagonal_(0)", "(w + w.T) / 2"),
    Planted("weights not divided by n", "hopfield", NET, "s.T @ s / s.shape[1]", "s.T @ s"),
    Planted("weights divided by the patterns", "hopfield", NET, "s.T @ s / s.shape[1]", "s.T @ s / len(s)"),
    Planted("binary weights without their slope", "hopfield", NET, "slope**2 * w", "slope * w"),
    Planted("binary units without biases", "hopfield", NET, "slope * shift * w.sum(1)", "0 * w.sum(1)"),
    Planted("biases of the wrong sign", "hopfield", NET, "slope * shift * w.sum(1)", "-slope * shift * w.sum(1)"),
    Planted("always Hebbian", "hopfield", NET, "self.storage == 'pseudo_inverse'", "False"),
    Planted("one pattern of the data", "hopfield", NET, "self.store(setting.data)", "self.store(setting.data[:1])"),
    Planted("overlap is the share of right units", "hopfield", METRIC, "1 - 2 * wrong.mean()", "1 - wrong.mean()"),
    Planted(
        "recalled at the start", "hopfield", METRIC, "run_chain(sampler, view.module, start, view.rng).x", "patterns"
    ),
    Planted("errors are not allowed", "hopfield", METRIC, "wrong <= self.errors", "wrong <= 0"),
    Planted("flips are masks", "hopfield", CORRUPTION, "low + high - flat", "coin"),
    Planted(
        "units chosen with probability",
        "hopfield",
        CORRUPTION,
        "torch.empty_like(flat).uniform_(generator=rng).argsort(1).argsort(1)",
        "torch.empty_like(flat).uniform_(generator=rng).mul(units)",
    ),
    Planted("masks over flips", "hopfield", CORRUPTION, "(rank >= flips) & (rank < flips + masks)", "rank < masks"),
    Planted(
        "one pattern for all",
        "hopfield",
        STARTS,
        "torch.arange(len(like), device=like.device) % len(self.patterns)",
        "torch.zeros(len(like), dtype=torch.int64)",
    ),
]

AS_RIGHT = [
    Planted(
        "a projection by a solution of equations",
        "hopfield",
        NET,
        "torch.linalg.pinv(s) @ s",
        "torch.linalg.lstsq(s, s, driver='gelsd').solution",
    ),
    Planted(
        "a random order the other way",
        "hopfield",
        CORRUPTION,
        "torch.empty_like(flat).uniform_(generator=rng).argsort(1).argsort(1)",
        "torch.empty_like(flat).uniform_(generator=rng).argsort(1)",
    ),
]
