"""Bugs planted in chain starts, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

PROOFS = [
    proof("components.inits.test_inits", "test_a_fraction_r_is_restarted"),
    proof("components.inits.test_inits", "test_slots_are_distinct_and_equally_likely"),
    proof("components.inits.test_inits", "test_kept_chains_go_back_to_the_slots_they_came_from"),
    proof("components.inits.test_inits", "test_data_starts_are_copies_of_the_batch"),
]

BUGS = [
    Planted(
        "a buffer that never restarts a chain",
        "starts",
        "components/inits/nets/replay.py",
        "again | ~used",
        "~used",
    ),
    Planted(
        "slots that are never drawn",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.randperm(n, generator=rng, device=like.device)",
    ),
    Planted(
        "slots drawn twice",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.randint(size, (n,), generator=rng, device=like.device)",
    ),
    Planted(
        "ends kept in the first slots",
        "starts",
        "components/inits/nets/replay.py",
        "self.positions[slots] = x.to(self.positions.dtype)",
        "self.positions[: len(x)] = x.to(self.positions.dtype)",
    ),
    Planted(
        "contrastive divergence that begins in noise",
        "starts",
        "components/inits/nets/data_starts.py",
        "like.detach().clone()",
        "like.new_empty(like.shape).normal_(generator=rng)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "slots by sorted numbers",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.rand(size, generator=rng, device=like.device).argsort()[:n]",
    )
]
