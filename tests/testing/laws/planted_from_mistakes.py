"""Laws that are broken by the mistakes of authors (`tests/testing/mistakes`)."""

from typing import ClassVar

from ebmkit.api import Bregman, component
from ebmkit.testing.laws import data, every_kind, init, objective, optimizer, schedule, tracker
from tests.testing.mistakes.table import MISTAKES


class Powers(Bregman):
    """A base class that is no component: its exponent is annotated, but a spec cannot give it."""

    exponent: float = 2.0
    factor: ClassVar[float] = 1.0

    def psi(self, u):
        return self.factor * u**self.exponent


@component("power_of_two")
class PowerOfTwo(Powers):
    pass


PLANTED = [
    (every_kind.declares_its_parameters, PowerOfTwo()),
    (data.knows_its_density, MISTAKES["data/known_density_too_wide"]),
    (data.keeps_its_splits_apart, MISTAKES["data/test_points_in_training"]),
    (init.keeps_its_own_states, MISTAKES["init/one_draw_for_all"]),
    (objective.has_its_minimum_at_the_truth, MISTAKES["objective/trace_without_a_tenth"]),
    (objective.leads_towards_the_truth, MISTAKES["objective/wrong_sign"]),
    (objective.says_that_it_has_an_adversary, MISTAKES["objective/contest_without_saying"]),
    (optimizer.moves_every_parameter, MISTAKES["optimizer/skips_a_group"]),
    (schedule.ends_where_its_parameters_say, MISTAKES["schedule/starts_below"]),
    (schedule.has_the_slopes_of_differences, MISTAKES["schedule/detached_in_time"]),
    (schedule.leaves_the_times_alone, MISTAKES["schedule/moves_the_times"]),
    (schedule.runs_on_the_device, MISTAKES["schedule/times_on_the_cpu"]),
    (tracker.records_every_step, MISTAKES["tracker/loses_rows"]),
    (tracker.keeps_what_was_recorded, MISTAKES["tracker/twice_after_a_break"]),
]
