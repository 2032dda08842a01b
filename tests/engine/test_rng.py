"""Random streams: one for each purpose, the same everywhere."""

import torch

from ebmkit.engine.rng import Streams

CPU = torch.device("cpu")


def test_a_seed_is_the_same_in_every_process_and_version():
    # printf 0/objective | sha256sum, its first 16 digits, halved
    assert Streams(0, CPU).seed_of("objective") == 5782530608988780571


def test_streams_differ_by_seed_and_by_path():
    seeds = {Streams(seed, CPU).seed_of(path) for seed in range(20) for path in ("model", "objective", "data/train")}
    assert len(seeds) == 60
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_drawing_from_one_stream_leaves_another_where_it_is():
    streams = Streams(1, CPU)
    expected = torch.randn(5, generator=streams.generator("a"))
    torch.randn(1000, generator=streams.generator("b"))
    assert torch.equal(torch.randn(5, generator=streams.generator("a")), expected)
