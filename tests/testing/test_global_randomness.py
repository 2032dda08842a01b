"""Which global randomness a model may use: torch's, in training mode, where the engine seeds it."""

from torch import nn

from ebmkit.api import Model, component
from ebmkit.testing import check_component


class DroppingNet(nn.Module):
    def __init__(self, event):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(event[0], 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1) + x.square().sum(1)


@component("dropping")
class Dropping(Model):
    def refusal(self, question):
        return None if len(question.event) == 1 else "takes vectors"

    def build(self, event):
        return DroppingNet(event)


def test_dropout_is_right():
    report = check_component(Dropping)
    assert "is_not_changed_by_looking" in report.obeyed
