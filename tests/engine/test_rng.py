from __future__ import annotations

import torch

from ebmkit.engine.batches import Batches
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


def test_an_epoch_visits_every_point_once_and_the_next_in_another_order():
    data = torch.arange(12.0)
    batches = Batches(data, 4, Streams(0, CPU), "train", CPU)
    first, second = (torch.cat([batches.at(step) for step in steps]) for steps in ([1, 2, 3], [4, 5, 6]))
    assert first.sort().values.equal(data)
    assert second.sort().values.equal(data)
    assert not first.equal(second)


def test_the_position_is_the_step_alone():
    data = torch.randn(10, 2)
    running, resumed = Batches(data, 4, Streams(0, CPU), "train", CPU), Batches(data, 4, Streams(0, CPU), "train", CPU)
    seen = [running.at(step) for step in range(1, 8)]
    assert resumed.at(6).equal(seen[5])
    assert resumed.at(3).equal(seen[2])


def test_data_smaller_than_a_batch_are_one_batch():
    assert len(Batches(torch.randn(5, 2), 64, Streams(0, CPU), "train", CPU).at(9)) == 5
