"""Which points a step sees."""

import torch

from ebmkit.engine.batches import Batches
from ebmkit.engine.rng import Streams

CPU = torch.device("cpu")


def test_labels_go_with_their_points():
    """Over two epochs, whichever of the two is asked for first."""
    data = torch.arange(10.0)[:, None]
    batches = Batches(data, 4, Streams(0, CPU), "train", CPU, labels=7 * torch.arange(10))
    for step in (1, 2, 3, 4):
        if step % 2:
            points, labels = batches.at(step), batches.labels_at(step)
        else:
            labels, points = batches.labels_at(step), batches.at(step)
        assert torch.equal(7 * points[:, 0].long(), labels)


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
