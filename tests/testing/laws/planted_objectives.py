"""Objectives that break one law each: denoising score matching with one thing wrong."""

import itertools

import torch
from torch import nn

from ebmkit.api import Loss, Objective, component
from ebmkit.testing.laws import objective as laws


class Denoising(Objective):
    """The right one, in pieces that can be replaced."""

    needs = frozenset({"energy", "gradient"})

    def loss(self, model, batch, context):
        xi = self.noise(batch, context)
        noisy = (batch + 0.5 * xi).requires_grad_()
        (gradient,) = torch.autograd.grad(model(noisy).sum(), noisy, create_graph=True)
        return self.result((gradient - 2 * xi).flatten(1).square().sum(1) / 2)

    def noise(self, batch, context):
        return torch.empty_like(batch).normal_(generator=context.rng)

    def result(self, each):
        return Loss(each.mean(), {})


@component("column")
class Column(Denoising):
    def result(self, each):
        return Loss(each.mean()[None], {})


@component("logs_a_graph")
class LogsAGraph(Denoising):
    def result(self, each):
        return Loss(each.mean(), {"largest": each.max()})


@component("single")
class Single(Denoising):
    def result(self, each):
        return Loss(each.mean().float(), {})


@component("idle")
class Idle(Denoising):
    def result(self, each):
        return Loss(each.mean() * 0, {})


@component("summed")
class Summed(Denoising):
    def result(self, each):
        return Loss(each.sum(), {})


@component("halved")
class Halved(Denoising):
    """The value of the loss, and half of its gradient."""

    def result(self, each):
        value = each.mean()
        return Loss((value + value.detach()) / 2, {})


@component("own_seeds")
class OwnSeeds(Denoising):
    seeds = itertools.count()

    def noise(self, batch, context):
        return torch.empty_like(batch).normal_(generator=torch.Generator().manual_seed(next(self.seeds)))


@component("global_noise")
class GlobalNoise(Denoising):
    def noise(self, batch, context):
        return torch.randn_like(batch)


@component("in_place")
class InPlace(Denoising):
    def noise(self, batch, context):
        xi = super().noise(batch, context)
        batch += 0.1 * xi
        return xi


@component("switches_to_eval")
class SwitchesToEval(Denoising):
    def loss(self, model, batch, context):
        return super().loss(model.eval(), batch, context)


class Memory(nn.Module):
    """Remembers the last noise, but not in a buffer."""

    last = None


@component("forgetful")
class Forgetful(Denoising):
    def extras(self, event, data):
        return Memory()

    def noise(self, batch, context):
        xi, last = super().noise(batch, context), context.extras.last
        context.extras.last = xi
        return xi if last is None else (xi + last) / 2**0.5


@component("item")
class Item(Denoising):
    def result(self, each):
        return Loss(each.mean() + each.max().item(), {})


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_z = nn.Parameter(torch.zeros(()))


@component("modest")
class Modest(Denoising):
    """Has a parameter of its own, but says that it has none."""

    def extras(self, event, data):
        return Extra()

    def parameter_count(self, event):
        return 0


PLANTED = [
    (laws.counts_its_parameters, Modest()),
    (laws.gives_a_finite_scalar, Column()),
    (laws.gives_a_finite_scalar, LogsAGraph()),
    (laws.gives_a_finite_scalar, Single()),
    (laws.teaches_the_model, Idle()),
    (laws.is_a_mean_over_the_batch, Summed()),
    (laws.has_the_gradient_of_differences, Halved()),
    (laws.is_deterministic, OwnSeeds()),
    (laws.uses_no_global_randomness, GlobalNoise()),
    (laws.leaves_model_and_batch_alone, InPlace()),
    (laws.leaves_model_and_batch_alone, SwitchesToEval()),
    (laws.is_saved_whole, Forgetful()),
    (laws.runs_on_the_device, Item()),
]
