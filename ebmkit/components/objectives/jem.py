"""Joint energy models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.inits.replay import Replay
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Loss, Objective, Sampler
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.abilities import Logits
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.starts import Starts
    from ebmkit.contracts.setting import Setting


@component("jem")
class JEM(Objective):
    """Joint energy-based model: cross-entropy of a classifier plus the likelihood of the energy in its logits.

        -log p(x, y) = -log p(y | x) - log p(x),    p(y | x) = softmax f(x),    E(x) = -log sum_y exp f(x)[y]
        L = E_data[-log softmax f(x)[y]] + weight L_mle(x)

    The first term is plain cross-entropy, the second `mle` with the same sampler, init and energy_l2.

    Parameters:
        weight: factor of the generative term; 0 is a plain classifier, without chains.
        sampler: draws from the model; one chain per data point.
        init: starting points of those chains.
        energy_l2: factor of a penalty that keeps energies near zero, inside the generative term; see `mle`.
        input_noise: standard deviation of Gaussian noise added to the data points of every batch against overfitting;
            0 adds none.

    Reference: Grathwohl et al., "Your classifier is secretly an energy based model and you should treat it like one",
    arXiv:1912.03263.

    Example: objective: {use: jem, weight: 1.0, sampler: {use: langevin, steps: 20, step_size: 0.01}}
    """

    consistent: ClassVar[bool] = True

    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "logits"})
    needs_labels: ClassVar[bool] = True

    weight: Annotated[float, Ge(0)] = 1.0
    sampler: Sampler = MixedMALA(steps=20)
    init: Init = Replay()
    energy_l2: Annotated[float, Ge(0)] = 0.0
    input_noise: Annotated[float, Ge(0)] = 0.0

    def traits(self) -> ObjectiveTraits:
        generative = 3 + self.sampler.steps if self.weight else 0
        return super().traits()._replace(sampler=self.sampler, evaluations=1.5 + generative)

    def extras(self, event: Event, data: Tensor) -> Starts:
        return self.init.build(event)

    def prepare(self, setting: Setting) -> None:
        """Raise a ValueError if a label of the training data is outside the classes of the model."""
        if setting.data is None or setting.labels is None:
            return
        like = next(setting.model.parameters())
        with torch.no_grad():
            classes = cast("Logits", setting.model).logits(setting.data[:1].to(like)).shape[1]
        low, high = setting.labels.aminmax()
        if low < 0 or high >= classes:
            wrong = int(low if low < 0 else high)
            raise ValueError(f"the data have a label {wrong}, but the model has {classes} classes, 0 to {classes - 1}")

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        assert context.labels is not None  # checked by resolve
        if self.input_noise:
            batch = batch.add(torch.empty_like(batch).normal_(generator=context.rng), alpha=self.input_noise)
        logits = cast("Logits", model).logits(batch)
        cross_entropy = torch.nn.functional.cross_entropy(logits, context.labels)
        if not self.weight:
            return Loss(cross_entropy, {"cross_entropy": cross_entropy.detach()})
        generative = MLE(sampler=self.sampler, init=self.init, energy_l2=self.energy_l2).loss(model, batch, context)
        metrics = {"cross_entropy": cross_entropy.detach(), **generative.metrics}
        return Loss(cross_entropy + self.weight * generative.value, metrics)
