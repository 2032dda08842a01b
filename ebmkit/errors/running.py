"""E3xx: errors while an experiment runs. The place is the line of the spec whose component failed."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class ComponentFailed(EbmkitError):
    """A component raised an exception.

    The place is the line of the spec that asked for the component. `--debug` shows the traceback. If the component
    comes from a plugin, report the traceback to its author.
    """

    code = "E301"
    exit_status = 3


class Diverged(EbmkitError):
    """A value is not finite, or a metric has no value.

    ebmkit never replaces, clamps or skips such a value: training stops at once and reports the component that produced
    it and the step. In the final evaluation the metric is listed as failed, and the rest is kept. Common causes: a
    learning rate or step size that is too large, an energy that is not confining (restore the quadratic base of `mlp`),
    noise far away from the data. Chains that never move have no R-hat, and a density that nothing confines has no
    likelihood.
    """

    code = "E302"
    exit_status = 4


class StorageFailed(EbmkitError):
    """A file of the run could not be written or read.

    The message names the path and the reason given by the system: a full disk, missing permission, a damaged file.
    Everything saved before remains unchanged.
    """

    code = "E303"
    exit_status = 5


class ExpectationUnmet(EbmkitError):
    """The run ended, but a claim under `expect:` does not hold.

    Everything was saved as usual; scripts and CI can check for exit status 6.
    """

    code = "E304"
    exit_status = 6


class EnvironmentLacks(EbmkitError):
    """This machine or installation lacks something that the spec needs.

    For example, `device: cuda` on a machine without a GPU, or a component whose extra is not installed. `ebmkit doctor`
    shows what is available. Distributed training is not supported yet either: as one of several processes of torchrun,
    ebmkit would repeat the same run in each, so it stops. Start it without torchrun, or unset RANK and WORLD_SIZE.
    """

    code = "E305"
    exit_status = 3


class OutOfMemory(EbmkitError):
    """The device has less memory than a component asked for.

    The message names the component and, where the system reports it, the amount requested. Use a smaller `batch_size`,
    fewer `samples`, a smaller replay buffer or a smaller network. Everything saved before remains unchanged.
    """

    code = "E306"
    exit_status = 3


class Drifted(EbmkitError):
    """Something that affects the results bit for bit has changed since the run began.

    A run continues bit for bit only with the same spec, plugins, data files, versions of ebmkit and torch, device and
    number of threads. `--allow-drift` continues anyway, and the run's record lists the differences.
    """

    code = "E307"
    exit_status = 3


class NotReproduced(EbmkitError):
    """A repeated run did not give the same results bit for bit.

    The message names what differs. Both runs are kept unchanged.
    """

    code = "E308"
    exit_status = 6
