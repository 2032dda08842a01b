"""E2xx: components that are right by themselves and do not fit together. Both places are shown."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class FitError(EbmkitError):
    code = "E200"
    exit_status = 2


class SpaceMismatch(FitError):
    """Two components live on different spaces.

    States are real, binary, spin or categorical. A gradient sampler moves through real space; binary states need one
    that flips them.
    """

    code = "E201"


class ShapeMismatch(FitError):
    """Two components disagree about the shape of a state.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: {use: gaussian, mean: [0, 0, 0]}
        sampler: exact
    """

    code = "E202"


class ConditioningMismatch(FitError):
    """A model that expects a noise level or a time is used where none is given, or the other way round."""

    code = "E203"


class AbilityMissing(FitError):
    """A component needs something that the model or the sampler cannot do.

    `exact` needs a model that can be sampled directly, a gradient sampler one that can be differentiated, the metric
    `acceptance` a sampler that can refuse a step. `ebmkit show model NAME` says what a model offers.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        sampler: exact
    """

    code = "E204"


class ScheduleMismatch(FitError):
    """Model, objective and sampler have different noise schedules.

    A network knows the noise that it was trained on. Write the schedule once, under `parts:`, and refer to it.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: {use: mlp_score, schedule: {use: geometric, sigma_max: 4.0}}
        sampler: {use: annealed_langevin, schedule: {use: geometric, sigma_max: 9.0}}
    """

    code = "E211"


class SectionMissing(FitError):
    """One section needs another that is not there.

    Training needs data and an objective; metrics that compare with data need data; samples need a sampler; a model
    that takes its shape from data needs data.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0]}
        train: {steps: 10}
    """

    code = "E205"


class UnknownMeasurement(FitError):
    """`expect:` names a number that no metric under `evaluate:` measures.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0, 0]}
        data: two_moons
        sampler: exact
        evaluate: [mmd]
        expect: [{metric: fid, below: 10}]
    """

    code = "E206"


class MeasuredTwice(FitError):
    """Two metrics report under the same name, so one would hide the other.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0, 0]}
        data: two_moons
        sampler: exact
        evaluate: [mmd, mmd]
    """

    code = "E207"


class TooManyChains(FitError):
    """A batch asks for more chains than the buffer of its start holds.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        objective: {use: mle, init: {use: replay, size: 100}}
        train: {steps: 10, batch_size: 256}
    """

    code = "E208"


class Unsuitable(FitError):
    """Two parts of a spec cannot work together, for a reason that is their own.

    `log_likelihood` for example integrates over one or two coordinates, unless the model knows its normaliser;
    `mode_weights` has to be told the modes that a network does not know; `jem` learns from labels; score matching from
    second derivatives, which a network with `relu` does not have; long chains say themselves how many steps they make.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        sampler: langevin
        evaluate: [mode_weights]
    """

    code = "E209"


class DataUnreadable(FitError):
    """The shape of the data cannot be told: a file is not there, is damaged, or holds something else.

    Only the beginning of the file was read. A relative path starts in the folder in which the command is typed.

    Wrong:
        ebmkit: 1
        data: {use: npz, path: nowhere.npz}
        model: mlp
        sampler: langevin
    """

    code = "E210"
