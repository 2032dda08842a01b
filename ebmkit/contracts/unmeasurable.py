"""What a metric raises if the numbers of a run give it no value."""


class Unmeasurable(ValueError):
    """The run gives the metric no value, and why: chains that never move, a density that nothing confines.

    It is reported like a value that is not finite. What is known from the spec belongs in `refusal` instead.
    """
