"""E2xx: components that are valid by themselves but do not fit together. Both places are shown."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class FitError(EbmkitError):
    code = "E200"
    exit_status = 2


class SpaceMismatch(FitError):
    """Two components are defined on different spaces.

    States are real, binary, spin or categorical. Gradient-based samplers need real states; all others need a sampler
    for discrete states, such as `gibbs`. Data and model of categorical states also have to agree about the number of
    categories.
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
    """A model that is conditioned on a noise level or a time is used where none is given, or vice versa."""

    code = "E203"


class AbilityMissing(FitError):
    """A component needs an ability that the model or the sampler does not have.

    `exact` needs a model that can be sampled directly, a gradient-based sampler needs a differentiable model, and the
    metric `acceptance` needs a sampler that can reject a step. `ebmkit show model NAME` lists the abilities of a model.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        sampler: exact
    """

    code = "E204"


class ScheduleMismatch(FitError):
    """Model, objective and sampler use different noise schedules.

    A network is valid only for the noise on which it was trained. Write the schedule once, under `parts:`, and refer to
    it.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: {use: mlp_score, schedule: {use: geometric, sigma_max: 4.0}}
        sampler: {use: annealed_langevin, schedule: {use: geometric, sigma_max: 9.0}}
    """

    code = "E211"


class SectionMissing(FitError):
    """A section needs another section, which is missing.

    Training needs data and an objective; metrics that compare with data need data; samples need a sampler; a model
    that takes its shape from the data needs data.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0]}
        train: {steps: 10}
    """

    code = "E205"


class UnknownMeasurement(FitError):
    """`expect:` names a value that no metric under `evaluate:` reports.

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
    """Two metrics report values under the same name, so one would hide the other.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0, 0]}
        data: two_moons
        sampler: exact
        evaluate: [mmd, mmd]
    """

    code = "E207"


class TooManyChains(FitError):
    """A batch needs more chains than the replay buffer holds.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        objective: {use: mle, init: {use: replay, size: 100}}
        train: {steps: 10, batch_size: 256}
    """

    code = "E208"


class Unsuitable(FitError):
    """Two parts of a spec cannot be combined, for a reason specific to them.

    For example, `log_likelihood` integrates over one or two coordinates, unless the model knows its normaliser;
    `mode_weights` needs the modes, which a network does not know; `jem` learns from labels; score matching needs second
    derivatives, which a network with `relu` does not have; long chains set their own number of steps.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: mlp
        sampler: langevin
        evaluate: [mode_weights]
    """

    code = "E209"


class MemoryExceeded(FitError):
    """The spec needs more memory than this machine has.

    Counted are the parameters of the model and of trainable noise, in training with their gradients, the state of the
    optimizer and the running mean, and the states that are kept at once: samples, chains in a buffer, generated data.
    What a component needs while it computes is not counted.

    Wrong:
        ebmkit: 1
        data: two_moons
        model: {use: mlp, hidden: [1000000, 1000000]}
        objective: nce
        train: {steps: 10}
    """

    code = "E212"


class DataUnreadable(FitError):
    """The shape of the data cannot be determined: a file is missing, is damaged, or has other contents.

    Only the beginning of the file was read. A relative path is relative to the folder of the spec if it
    exists there, else to the working directory.

    Wrong:
        ebmkit: 1
        data: {use: npz, path: nowhere.npz}
        model: mlp
        sampler: langevin
    """

    code = "E210"
