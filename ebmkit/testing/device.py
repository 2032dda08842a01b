"""A device that is not the CPU, for machines that have no other.

Its tensors hold real numbers on the CPU and say that they live elsewhere. Whatever a GPU would refuse is refused, and
what would make the host wait for it is written down with the line that did it:

    with pretended_device() as gpu:
        module = module.to(gpu.device)
        with gpu.watched() as seen:
            run_chain(sampler, module, x.to(gpu.device), gpu.generator(0))
    seen.require_no_host_syncs()

The device is called `meta`, after the one torch device that needs no hardware and no registration: a backend of our own
(PrivateUse1) would stay registered for the life of the process, and starts an autograd thread that forked children
cannot survive. What a chain of kernels costs, autocast and streams are beyond it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import torch
from torch import Generator, Tensor
from torch.overrides import TorchFunctionMode

from ebmkit.testing.law import Inapplicable, require

try:
    from torch.utils._device import _device_constructors
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map
except ImportError:  # a torch that keeps them elsewhere: `pretended_device` says so
    TorchDispatchMode = object  # type: ignore[assignment, misc]

#: Dispatch modes and wrapper tensors are not a promise of torch's; this is the version that the file was written for.
TORCH = "2.13"

DEVICE: Final = torch.device("meta")
CPU: Final = torch.device("cpu")

#: Tags of operators whose result, or its shape, depends on values.
_ON_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
#: Decompositions that look on the host whether they went well.
_CHECKED = {"_linalg_check_errors", "_linalg_eigh", "_linalg_svd", "linalg_eig", "linalg_lstsq"}

_TORCH_FOLDER = str(Path(torch.__file__).parent)


class NotOnTheDevice(AssertionError):
    """What a GPU would refuse, or do on the wrong side."""


@dataclass
class Seen:
    """What happened on the device."""

    #: Kernels that a GPU would launch.
    launches: int = 0
    #: Where the host had to wait: a value read, a copy between host and device, a shape that depends on values.
    host_syncs: list[str] = field(default_factory=list)

    def require_no_host_syncs(self, beyond: int = 0) -> None:
        """Raise if there are more than these, with the number of them and with the first."""
        require(
            len(self.host_syncs) <= beyond,
            f"the host waits {len(self.host_syncs)} times, first for {''.join(self.host_syncs[:1])}",
        )


class DeviceTensor(Tensor):
    """Real numbers that claim to live on the device."""

    numbers: Tensor
    #: Functions are looked at by the mode; the class itself changes none.
    __torch_function__ = getattr(torch._C, "_disabled_torch_function_impl", None)  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, numbers: Tensor) -> DeviceTensor:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=DEVICE,
        )
        made.numbers = numbers
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"DeviceTensor({self.numbers!r})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotOnTheDevice(f"{operator} on a tensor of a pretended device that is gone")


class DeviceGenerator(Generator):
    """A generator of the device. Beneath it is one of the CPU, so that its numbers are those of the CPU."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return DEVICE


class PretendedDevice:
    """What `pretended_device` gives: the device, its generators, and a watch on what happens there."""

    device = DEVICE

    def __init__(self) -> None:
        self._seen: Seen | None = None

    def generator(self, seed: int) -> Generator:
        """A generator on the device, with the numbers of a CPU generator of the same seed."""
        return DeviceGenerator().manual_seed(seed)

    @contextmanager
    def watched(self) -> Iterator[Seen]:
        """Count launches and waits, and refuse tensors that are made without a device."""
        outside, self._seen = self._seen, Seen()
        try:
            yield self._seen
        finally:
            self._seen = outside

    def launch(self) -> None:
        if self._seen is not None:
            self._seen.launches += 1

    def wait(self, what: str) -> None:
        if self._seen is not None:
            self._seen.host_syncs.append(f"{what} at {_culprit()}")

    @property
    def is_watched(self) -> bool:
        return self._seen is not None


@contextmanager
def pretended_device() -> Iterator[PretendedDevice]:
    """Make the device exist. Raises `Inapplicable` under a torch that this was not written for."""
    if TorchDispatchMode is object or not torch.__version__.startswith(f"{TORCH}."):
        raise Inapplicable(f"the pretended device is written for torch {TORCH}, this is {torch.__version__}")
    device = PretendedDevice()
    with _Functions(device), _Operators(device):
        yield device


class _Functions(TorchFunctionMode):
    """Sees each call of a torch function with the arguments as they were written."""

    def __init__(self, device: PretendedDevice) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        homeless = function in _device_constructors() and kwargs.get("device") is None
        # What torch makes for itself, such as the step counter of an optimizer, is its own affair.
        if homeless and self.device.is_watched and not _in_torch(sys._getframe(1)):
            raise NotOnTheDevice(f"torch.{function.__name__} without device= at {_culprit()}")
        _check_generator(args, kwargs)
        if function is Tensor.numpy and isinstance(args[0], DeviceTensor):
            raise NotOnTheDevice(f"numpy() of a tensor on the device at {_culprit()}")
        if function is Tensor.tolist and isinstance(args[0], DeviceTensor):
            self.device.wait("tolist()")
            return args[0].numbers.tolist()
        # Python numbers become a tensor on the host, which is then copied.
        if function in (torch.tensor, torch.as_tensor) and _is_device(kwargs.get("device")):
            return torch.tensor(*args, **{**kwargs, "device": CPU}).to(DEVICE)
        if function is Tensor.new_tensor and isinstance(args[0], DeviceTensor):
            return torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs, "device": CPU}).to(DEVICE)
        return function(*args, **kwargs)


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs each operator on the numbers, if all of its tensors are on one side."""

    def __init__(self, device: PretendedDevice) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device = device

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        on_device = any(isinstance(tensor, DeviceTensor) for tensor in tensors)
        goes_to = kwargs.get("device")
        to_device = on_device if goes_to is None else _is_device(goes_to)
        name = operator._schema.name.removeprefix("aten::")

        crosses = name in ("copy_", "_to_copy") and (
            to_device != on_device or not all(isinstance(tensor, DeviceTensor) == on_device for tensor in tensors)
        )
        if crosses:
            self.device.wait("a copy between host and device")
        elif on_device:
            if strays := [tensor for tensor in tensors if not isinstance(tensor, DeviceTensor)]:
                shape = tuple(strays[0].shape)
                raise NotOnTheDevice(f"{name} of the device and a CPU tensor of shape {shape} at {_culprit()}")
            if _waits(name, operator, args, kwargs):
                self.device.wait(f"{name}, which needs values on the host,")
        if on_device or to_device:
            random = torch.Tag.nondeterministic_seeded in operator.tags
            if random and self.device.is_watched and _argument(operator, args, kwargs, "generator") is None:
                raise NotOnTheDevice(f"{name} without generator= at {_culprit()}")
            if not operator.is_view and name not in ("detach", "lift_fresh"):
                self.device.launch()

        if goes_to is not None:
            kwargs = {**kwargs, "device": CPU}
        return self._compute(operator, args, kwargs, to_device)

    def _compute(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], to_device: bool) -> Any:
        """The operator on the numbers beneath, and its results as tensors of the side they go to."""
        known: dict[int, DeviceTensor] = {}

        def numbers(value: Any) -> Any:
            if isinstance(value, DeviceTensor):
                known[id(value.numbers)] = value
                return value.numbers
            return value

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if id(value) in known:  # changed in place: the same tensor as before
                return known[id(value)]
            return DeviceTensor(value) if to_device else value

        result = operator(*tree_map(numbers, args), **tree_map(numbers, kwargs))
        return tree_map(wrapped, result)


def _waits(name: str, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a GPU's kernel hands values to the host before it returns."""
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        masks = [index for index in args[1] if index is not None and index.dtype in (torch.bool, torch.uint8)]
        # One number written through a mask is a masked fill, which knows its shape.
        return bool(masks) and (name == "index" or args[2].numel() != 1)
    if name == "multinomial":  # without replacement, and for one sample, torch checks the weights first
        one = _argument(operator, args, kwargs, "num_samples") == 1
        return one or not _argument(operator, args, kwargs, "replacement")
    if name == "repeat_interleave":
        return _argument(operator, args, kwargs, "output_size") is None
    return name in _CHECKED or bool(_ON_VALUES & set(operator.tags))


def _check_generator(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A generator serves tensors on its own side only."""
    generator = next((value for value in (*args, *kwargs.values()) if isinstance(value, Generator)), None)
    if generator is None:
        return
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    if (device := kwargs.get("device")) is not None:
        on_device = _is_device(device)
    else:
        on_device = any(isinstance(tensor, DeviceTensor) for tensor in tensors)
    if on_device != isinstance(generator, DeviceGenerator):
        side, other = ("device", "CPU") if on_device else ("CPU", "device")
        raise NotOnTheDevice(f"random numbers on the {side} from a {other} generator at {_culprit()}")


def _argument(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """An argument of an operator, wherever it was written; its default otherwise."""
    for position, argument in enumerate(operator._schema.arguments):
        if argument.name == name:
            if name in kwargs:
                return kwargs[name]
            return args[position] if position < len(args) else argument.default_value
    return None


def _is_device(device: Any) -> bool:
    return device is not None and torch.device(device).type == DEVICE.type


def _in_torch(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_TORCH_FOLDER)


def _culprit() -> str:
    """The innermost line that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (_in_torch(frame) or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "?"
