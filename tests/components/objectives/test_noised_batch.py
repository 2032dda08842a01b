"""How a batch is spread over the levels of noise."""

import torch

from ebmkit.components.objectives.noised_batch import even_shares
from tests.components.oracles import generator


def test_all_levels_are_trained_in_half_precision_too():
    batch, source = torch.zeros(128, 2, dtype=torch.bfloat16), generator(0)
    shares = torch.cat([even_shares(batch, source) for _ in range(300)])
    assert len((shares * 1000).long().unique()) == 1000
