"""The laws of a loss: what it returns, its gradient, and what it leaves alone."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.chains.context import StepContext
from ebmkit.contracts.kinds import Loss, Objective
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.oracles import generator, require_same_law, require_slope
from ebmkit.testing.partner import build, data, default_dtype, model_for, seeded, states
from ebmkit.testing.setting import small_setting
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged, unmoved


class _Setting(NamedTuple):
    """The inputs of a loss."""

    objective: Objective
    model: nn.Module
    extras: nn.Module | None
    batch: Tensor

    def loss(self, seed: int = 2) -> Loss:
        """The loss with the generator at the start of a stream."""
        return self.objective.loss(self.model, self.batch, self.context(seed))

    def context(self, seed: int = 2) -> StepContext:
        """The context of a first step, with alternating labels."""
        return StepContext(generator(seed), self.extras, 1, labels=_labels(self.batch))

    def trained(self) -> list[Tensor]:
        modules = [module for module in (self.model, self.extras) if module is not None]
        return [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]

    def rivals(self) -> list[Tensor]:
        """The trained tensors that follow the rival's loss."""
        theirs = self.extras.rival.parameters() if isinstance(self.extras, Contest) else ()
        return [parameter for parameter in theirs if parameter.requires_grad]

    def gradient(self) -> list[Tensor]:
        """The gradient of the loss with respect to all trained tensors; zero where it does not depend on them."""
        loss, trained, theirs = self.loss(), self.trained(), set(map(id, self.rivals()))
        return [
            *_slopes(loss.value, [p for p in trained if id(p) not in theirs]),
            *_slopes(loss.rival, [p for p in trained if id(p) in theirs]),
        ]


def _slopes(value: Tensor | None, at: list[Tensor]) -> list[Tensor]:
    if value is None or not at:
        return []
    slopes = torch.autograd.grad(value, at, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(p) if slope is None else slope for p, slope in zip(at, slopes, strict=True)]


def _labels(batch: Tensor) -> Tensor:
    return torch.arange(len(batch), device=batch.device) % 2


def _setting(objective: Objective, case: Case, dtype: torch.dtype = torch.float64, *, other: bool = False) -> _Setting:
    """A network, a batch, and extras fitted to the data of the batch, or to `other` data."""
    model, event = model_for(objective, case.event, case.partners)
    module = build(model, event, dtype=dtype).train()
    points = data(event, dtype) if model.traits().space == "real" else states(model, 200, event, generator(1), dtype)
    with seeded(1 if other else 0), default_dtype(dtype):
        extras = objective.extras(event, points[:100] if other else points)
        if extras is not None:
            prepare_modules(extras, small_setting(module, event, model.traits().space, points))
            extras = extras.to(dtype)
    setting = _Setting(objective, module, extras, points[:12])
    if not setting.trained():
        raise Inapplicable(f"model '{model.component_name}', which it works with, has no trainable parameters")
    return setting


def gives_a_finite_scalar(objective: Objective, case: Case) -> None:
    """A loss is a finite scalar with a gradient, in the dtype of the batch; logged values are detached and finite."""
    for dtype in (torch.float32, torch.float64):
        setting = _setting(objective, case, dtype)
        value, metrics, rival = setting.loss()
        require(value.shape == () and value.requires_grad, f"the loss has shape {tuple(value.shape)}")
        require(value.dtype == dtype, f"the loss is {value.dtype} for a batch of {dtype}")
        if rival is not None:
            require(rival.shape == () and rival.requires_grad, f"the rival's loss has shape {tuple(rival.shape)}")
            metrics = {**metrics, "the rival's loss": rival.detach()}
        for name, number in {"the loss": value, **metrics}.items():
            require(bool(number.isfinite().all()), f"{name} is {number.detach().tolist()}")
        for name, number in metrics.items():
            require(number.shape == (), f"'{name}' has shape {tuple(number.shape)}")
            require(not number.requires_grad, f"'{name}' carries a graph")


def teaches_the_model(objective: Objective, case: Case) -> None:
    """The gradient is finite, and that of the model is not zero."""
    setting = _setting(objective, case)
    gradient = setting.gradient()
    require(all(bool(slope.isfinite().all()) for slope in gradient), "a gradient is not finite")
    taught = gradient[: sum(parameter.requires_grad for parameter in setting.model.parameters())]
    require(any(bool(slope.count_nonzero()) for slope in taught), f"all of {len(taught)} gradients are zero")


def counts_its_parameters(objective: Objective, case: Case) -> None:
    """The number of parameters that it adds to those of the model, without those of a rival, is as announced."""
    setting = _setting(objective, case)
    announced = objective.parameter_count(tuple(setting.batch.shape[1:]))
    if announced is None:
        raise Inapplicable("it does not announce the number of its parameters")
    theirs = {id(parameter) for parameter in (*setting.model.parameters(), *setting.rivals())}
    found = sum(parameter.numel() for parameter in setting.trained() if id(parameter) not in theirs)
    require(announced == found, f"it announces {announced} trainable numbers of its own, but there are {found}")


def is_a_mean_over_the_batch(objective: Objective, case: Case) -> None:
    """A batch repeated four times has the same loss, on average over seeds, at a false-alarm rate of 1e-6."""
    setting = _setting(objective, case)
    larger = setting._replace(batch=setting.batch.repeat(4, *[1] * len(case.event)))
    losses = []
    for each in (setting, larger):
        # With new extras each time: what one loss leaves in a buffer must not affect the next.
        fresh = (each._replace(extras=copy.deepcopy(each.extras)) for _ in range(100))
        losses.append(torch.stack([one.loss(seed).value.detach() for seed, one in enumerate(fresh)]))
    small, large = losses
    require_same_law(small[:, None], large[:, None], "the loss of four times the batch", allowance=1e-9)


def has_the_gradient_of_differences(objective: Objective, case: Case) -> None:
    """The gradients of the loss and of the rival's loss agree with finite differences, for fixed random numbers.

    The ends of chains are recorded once and replayed: in the gradient of maximum likelihood they are constants, though
    they depend on the parameters. Changes of the extras by one loss do not affect the next.
    """
    setting = _moved_a_little(_setting(objective, case))
    ends: list[Tensor] = []

    class Recording(StepContext):
        def chain(self, *args: Any, **options: Any) -> Tensor:
            ends.append(super().chain(*args, **options))
            return ends[-1]

    class Replaying(StepContext):
        seen = 0

        def chain(self, *args: Any, **options: Any) -> Tensor:
            self.seen += 1
            return ends[self.seen - 1]

    rivals = setting.rivals()
    theirs = set(map(id, rivals))
    others = [parameter for parameter in setting.trained() if id(parameter) not in theirs]
    value, _, rival = _loss_once(setting, Recording)
    slopes, rival_slopes = _slopes(value, others), _slopes(rival, rivals)  # before any parameter is changed
    require_slope(lambda: _loss_once(setting, Replaying).value, others, slopes, "the gradient of the loss")
    if rival is not None:

        def rival_loss() -> Tensor:
            found = _loss_once(setting, Replaying).rival
            assert found is not None
            return found

        require_slope(rival_loss, rivals, rival_slopes, "the gradient of the rival's loss")


def _moved_a_little(setting: _Setting) -> _Setting:
    """Change the parameters, so that noise that follows the model differs from it."""
    rng = generator(6)
    with torch.no_grad():
        for parameter in setting.model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=rng, dtype=parameter.dtype))
    return setting


def _loss_once(setting: _Setting, context: type[StepContext]) -> Loss:
    """A loss that restores the buffers of the extras, whose parameters may have been perturbed."""
    extras, labels = setting.extras, _labels(setting.batch)
    kept = {name: tensor.clone() for name, tensor in _buffers(extras)}
    try:
        return setting.objective.loss(setting.model, setting.batch, context(generator(2), extras, 2, labels=labels))
    finally:
        for name, tensor in _buffers(extras):
            if not torch.equal(tensor, kept[name]):  # autograd objects even to a copy of equal numbers
                tensor.copy_(kept[name])


def _buffers(extras: nn.Module | None) -> list[tuple[str, Tensor]]:
    return list(extras.named_buffers()) if extras is not None else []


def says_that_it_has_an_adversary(objective: Objective, case: Case) -> None:
    """`adversary` is true exactly if its extras are a `Contest`, to which `train.rival` applies."""
    extras, named = _setting(objective, case).extras, objective.traits().adversary
    found = isinstance(extras, Contest)
    require(found == named, f"`adversary` is {named}, but its extras are {type(extras).__name__}")


def is_deterministic(objective: Objective, case: Case) -> None:
    """The same generator gives the same loss and the same gradient to the last bit."""
    one, two = _setting(objective, case), _setting(objective, case)
    require_same_bits(one.loss().value.detach(), two.loss().value.detach(), "two losses from one seed")
    one, two = _setting(objective, case), _setting(objective, case)
    for a, b in zip(one.gradient(), two.gradient(), strict=True):
        require_same_bits(a, b, "two gradients from one seed")


def uses_no_global_randomness(objective: Objective, case: Case) -> None:
    """All randomness comes from the generator in the context."""
    setting = _setting(objective, case)
    with no_global_randomness():
        setting.loss()


def leaves_model_and_batch_alone(objective: Objective, case: Case) -> None:
    """A loss changes no parameter, gradient, `requires_grad` or mode of the model, and does not modify the batch."""
    setting = _setting(objective, case)
    for training in (True, False):
        setting.model.train(training)
        # Buffers may change: spectral norms follow the weights in training mode.
        with unchanged(setting.model, buffers=not training), unmoved(setting.batch):
            setting.loss()


def is_saved_whole(objective: Objective, case: Case) -> None:
    """Extras that load the saved state of others, fitted differently, give the same next loss to the last bit."""
    one, two = _setting(objective, case), _setting(objective, case, other=True)
    if one.extras is None or two.extras is None:
        raise Inapplicable("it has no extras")
    for seed in range(3):
        one.loss(seed)
    two.extras.load_state_dict({name: tensor.detach().clone() for name, tensor in one.extras.state_dict().items()})
    require_same_bits(one.loss(9).value.detach(), two.loss(9).value.detach(), "losses with extras and their twin")


def runs_on_the_device(objective: Objective, case: Case) -> None:
    """On another device a loss and its gradient equal those on the CPU, without host synchronisation."""
    setting = _setting(objective, case, torch.float32)
    twin = copy.deepcopy(setting)
    on_cpu = setting.loss().value.detach()
    with pretended_device() as gpu:
        extras = twin.extras.to(gpu.device) if twin.extras is not None else None
        model, batch = twin.model.to(gpu.device), twin.batch.to(gpu.device)
        with gpu.watched() as seen:
            labels = _labels(batch)
            value, metrics, rival = objective.loss(
                model, batch, StepContext(gpu.generator(2), extras, 1, labels=labels)
            )
            (value if rival is None else value + rival).backward()  # type: ignore[no-untyped-call]
        seen.require_no_host_syncs()
        for name, number in {"the loss": value, **metrics}.items():
            require(number.device == gpu.device, f"{name} is on {number.device}")
        off = float((value.detach().cpu() - on_cpu).abs())
    require(off <= 1e-4 * (1 + float(on_cpu.abs())), f"the loss differs from that on the CPU by {off:.3g}")
