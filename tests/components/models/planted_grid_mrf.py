"""Bugs planted in `grid_mrf` and in maximum flow, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

MODEL = "components/models/grid_mrf.py"
NET = "components/models/nets/grid_mrf.py"
FLOW = "maths/max_flow.py"
METRIC = "components/metrics/restoration.py"
HERE = "components.models.test_grid_mrf"

PROOFS = [
    proof(HERE, "test_the_model_is_the_posterior_of_all_images", 3, 3, "binary"),
    proof(HERE, "test_the_model_is_the_posterior_of_all_images", 2, 5, "spin"),
    *(proof(HERE, "test_maximum_flow_finds_what_enumeration_finds", seed, 0.3, "binary") for seed in range(5)),
    proof(HERE, "test_maximum_flow_finds_what_enumeration_finds", 0, 1.1, "spin"),
    proof(HERE, "test_an_image_without_coupling_is_the_observed_one"),
    proof(HERE, "test_the_observed_image_has_the_noise_of_the_model"),
    *(proof("maths.test_max_flow", "test_a_cut_of_nine_pixels_is_the_best_of_all", seed) for seed in range(5)),
    *(proof("maths.test_max_flow", "test_any_graph_is_cut", seed) for seed in range(5)),
    proof("maths.test_max_flow", "test_long_detours_are_found"),
    proof("maths.test_max_flow", "test_a_negative_capacity_is_refused"),
    proof(
        "components.metrics.test_recall", "test_restored_images_are_compared_with_the_true_and_the_most_probable_one"
    ),
]

BUGS = [
    Planted(
        "strength without its half",
        "grid_mrf",
        MODEL,
        "log((1 - self.noise) / self.noise) / 2",
        "log((1 - self.noise) / self.noise)",
    ),
    Planted(
        "pixels right with the noise",
        "grid_mrf",
        MODEL,
        "torch.where(wrong, 1 - truth, truth)",
        "torch.where(wrong, truth, 1 - truth)",
    ),
    Planted("binary couplings without their square", "grid_mrf", NET, "slope**2 * coupling", "slope * coupling"),
    Planted(
        "corners like the middle", "grid_mrf", NET, "torch.bincount(pairs.flatten(), minlength=truth.numel())", "4"
    ),
    Planted("the true image is observed", "grid_mrf", NET, "2 * seen.flatten() - 1", "2 * truth.flatten() - 1"),
    Planted(
        "capacities halved",
        "grid_mrf",
        NET,
        "seen.new_full((self._pairs.shape[1],), 2 * coupling)",
        "seen.new_full((self._pairs.shape[1],), coupling)",
    ),
    Planted(
        "image and background swapped",
        "grid_mrf",
        NET,
        "low + (high - low) * ones.view(self.event)",
        "high - (high - low) * ones.view(self.event)",
    ),
    Planted("no flow back", "grid_mrf", FLOW, "residual.index_add_(0, arcs.reverse[group], amount)", "pass"),
    Planted(
        "one direction only", "grid_mrf", FLOW, "torch.cat([capacity, capacity])", "torch.cat([capacity, 0 * capacity])"
    ),
    Planted(
        "one round",
        "grid_mrf",
        FLOW,
        "((excess > 0) & (distance <= len(supply))).any()",
        "torch.zeros(1).any()",
    ),
    Planted("distances of one arc", "grid_mrf", FLOW, "torch.equal(nearer, distance)", "True"),
    Planted("the sink takes all", "grid_mrf", FLOW, "torch.minimum(excess, to_sink)", "excess"),
    Planted(
        "gap of the error",
        "grid_mrf",
        METRIC,
        "float(view.energy(restored).cpu().double().mean()) - lowest",
        "float(view.energy(restored).mean())",
    ),
    Planted(
        "compared with the observed image",
        "grid_mrf",
        METRIC,
        "_error(restored, model.true_image)",
        "_error(restored, model.patterns)",
    ),
]

AS_RIGHT = [
    Planted("more sweeps", "grid_mrf", FLOW, "SWEEPS = 16", "SWEEPS = 3"),
    Planted(
        "groups in reverse order",
        "grid_mrf",
        FLOW,
        "for group in arcs.groups: ...",
        "for group in reversed(arcs.groups): ...",
    ),
]
