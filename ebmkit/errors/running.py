"""E3xx: what can go wrong while an experiment runs. The place is the line of the spec whose component failed."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class ComponentFailed(EbmkitError):
    """A component raised an exception.

    The place is the line of the spec that asked for the component. `--debug` shows the traceback. If the component
    comes from a plugin, its author wants to see that.
    """

    code = "E301"
    exit_status = 3


class Diverged(EbmkitError):
    """A number stopped being finite.

    ebmkit never replaces, clamps or skips such a number: the run stops at once and says which component produced it, at
    which step. Common causes: a learning rate or a step size that is too large, an energy that nothing confines (give
    `mlp` its quadratic base back), noise far away from the data.
    """

    code = "E302"
    exit_status = 4


class StorageFailed(EbmkitError):
    """A file of the run could not be written or read.

    The message names the path and what the system said: a full disk, missing permission, a damaged file. What was
    saved before stays as it is.
    """

    code = "E303"
    exit_status = 5


class ExpectationUnmet(EbmkitError):
    """The run ended, and a claim under `expect:` does not project.

    Everything was saved as usual; the exit status 6 lets scripts and CI notice.
    """

    code = "E304"
    exit_status = 6


class EnvironmentLacks(EbmkitError):
    """This machine or installation lacks what the spec asks for.

    For example `device: cuda` on a machine without a GPU, or a component whose extra is not installed. `ebmkit doctor`
    shows what is there.
    """

    code = "E305"
    exit_status = 3


class OutOfMemory(EbmkitError):
    """The memory of the device did not project what a component asked for.

    The message names the component and, where the system tells, how much it wanted. A smaller `batch_size`, fewer
    `samples`, a smaller replay buffer or a smaller network ask for less. What was saved before stays as it is.
    """

    code = "E306"
    exit_status = 3


class Drifted(EbmkitError):
    """Something that changes bits is not what it was when the run began.

    A run goes on bit for bit only with the same spec, plugins, data files, versions of ebmkit and torch, device and
    number of threads. `--allow-drift` goes on nevertheless, and the run's record says what differed.
    """

    code = "E307"
    exit_status = 3


class NotReproduced(EbmkitError):
    """A run that was made again did not come out the same, bit for bit.

    The message names what differs. Both runs stay as they are.
    """

    code = "E308"
    exit_status = 6
