"""Proofs that look for bugs planted in samplers and in what runs them."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.planting import Proof, proof


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
