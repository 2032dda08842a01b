"""The laws of objectives, by subject."""

from __future__ import annotations

from ebmkit.testing.law import Law
from ebmkit.testing.laws.objective.loss import (
    counts_its_parameters,
    gives_a_finite_scalar,
    has_the_gradient_of_differences,
    is_a_mean_over_the_batch,
    is_deterministic,
    is_saved_whole,
    leaves_model_and_batch_alone,
    runs_on_the_device,
    says_that_it_has_an_adversary,
    teaches_the_model,
    uses_no_global_randomness,
)
from ebmkit.testing.laws.objective.truth import has_its_minimum_at_the_truth, leads_towards_the_truth

LAWS: tuple[Law, ...] = (
    gives_a_finite_scalar,
    teaches_the_model,
    counts_its_parameters,
    is_a_mean_over_the_batch,
    has_the_gradient_of_differences,
    has_its_minimum_at_the_truth,
    leads_towards_the_truth,
    says_that_it_has_an_adversary,
    is_deterministic,
    uses_no_global_randomness,
    leaves_model_and_batch_alone,
    is_saved_whole,
    runs_on_the_device,
)
