"""The figure of distances, and the runs whose reports contain it."""

from types import SimpleNamespace

import matplotlib.figure
import pytest
import torch
from ebmkit_energies_graph import EnergyAttention, MessagePassing, ebmkit_report_panels


def view(model, event):
    points = torch.randn(50, *event, generator=torch.Generator().manual_seed(0))
    spec = SimpleNamespace(model=model)
    return SimpleNamespace(
        spec=spec, event=event, can_sample=True, data=lambda split: points, samples=lambda n: 2 * points[:n]
    )


def test_it_shows_the_densities_of_data_and_samples():
    run = view(MessagePassing(), (4, 2))
    (panel,) = ebmkit_report_panels(view=run)
    axes = matplotlib.figure.Figure().subplots()
    assert "Distances of all pairs" in panel.draw(axes, run)
    data, samples = (patch.get_data() for patch in axes.patches)
    for drawn in (data, samples):
        assert float((drawn.values * (drawn.edges[1:] - drawn.edges[:-1])).sum()) == pytest.approx(1)
    means = [float((drawn.values * drawn.edges[1:]).sum() / drawn.values.sum()) for drawn in (data, samples)]
    assert means[1] / means[0] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(("model", "event"), [(EnergyAttention(), (4,)), (MessagePassing(), (1, 3))], ids=str)
def test_other_runs_have_none(model, event):
    assert ebmkit_report_panels(view=view(model, event)) == []
