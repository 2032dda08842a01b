"""Bugs planted in `snapshot` and what adapts by it, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import adaptive, differences, noise
from tests.planting import Planted

PROOFS = [
    adaptive("spectral_norms_change_nothing_about_it"),
    *(adaptive("the_copy_is_renewed_before_steps_1_and_1_plus_k", interval) for interval in (1, 3)),
    adaptive("penalty_is_on_the_energies_of_both_phases", (2,)),
    adaptive("three_names_for_one_loss", (2,), 3),
    adaptive("the_copy_is_a_noise_density_like_others", (2,)),
    noise("a_snapshot_keeps_its_chains_and_has_as_many_as_are_asked_for"),
    noise("a_copy_takes_the_spectral_vectors_along"),
    differences("adaptive_bregman"),
]

BUGS = [
    Planted(
        "nobody tells the copy that it is due",
        "snapshot",
        "components/objectives/nets/ratios.py",
        "noise.follow(model, context.step)",
        "pass",
    ),
    Planted(
        "the copy is made before the pass that moves the norms",
        "snapshot",
        "components/objectives/nets/ratios.py",
        "energy = model(x)\nnoise.follow(model, context.step)",
        "noise.follow(model, context.step)\nenergy = model(x)",
    ),
    Planted(
        "a copy at every step",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "self._is_due(step)",
        "True",
    ),
    Planted(
        "no copy after the first",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "self._is_due(step)",
        "step == 1",
    ),
    Planted(
        "chains on the live model",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "model if self._is_due(context.step) else self.model",
        "model",
    ),
    Planted(
        "interval off by one",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "step % self.interval == 0",
    ),
    Planted(
        "one step more between copies",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "(step - 1) % (self.interval + 1) == 0",
    ),
    Planted(
        "the copy is trained along",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "copy.deepcopy(setting.model).eval().requires_grad_(False)",
        "copy.deepcopy(setting.model).eval()",
    ),
    Planted(
        "a copy in training mode",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "copy.deepcopy(setting.model).eval()",
        "copy.deepcopy(setting.model)",
    ),
    Planted(
        "density of the copy upside down",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "return -energy",
        "return energy",
    ),
    Planted(
        "chain ends are forgotten",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "context.chain(self.sampler, source, start, starts=self.starts, traced=True)",
        "context.chain(self.sampler, source, start, traced=True)",
    ),
    Planted(
        "S0 and S1 swapped",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()",
        "self.generator.s1(log_u.noise).mean() - self.generator.s0(log_u.data).mean()",
    ),
    Planted(
        "penalty on the data alone",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "log_u.energy.chunk(2)[0].square().mean()",
    ),
    Planted(
        "half the penalty",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "log_u.energy.square().mean()",
    ),
    Planted(
        "ratios detached in the noise phase",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "self.generator.s0(log_u.noise)",
        "self.generator.s0(log_u.noise.detach())",
    ),
    Planted(
        "another noise ratio",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "AdaptiveBregman(generator=Logistic(), interval=self.interval, sampler=self.sampler, "
        "init=self.init, energy_l2=self.energy_l2, control_variate=self.control_variate)",
        "AdaptiveBregman(generator=Logistic(noise_ratio=2.0), interval=self.interval, "
        "sampler=self.sampler, init=self.init, energy_l2=self.energy_l2, "
        "control_variate=self.control_variate)",
    ),
    Planted(
        "interval not handed on",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "AdaptiveBregman(generator=Logistic(), interval=self.interval, sampler=self.sampler, "
        "init=self.init, energy_l2=self.energy_l2, control_variate=self.control_variate)",
        "AdaptiveBregman(generator=Logistic(), sampler=self.sampler, init=self.init, "
        "energy_l2=self.energy_l2, control_variate=self.control_variate)",
    ),
    Planted(
        "spectral vectors are not copied",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "zip(self.model.state_dict().values(), model.state_dict().values(), strict=True)",
        "zip(self.model.parameters(), model.parameters(), strict=True)",
    ),
    Planted(
        "init not handed on",
        "snapshot",
        "components/objectives/adaptive_nce.py",
        "AdaptiveBregman(generator=Logistic(), interval=self.interval, sampler=self.sampler, "
        "init=self.init, energy_l2=self.energy_l2, control_variate=self.control_variate)",
        "AdaptiveBregman(generator=Logistic(), interval=self.interval, sampler=self.sampler, "
        "energy_l2=self.energy_l2, control_variate=self.control_variate)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "steps counted from one",
        "snapshot",
        "components/noise/nets/snapshot.py",
        "(step - 1) % self.interval == 0",
        "step % self.interval == 1 % self.interval",
    ),
    Planted(
        "two means of squares",
        "snapshot",
        "components/objectives/adaptive_bregman.py",
        "2 * log_u.energy.square().mean()",
        "sum(energy.square().mean() for energy in log_u.energy.chunk(2))",
    ),
]
