"""Bugs that samplers have had elsewhere, or might have, and variants that are as right as what they replace."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.planting import Planted, Proof, proof

# Proofs: of laws first, then to the letter ----------------------------------------------------------------------------


def stationary(name: str, target: str) -> Proof:
    return proof("statistics.test_continuous_samplers", "test_the_target_is_stationary", name, target)


def walls(sampler: Callable[[ModuleType], Any]) -> Proof:
    function = "test_proposals_without_a_finite_energy_are_refused_and_counted"
    return proof("statistics.test_continuous_samplers", function, sampler, (1, 2, 2), math.nan)


def biased(name: str) -> Proof:
    kind, parameters, T, momentum = ((lambda module, i=i: module.BIASED[name][i]) for i in range(4))
    return proof(
        "statistics.test_continuous_samplers",
        "test_the_biased_law_is_stationary",
        (10,),
        kind,
        parameters,
        T,
        momentum,
    )


def orbit(case: str) -> Proof:
    function = "test_trajectories_are_those_of_the_oracle"
    return proof("statistics.test_nuts", function, lambda module: module.CASES[case], to_the_letter=True)


def table(model: str, scan: str, temperature: float) -> Proof:
    function = "test_chains_that_begin_in_the_target_stay_in_it"
    return proof("statistics.test_discrete_samplers", function, model, scan, temperature)


def second_order(masses: str) -> Proof:
    function = "test_the_energy_error_is_of_second_order"
    return proof(
        "statistics.test_continuous_samplers",
        function,
        "plane",
        lambda module: module.MASSES[masses],
        to_the_letter=True,
    )


def underdamped(function: str, *arguments: Any, to_the_letter: bool = False) -> Proof:
    return proof("components.samplers.test_underdamped_langevin", function, *arguments, to_the_letter=to_the_letter)


def warm(function: str, *arguments: Any, to_the_letter: bool = False) -> Proof:
    return proof("chains.test_warmup", function, *arguments, to_the_letter=to_the_letter)


BATTERIES: dict[str, list[Proof]] = {
    "metropolis": [
        stationary("walk", "plane"),
        stationary("independent", "line"),
        stationary("hot walk", "two modes"),
        stationary("independent", "image"),
        walls(lambda module: module.Metropolis(steps=4, scale=0.5)),
        proof("statistics.test_discrete_samplers", "test_a_walk_on_a_few_numbers"),
        proof("components.samplers.test_metropolis", "test_the_energy_of_a_state_is_carried_along", (2,), None),
    ],
    "langevin": [
        biased("langevin"),
        biased("hot langevin"),
        proof("components.samplers.test_langevin", "test_stationary_variance_is_the_biased_one"),
        proof("components.samplers.test_langevin", "test_clamp_keeps_positions_inside"),
        proof("components.samplers.test_langevin", "test_a_clamp_does_not_bring_back_what_ran_away", (1,)),
        proof(
            "components.samplers.test_langevin",
            "test_without_noise_it_is_gradient_descent_with_a_clipped_norm",
            (1, 4, 4),
            to_the_letter=True,
        ),
    ],
    "mala": [
        stationary("mala", "plane"),
        stationary("mala", "banana"),
        stationary("hot mala, masses", "image"),
        stationary("cold mala, matrix", "ten"),
        walls(lambda module: module.MALA(steps=4, step_size=0.1)),
        proof("components.samplers.test_mala", "test_energy_and_gradient_are_carried_along", (2,)),
        proof(
            "components.samplers.test_mala",
            "test_one_step_is_the_formula",
            (2,),
            lambda module: module.MASSES["matrix"],
            0.4,
            to_the_letter=True,
        ),
    ],
    "hmc": [
        stationary("hmc", "plane"),
        stationary("hmc", "banana"),
        stationary("hot hmc, masses", "image"),
        stationary("hmc, matrix", "ten"),
        stationary("cold hmc, matrix", "two modes"),
        walls(lambda module: module.HMC(steps=4, step_size=0.2, leapfrog_steps=3)),
        proof("components.samplers.test_hmc", "test_one_gradient_a_leapfrog_step", (2,), 0.3),
        second_order("one mass"),
        second_order("masses"),
        proof("components.samplers.test_hmc", "test_one_step_is_the_algorithm", (10,), True, to_the_letter=True),
    ],
    "nuts": [
        stationary("nuts", "line"),
        stationary("nuts", "plane"),
        stationary("cold nuts, matrix", "mixture"),
        stationary("hot nuts, masses", "two modes"),
        proof("statistics.test_nuts", "test_walls_cut_the_target_off"),
        proof("components.samplers.test_nuts", "test_masses_are_a_change_of_coordinates", False),
        orbit("line"),
        orbit("plane"),
        orbit("banana"),
    ],
    "underdamped_langevin": [
        underdamped("test_chains_from_elsewhere_reach_the_biased_variance", (2,), {}, 1.0),
        underdamped("test_chains_begin_with_the_speed_that_free_ones_keep", (2,), {}),
        biased("underdamped"),
        biased("hot underdamped"),
        underdamped("test_without_noise_it_is_sgd_with_momentum", (2,), 0.9, to_the_letter=True),
    ],
    "gibbs": [
        table("image", "fixed", 1.5),
        table("lattice", "block", 1.5),
        table("lattice", "random", 1.5),
        proof("statistics.test_discrete_samplers", "test_chains_come_from_everywhere_to_everywhere", "fixed"),
        proof(
            "statistics.test_discrete_samplers",
            "test_a_random_sweep_is_reversible",
            "three spins",
            0.6,
            to_the_letter=True,
        ),
        proof(
            "statistics.test_discrete_samplers",
            "test_a_fixed_sweep_is_the_product_of_its_draws",
            "three spins",
            1.7,
            to_the_letter=True,
        ),
    ],
    "gibbs_with_gradients": [
        table("image", "gradients", 1.5),
        table("torus", "gradients", 1.0),
        proof("statistics.test_discrete_samplers", "test_what_is_cached_is_that_of_where_the_chain_stands"),
        proof("components.samplers.test_gibbs", "test_energy_and_gradient_go_along_with_the_position", (2,)),
        proof(
            "statistics.test_discrete_samplers",
            "test_flips_to_where_there_is_no_energy_are_refused_and_counted",
            (0.0, 1.0),
            math.nan,
        ),
        proof(
            "statistics.test_discrete_samplers",
            "test_gradients_propose_and_energies_decide",
            "crooked spins",
            2.3,
            to_the_letter=True,
        ),
    ],
    "exact": [proof("statistics.test_discrete_samplers", "test_exact_draws_have_the_law_of_the_table", "three spins")],
    "parallel_tempering": [
        proof("chains.test_heated_energy", "test_every_row_is_divided_by_its_own_temperature", (3,)),
        proof(
            "statistics.test_parallel_tempering",
            "test_gaussians_are_stationary_at_every_temperature",
            "metropolis",
            (2,),
        ),
        proof(
            "statistics.test_parallel_tempering",
            "test_gaussians_are_stationary_at_every_temperature",
            "mala",
            (2,),
        ),
        proof(
            "components.samplers.test_parallel_tempering",
            "test_a_replica_without_a_finite_energy_is_not_exchanged_but_counted",
            math.nan,
        ),
        proof(
            "components.samplers.test_parallel_tempering",
            "test_every_replica_has_the_energy_of_its_temperature",
            (2,),
        ),
        proof("statistics.test_parallel_tempering", "test_a_whole_step_around_gibbs", 2, 2, "fixed"),
        proof(
            "statistics.test_parallel_tempering",
            "test_exchanges_are_those_of_the_papers_and_in_detailed_balance",
            3,
            1,
            to_the_letter=True,
        ),
    ],
    "chains": [
        proof("components.models.test_conv", "test_baked_is_unbaked_to_the_last_bit"),
        proof("chains.test_draws", "test_which_states_are_kept", (2,)),
    ],
    "warm-up": [
        warm("test_draws_behind_a_warm_up_are_exact", lambda module: module.SAMPLERS["mala"]),
        proof("statistics.test_nuts", "test_chains_from_elsewhere_find_the_moments", ("gaussian", (10,), {})),
        warm("test_the_target_acceptance_is_reached", lambda module: module.SAMPLERS["hmc"], 1e-3, 0.9),
        warm(
            "test_the_metric_finds_the_variances_of_a_badly_scaled_gaussian",
            lambda module: module.SAMPLERS["hmc"],
            (10,),
        ),
        *(warm("test_short_warm_ups_end_well", steps) for steps in (20, 40, 60)),
        warm("test_a_bent_target_and_few_chains"),
        proof("chains.test_warmup", "test_draws_come_from_a_chain_that_no_longer_changes"),
        warm("test_nothing_changes_behind_a_warm_up", lambda module: module.SAMPLERS["hmc"]),
        warm("test_dual_averaging_is_the_recursion_of_its_paper", to_the_letter=True),
    ],
    "starts": [
        proof("components.inits.test_inits", "test_a_fraction_r_is_restarted"),
        proof("components.inits.test_inits", "test_slots_are_distinct_and_equally_likely"),
        proof("components.inits.test_inits", "test_kept_chains_go_back_to_the_slots_they_came_from"),
        proof("components.inits.test_inits", "test_data_starts_are_copies_of_the_batch"),
    ],
}


# Bugs -----------------------------------------------------------------------------------------------------------------

#: Some keep the law and cost only speed, as half a kick too few does, which is as wrong backwards as it is forwards:
#: only proofs to the letter can catch them.
BUGS = [
    # metropolis
    Planted(
        "acceptance upside down",
        "metropolis",
        "components/samplers/metropolis.py",
        "(height - proposed) / self.temperature",
        "(proposed - height) / self.temperature",
    ),
    Planted(
        "no Hastings term",
        "metropolis",
        "components/samplers/metropolis.py",
        "log_ratio = log_ratio + self._log_q(x, center) - self._log_q(proposal, center)",
        "pass",
    ),
    Planted(
        "Hastings term with the wrong sign",
        "metropolis",
        "components/samplers/metropolis.py",
        "+ self._log_q(x, center) - self._log_q(proposal, center)",
        "- self._log_q(x, center) + self._log_q(proposal, center)",
    ),
    Planted(
        "Hastings term of the first row of an image",
        "metropolis",
        "components/samplers/metropolis.py",
        "(x - center).flatten(1).square()",
        "(x - center).view(len(x), -1, x.shape[-1])[:, 0].square()",
    ),
    Planted(
        "temperature forgotten",
        "metropolis",
        "components/samplers/metropolis.py",
        "(height - proposed) / self.temperature",
        "height - proposed",
    ),
    Planted(
        "not a number becomes zero and is accepted",
        "metropolis",
        "components/samplers/metropolis.py",
        "proposed = energy(proposal)",
        "proposed = energy(proposal).nan_to_num()",
    ),
    Planted(
        "not a number is accepted",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.where(finite, log_ratio, -torch.inf)",
        "torch.where(finite, log_ratio, 0.0)",
    ),
    Planted(
        "energy of a refused proposal is kept",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.where(accepted, proposed, height), center)",
        "proposed, center)",
    ),
    Planted(
        "one coin for all chains",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.empty_like(proposed).uniform_(generator=rng)",
        "torch.empty_like(proposed[:1]).uniform_(generator=rng)",
    ),
    # langevin
    Planted(
        "noise off by sqrt 2",
        "langevin",
        "components/samplers/langevin.py",
        "sqrt(2 * self.step_size * self.temperature) if",
        "sqrt(self.step_size * self.temperature) if",
    ),
    Planted(
        "uphill",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size)",
        "noise.add(drift, alpha=self.step_size)",
    ),
    Planted(
        "temperature scales the noise by its square",
        "langevin",
        "components/samplers/langevin.py",
        "sqrt(2 * self.step_size * self.temperature) if",
        "sqrt(2 * self.step_size) * self.temperature if",
    ),
    Planted(
        "temperature scales the drift too",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size)",
        "noise.sub(drift, alpha=self.step_size * self.temperature)",
    ),
    Planted(
        "gradient clipped row by row",
        "langevin",
        "components/samplers/langevin.py",
        "torch.linalg.vector_norm(gradient.flatten(1), dim=1).view(-1, *[1] * (x.dim() - 1))",
        "torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)",
    ),
    Planted(
        "short gradients made long",
        "langevin",
        "components/samplers/langevin.py",
        "(self.clip_gradient / norm).clamp(max=1)",
        "(self.clip_gradient / norm)",
    ),
    Planted(
        "what ran away is clamped",
        "langevin",
        "components/samplers/langevin.py",
        "x.clamp(*self.clamp).add_(x - x)",
        "x.clamp(*self.clamp)",
    ),
    # the leapfrog steps of mala, hmc and nuts
    Planted(
        "half a kick too many",
        "hmc",
        "components/samplers/leapfrog.py",
        "value=-1 if left else -0.5",
        "value=-1",
    ),
    Planted(
        "half a kick too few",
        "hmc",
        "components/samplers/leapfrog.py",
        "value=-1 if left else -0.5",
        "value=-0.5",
    ),
    Planted(
        "no kick at the beginning",
        "mala",
        "components/samplers/leapfrog.py",
        "phase.p.addcmul(step_size, gradient, value=-0.5)",
        "phase.p.clone()",
    ),
    Planted(
        "kicks uphill",
        "mala",
        "components/samplers/leapfrog.py",
        "phase.p.addcmul(step_size, gradient, value=-0.5)",
        "phase.p.addcmul(step_size, gradient, value=0.5)",
    ),
    Planted(
        "drift without masses",
        "hmc",
        "components/samplers/leapfrog.py",
        "x.addcmul(step_size, mass.velocity(p))",
        "x.addcmul(step_size, p)",
    ),
    Planted(
        "acceptance upside down",
        "mala",
        "components/samplers/leapfrog.py",
        "(before - after).div_(temperature)",
        "(after - before).div_(temperature)",
    ),
    Planted(
        "temperature of the throw, not of the choice",
        "hmc",
        "components/samplers/leapfrog.py",
        "(before - after).div_(temperature)",
        "(before - after)",
    ),
    Planted(
        "no kinetic energy in the choice",
        "mala",
        "components/samplers/leapfrog.py",
        "start.hamiltonian(state.mass), end.hamiltonian(state.mass)",
        "start.energy, end.energy",
    ),
    Planted(
        "always accepted",
        "mala",
        "components/samplers/leapfrog.py",
        "uniform_(generator=rng) < acceptance",
        "uniform_(generator=rng) < 2",
    ),
    Planted(
        "gradient of a refused proposal is kept",
        "mala",
        "components/samplers/leapfrog.py",
        "end.gradient.where(mask, start.gradient)",
        "end.gradient",
    ),
    Planted(
        "energy of a refused proposal is kept",
        "hmc",
        "components/samplers/leapfrog.py",
        "end.energy.where(accepted, start.energy)",
        "end.energy",
    ),
    Planted(
        "not a number is accepted",
        "hmc",
        "components/samplers/leapfrog.py",
        "masked_fill_(diverged, 0)",
        "nan_to_num_(1.0)",
    ),
    # hmc
    Planted(
        "temperature of the choice, not of the throw",
        "hmc",
        "components/samplers/hmc.py",
        "state.mass.momentum(state.x, rng, self.temperature)",
        "state.mass.momentum(state.x, rng)",
    ),
    Planted(
        "momentum not drawn anew",
        "hmc",
        "components/samplers/hmc.py",
        "state.mass.momentum(state.x, rng, self.temperature)",
        "state.mass.momentum(state.x, torch.Generator().manual_seed(0), self.temperature)",
    ),
    Planted(
        "length depends on where a chain stands",
        "hmc",
        "components/samplers/hmc.py",
        "torch.empty_like(state.energy).uniform_(1 - self.jitter, 1 + self.jitter, generator=rng)",
        "1 + self.jitter * state.energy.sin()",
    ),
    Planted(
        "jitter behind the trajectory",
        "hmc",
        "components/samplers/hmc.py",
        "end = leapfrog(energy, start, eps, state.mass, self.leapfrog_steps)",
        "end = leapfrog(energy, start, state.step_size, state.mass, self.leapfrog_steps)\n"
        "        end = end._replace(x=start.x + (end.x - start.x) * eps / state.step_size)",
    ),
    Planted(
        "no choice at the end",
        "hmc",
        "components/samplers/hmc.py",
        "choose(state, start, end, self.temperature, rng)",
        "choose(state, start, end, 1e9, rng)",
    ),
    # masses
    Planted(
        "kinetic energy over the last axis only",
        "hmc",
        "chains/mass.py",
        "self.velocity(p).mul_(p).flatten(1).sum(1)",
        "self.velocity(p).mul_(p).view(len(p), -1, p.shape[-1])[:, 0].sum(1)",
    ),
    Planted(
        "kinetic energy without its half",
        "mala",
        "chains/mass.py",
        ".flatten(1).sum(1).div_(2)",
        ".flatten(1).sum(1)",
    ),
    Planted(
        "masses thrown upside down",
        "hmc",
        "chains/mass.py",
        "cls(inverse, inverse.rsqrt())",
        "cls(inverse, inverse.sqrt())",
    ),
    Planted(
        "root of a mass matrix transposed",
        "mala",
        "chains/mass.py",
        "xi.flatten(1) @ self.root.T",
        "xi.flatten(1) @ self.root",
    ),
    Planted(
        "mass matrix not inverted",
        "hmc",
        "chains/mass.py",
        "torch.cholesky_inverse(factor)",
        "mass",
    ),
    Planted(
        "masses taken for their inverse",
        "nuts",
        "components/samplers/mass.py",
        "Mass.diagonal(given.reciprocal().view(",
        "Mass.diagonal(given.view(",
    ),
    # nuts
    Planted(
        "halves that turned inside are kept",
        "nuts",
        "components/samplers/trajectory.py",
        "sound = self.going & half.going",
        "sound = self.going",
    ),
    Planted(
        "no look inside halves",
        "nuts",
        "components/samplers/trajectory.py",
        "going=self.going & later.going & ~turns(self, later)",
        "going=~turns(self, later)",
    ),
    Planted(
        "U-turns of the whole alone",
        "nuts",
        "components/samplers/trajectory.py",
        "return whole | u_turn(first.back, second.back) | u_turn(first.front, second.front)",
        "return whole",
    ),
    Planted(
        "U-turns at one end alone",
        "nuts",
        "components/samplers/trajectory.py",
        "torch.minimum(at_back, at_front) < 0",
        "at_front < 0",
    ),
    Planted(
        "states of a half drawn evenly",
        "nuts",
        "components/samplers/nuts.py",
        "(second.log_weight - first.log_weight).sigmoid()",
        "0.5",
    ),
    Planted(
        "odds of the new half upside down",
        "nuts",
        "components/samplers/nuts.py",
        "(half.log_weight - trajectory.log_weight).exp()",
        "(trajectory.log_weight - half.log_weight).exp()",
    ),
    Planted(
        "the new half always",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.move[depth] < odds",
        "uniforms.move[depth] < 1",
    ),
    Planted(
        "forwards in time only",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.side[depth] < 0.5",
        "uniforms.side[depth] < 0",
    ),
    Planted(
        "turned around without its momentum",
        "nuts",
        "components/samplers/trajectory.py",
        "end._replace(p=-end.p)",
        "end._replace(p=end.p)",
    ),
    Planted(
        "weights of joined halves forgotten",
        "nuts",
        "components/samplers/trajectory.py",
        "log_weight=torch.where(sound, whole.log_weight, self.log_weight)",
        "log_weight=self.log_weight",
    ),
    Planted(
        "temperature forgotten in the weights",
        "nuts",
        "components/samplers/nuts.py",
        "(first - phase.hamiltonian(state.mass)) / self.temperature",
        "first - phase.hamiltonian(state.mass)",
    ),
    Planted(
        "not a number weighs as the start does",
        "nuts",
        "components/samplers/nuts.py",
        "Trajectory.leaf(phase, (first - phase.hamiltonian(state.mass)) / self.temperature)",
        "Trajectory.leaf(phase, ((first - phase.hamiltonian(state.mass)) / self.temperature).nan_to_num())",
    ),
    # underdamped_langevin
    Planted(
        "noise off by sqrt 2",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "sqrt(2 * (1 - self.momentum) * self.step_size * self.temperature)",
        "sqrt((1 - self.momentum) * self.step_size * self.temperature)",
    ),
    Planted(
        "noise of the full friction",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "sqrt(2 * (1 - self.momentum) * self.step_size * self.temperature)",
        "sqrt(2 * self.step_size * self.temperature)",
    ),
    Planted(
        "momentum not kept",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "UnderdampedState(x + v, v)",
        "UnderdampedState(x + v, state.v)",
    ),
    Planted(
        "chains begin at rest",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "self.noise(x, rng) / sqrt(1 - self.momentum**2)",
        "torch.zeros_like(x)",
    ),
    # gibbs
    Planted(
        "neighbours of the sweep before",
        "gibbs",
        "components/samplers/gibbs.py",
        "energy.log_odds(x, sites)",
        "energy.log_odds(state.x, sites)",
    ),
    Planted(
        "all units at once",
        "gibbs",
        "components/samplers/gibbs.py",
        "return energy.blocks()",
        "return [torch.arange(count, device=device)]",
    ),
    Planted(
        "upside down",
        "gibbs",
        "components/samplers/gibbs.py",
        "low + (high - low) * is_high.to(x.dtype)",
        "high - (high - low) * is_high.to(x.dtype)",
    ),
    Planted(
        "temperature forgotten",
        "gibbs",
        "components/samplers/gibbs.py",
        "energy.log_odds(x, sites) / self.temperature",
        "energy.log_odds(x, sites)",
    ),
    Planted(
        "the last unit never drawn",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.split(torch.arange(count, device=device), 1)",
        "torch.split(torch.arange(count - 1, device=device), 1)",
    ),
    # gibbs_with_gradients
    Planted(
        "reverse proposal forgotten",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "/ self.temperature + back - forth",
        "/ self.temperature",
    ),
    Planted(
        "Hastings term with the wrong sign",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "+ back - forth",
        "- back + forth",
    ),
    Planted(
        "temperature of the proposal, not of the choice",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(height - proposed) / self.temperature",
        "height - proposed",
    ),
    Planted(
        "gradient left behind",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "torch.where(wide, slope, gradient)",
        "gradient",
    ),
    Planted(
        "flips the unit that promises least",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "gain = (2 * x - both)",
        "gain = (both - 2 * x)",
    ),
    Planted(
        "not a number is accepted",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "torch.where(finite, log_ratio, -torch.inf)",
        "log_ratio.nan_to_num()",
    ),
    # exact
    Planted(
        "one draw for all chains",
        "exact",
        "components/samplers/exact.py",
        "module.sample_exact(len(state.x), rng)",
        "module.sample_exact(1, rng).repeat(len(state.x), *[1] * (state.x.dim() - 1))",
    ),
    # parallel_tempering
    Planted(
        "exchanges with the wrong sign",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "(height[:-1] - height[1:])",
        "(height[1:] - height[:-1])",
    ),
    Planted(
        "exchanges by the heated energies",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "log_ratio = (beta[:-1] - beta[1:])",
        "height = height * beta\n        log_ratio = (beta[:-1] - beta[1:])",
    ),
    Planted(
        "temperatures of replicas that lie otherwise",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "torch.cat([x.new_full((x.shape[1],), level) for level in self.temperatures])",
        "x.new_tensor(self.temperatures).repeat(x.shape[1])",
    ),
    Planted(
        "what replicas remember is of other states",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "replicas = self.sampler.init(heated, swapped / unit, rng)",
        "replicas = replicas._replace(x=swapped / unit)",
    ),
    Planted(
        "the upper one keeps its state",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "(pad(up, (0, 0, 0, 1)) - pad(up, (0, 0, 1, 0)))",
        "pad(up, (0, 0, 0, 1))",
    ),
    Planted(
        "the same pairs always",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "tried = (rank[:-1] % 2 == 0) == even",
        "tried = ((rank[:-1] % 2 == 0) == even) & (rank[:-1] % 2 == 0)",
    ),
    Planted(
        "hot gradients at the cold temperature",
        "parallel_tempering",
        "chains/energy.py",
        "gradient / self.temperature.view(-1, *[1] * (x.dim() - 1))",
        "gradient",
    ),
    Planted(
        "temperatures along the wrong axis",
        "parallel_tempering",
        "chains/energy.py",
        "gradient / self.temperature.view(-1, *[1] * (x.dim() - 1))",
        "gradient / self.temperature",
    ),
    Planted(
        "gradients in other units",
        "parallel_tempering",
        "chains/rescaled.py",
        "return energy, gradient * self.unit",
        "return energy, gradient",
    ),
    # the engine
    Planted(
        "a network in training mode",
        "chains",
        "chains/energy.py",
        "    module.eval()\n",
        "",
    ),
    Planted(
        "a step between two draws too few",
        "chains",
        "chains/draws.py",
        "for _ in range(thin):",
        "for _ in range(max(1, thin - 1)):",
    ),
    Planted(
        "burn-in kept",
        "chains",
        "chains/draws.py",
        "for _ in range(burn_in):",
        "for _ in range(0):",
    ),
    Planted(
        "tuned on in the draws",
        "warm-up",
        "chains/draws.py",
        "                infos.append(info)\n",
        "                infos.append(info)\n"
        "                if warmup:\n"
        "                    target = sampler.target_acceptance or 0\n"
        "                    more = ((info.acceptance.mean() - target) / 2).exp()\n"
        "                    state = state._replace(step_size=state.step_size * more)\n",
    ),
    Planted(
        "dual averaging with the wrong sign",
        "warm-up",
        "chains/warmup.py",
        "(target - acceptance - self.error)",
        "(acceptance - target - self.error)",
    ),
    Planted(
        "variances taken for masses",
        "warm-up",
        "chains/warmup.py",
        "torch.where(variance > 0, variance, state.mass.inverse)",
        "torch.where(variance > 0, 1 / variance, state.mass.inverse)",
    ),
    Planted(
        "the last step size tried, not the mean",
        "warm-up",
        "chains/warmup.py",
        "state._replace(step_size=average.log_mean.exp()), torch.stack(tried)",
        "state, torch.stack(tried)",
    ),
    # chain starts
    Planted(
        "a buffer that never restarts a chain",
        "starts",
        "components/inits/nets/replay.py",
        "again = (again | ~used)",
        "again = (~used)",
    ),
    Planted(
        "slots that are never drawn",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.randperm(n, generator=rng, device=like.device)",
    ),
    Planted(
        "slots drawn twice",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.randint(size, (n,), generator=rng, device=like.device)",
    ),
    Planted(
        "ends kept in the first slots",
        "starts",
        "components/inits/nets/replay.py",
        "self.positions[self._slots] = x.to(self.positions.dtype)",
        "self.positions[: len(x)] = x.to(self.positions.dtype)",
    ),
    Planted(
        "contrastive divergence that begins in noise",
        "starts",
        "components/inits/nets/data_starts.py",
        "like.detach().clone()",
        "like.new_empty(like.shape).normal_(generator=rng)",
    ),
]

#: Bugs that are caught in a moment, each by another way.
QUICK = [
    bug
    for bug in BUGS
    if (bug.looked_at_by, bug.name)
    in {
        ("metropolis", "no Hastings term"),
        ("langevin", "noise off by sqrt 2"),
        ("mala", "no kinetic energy in the choice"),
        ("hmc", "half a kick too many"),
        ("nuts", "states of a half drawn evenly"),
        ("gibbs", "neighbours of the sweep before"),
        ("parallel_tempering", "exchanges with the wrong sign"),
        ("chains", "a network in training mode"),
        ("starts", "a buffer that never restarts a chain"),
    }
]

# What is as right -----------------------------------------------------------------------------------------------------

SAME_LAW = [
    Planted(
        "antithetic proposals",
        "metropolis",
        "components/samplers/metropolis.py",
        ".normal_(0, self.scale, generator=rng).add_(around)",
        ".normal_(0, self.scale, generator=rng).neg_().add_(around)",
    ),
    Planted(
        "noise handed to the chains in another order",
        "metropolis",
        "components/samplers/metropolis.py",
        ".normal_(0, self.scale, generator=rng).add_(around)",
        ".normal_(0, self.scale, generator=rng).flip(0).add_(around)",
    ),
    Planted(
        "coins compared by their logarithms",
        "metropolis",
        "components/samplers/metropolis.py",
        "uniform_(generator=rng) < acceptance",
        "uniform_(generator=rng).log() < acceptance.log()",
    ),
    Planted(
        "a step written out",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size).add_(x)",
        "x - self.step_size * drift - noise",
    ),
    Planted(
        "steps of another size",
        "mala",
        "components/samplers/mala.py",
        "(2 * state.step_size).sqrt()",
        "(1.5 * state.step_size).sqrt()",
    ),
    Planted(
        "Barker's choice",
        "mala",
        "components/samplers/leapfrog.py",
        "log_ratio.clamp_(max=0).exp_()",
        "log_ratio.sigmoid()",
    ),
    Planted(
        "steps of another size",
        "hmc",
        "components/samplers/hmc.py",
        "eps = state.step_size\n",
        "eps = 0.8 * state.step_size\n",
    ),
    Planted(
        "one of two lengths",
        "hmc",
        "components/samplers/hmc.py",
        "uniform_(1 - self.jitter, 1 + self.jitter, generator=rng)",
        "bernoulli_(0.5, generator=rng).mul_(2 * self.jitter).add_(1 - self.jitter)",
    ),
    Planted(
        "thrown the other way",
        "hmc",
        "components/samplers/hmc.py",
        "p = state.mass.momentum(",
        "p = -state.mass.momentum(",
    ),
    Planted(
        "kicks too weak between drifts, forwards and backwards alike",
        "hmc",
        "components/samplers/leapfrog.py",
        "value=-1 if left else -0.5",
        "value=-0.5",
    ),
    Planted(
        "kinetic energy of whitened momenta",
        "hmc",
        "chains/mass.py",
        "self.velocity(p).mul_(p).flatten(1).sum(1).div_(2)",
        "(p.flatten(1) * self.velocity(p).flatten(1)).sum(1) * 0.5",
    ),
    Planted(
        "the new half with its share of all weight",
        "nuts",
        "components/samplers/nuts.py",
        "(half.log_weight - trajectory.log_weight).exp()",
        "(half.log_weight - trajectory.log_weight).sigmoid()",
    ),
    Planted(
        "directions of time swapped",
        "nuts",
        "components/samplers/nuts.py",
        "uniforms.side[depth] < 0.5",
        "uniforms.side[depth] >= 0.5",
    ),
    Planted(
        "noise of the other sign",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "sub_(gradient, alpha=self.step_size).add_(noise)",
        "sub_(gradient, alpha=self.step_size).sub_(noise)",
    ),
    Planted(
        "units in reverse order",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.arange(count, device=device)",
        "torch.arange(count, device=device).flip(0)",
    ),
    Planted(
        "greedier proposals",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(gain / 2).flatten(1)",
        "(gain / 1.3).flatten(1)",
    ),
    Planted(
        "even and odd pairs swapped",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        ".uniform_(generator=rng) < 0.5",
        ".uniform_(generator=rng) >= 0.5",
    ),
    Planted(
        "slots by sorted numbers",
        "starts",
        "components/inits/nets/replay.py",
        "torch.randperm(size, generator=rng, device=like.device)[:n]",
        "torch.rand(size, generator=rng, device=like.device).argsort()[:n]",
    ),
    Planted(
        "a smaller first guess",
        "warm-up",
        "chains/warmup.py",
        "(10 * step_size).log()",
        "(5 * step_size).log()",
    ),
]
