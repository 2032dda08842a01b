"""The laws of models, by subject."""

from __future__ import annotations

from ebmkit.testing.law import Law
from ebmkit.testing.laws.model.blocks import (
    bounds_its_energy_by_the_posterior,
    draws_units_given_all_others,
    has_the_joint_conditionals_of_its_energy,
    sums_over_its_hidden_units,
    sweeps_over_its_blocks,
)
from ebmkit.testing.laws.model.energy import (
    gives_one_number_a_state,
    has_the_gradient_by_hand,
    has_the_gradient_of_differences,
    has_the_parameter_gradient_of_differences,
    keeps_the_dtype,
    treats_states_apart,
)
from ebmkit.testing.laws.model.exact import (
    draws_from_its_density,
    has_no_energy_below_its_ground_state,
    has_the_conditionals_of_its_energy,
    has_the_normaliser_of_quadrature,
    is_convolved_when_noised,
    knows_the_values_of_its_units,
)
from ebmkit.testing.laws.model.layers import has_layers_of_hidden_units, reconstructs_states
from ebmkit.testing.laws.model.network import (
    counts_its_parameters,
    is_built_from_the_seed_alone,
    is_not_changed_by_looking,
    is_saved_whole,
    names_its_coordinates,
    runs_on_the_device,
)
from ebmkit.testing.laws.model.shapes import takes_every_shape_that_it_does_not_refuse

LAWS: tuple[Law, ...] = (
    takes_every_shape_that_it_does_not_refuse,
    gives_one_number_a_state,
    treats_states_apart,
    keeps_the_dtype,
    has_the_gradient_of_differences,
    has_the_gradient_by_hand,
    has_the_parameter_gradient_of_differences,
    is_built_from_the_seed_alone,
    counts_its_parameters,
    names_its_coordinates,
    is_saved_whole,
    is_not_changed_by_looking,
    runs_on_the_device,
    knows_the_values_of_its_units,
    has_the_conditionals_of_its_energy,
    draws_units_given_all_others,
    has_the_joint_conditionals_of_its_energy,
    sweeps_over_its_blocks,
    sums_over_its_hidden_units,
    has_layers_of_hidden_units,
    reconstructs_states,
    bounds_its_energy_by_the_posterior,
    has_the_normaliser_of_quadrature,
    draws_from_its_density,
    has_no_energy_below_its_ground_state,
    is_convolved_when_noised,
)
