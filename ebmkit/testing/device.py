"""A simulated device other than the CPU, for machines without a GPU.

Its tensors hold real numbers on the CPU but claim to be elsewhere. What a GPU would refuse is refused, and host
synchronisations are recorded with the line that caused them:

    with pretended_device() as gpu:
        module = module.to(gpu.device)
        with gpu.watched() as seen:
            run_chain(sampler, module, x.to(gpu.device), gpu.generator(0))
    seen.require_no_host_syncs()

The device is called `meta`, after the one torch device that needs no hardware and no registration: a custom backend
(PrivateUse1) would stay registered until the process ends, and starts an autograd thread that forked children cannot
survive. Costs of kernels, autocast and streams are not simulated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Generator, Tensor
from torch.overrides import TorchFunctionMode

from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.origin import Made, culprit, in_torch

try:
    from torch.utils._device import _device_constructors
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map
except ImportError:  # another version of torch: `pretended_device` reports it
    TorchDispatchMode = object  # type: ignore[assignment, misc]

#: Dispatch modes and wrapper tensors are not a stable interface of torch; this file is written for these versions.
TORCH = "2.13"

DEVICE: Final = torch.device("meta")
CPU: Final = torch.device("cpu")

#: Tags of operators whose result, or its shape, depends on values.
_ON_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
#: Decompositions that check on the host whether they succeeded.
_CHECKED = {"_linalg_check_errors", "_linalg_eigh", "_linalg_svd", "linalg_eig", "linalg_lstsq"}


class NotOnTheDevice(AssertionError):
    """An operation that a GPU would refuse, or perform on the wrong side."""


@dataclass
class Seen:
    """A record of what happened on the device."""

    #: Kernels that a GPU would launch.
    launches: int = 0
    #: Host synchronisations: a value read, a copy between host and device, a shape that depends on values.
    host_syncs: list[str] = field(default_factory=list)

    def require_no_host_syncs(self, beyond: int = 0) -> None:
        """Raise if there are more than `beyond`, with their number and the first of them."""
        require(
            len(self.host_syncs) <= beyond,
            f"{len(self.host_syncs)} host synchronisations, the first for {''.join(self.host_syncs[:1])}",
        )


class DeviceTensor(Tensor):
    """Real numbers that claim to be on the device."""

    numbers: Tensor
    #: The mode intercepts functions; the class itself changes none.
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
        raise NotOnTheDevice(f"{operator} on a tensor of a pretended device that was closed")


class DeviceGenerator(Generator):
    """A generator of the device. It wraps a CPU generator, so that its numbers are those of the CPU."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return DEVICE


class PretendedDevice:
    """The result of `pretended_device`: the device, its generators, and a record of what happens there."""

    device = DEVICE

    def __init__(self) -> None:
        self._seen: Seen | None = None
        self._made = Made()

    def generator(self, seed: int) -> Generator:
        """A generator on the device, with the numbers of a CPU generator of the same seed."""
        return DeviceGenerator().manual_seed(seed)

    @contextmanager
    def watched(self) -> Iterator[Seen]:
        """Count kernel launches and host synchronisations, and refuse tensors created without a device."""
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
            self._seen.host_syncs.append(f"{what} at {culprit()}")

    @property
    def is_watched(self) -> bool:
        return self._seen is not None

    def made(self, value: Any) -> None:
        """Remember which line made a CPU tensor while the device is watched."""
        if self.is_watched and isinstance(value, Tensor) and not isinstance(value, DeviceTensor):
            self._made.record(value)

    def origin(self, stray: Tensor) -> str:
        """`, made at file:line` of a CPU tensor, as far as it is known."""
        found = self._made.site(stray)
        return f", {found}," if found else ""


@contextmanager
def pretended_device() -> Iterator[PretendedDevice]:
    """Create the device. Raises `Inapplicable` for an unsupported version of torch."""
    if TorchDispatchMode is object or not torch.__version__.startswith(f"{TORCH}."):
        raise Inapplicable(f"the pretended device supports torch {TORCH}, but this is {torch.__version__}")
    device = PretendedDevice()
    with _Functions(device), _Operators(device):
        yield device


class _Functions(TorchFunctionMode):
    """Intercepts each call of a torch function with its original arguments."""

    def __init__(self, device: PretendedDevice) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        homeless = function in _device_constructors() and kwargs.get("device") is None
        # Tensors that torch creates for itself, such as the step counter of an optimizer, are exempt.
        if homeless and self.device.is_watched and not in_torch(sys._getframe(1)):
            raise NotOnTheDevice(f"torch.{function.__name__} without device= at {culprit()}")
        _check_generator(args, kwargs)
        if function is Tensor.numpy and isinstance(args[0], DeviceTensor):
            raise NotOnTheDevice(f"numpy() of a tensor on the device at {culprit()}")
        if function is Tensor.tolist and isinstance(args[0], DeviceTensor):
            self.device.wait("tolist()")
            return args[0].numbers.tolist()
        # Python numbers become a tensor on the host, which is then copied.
        if function in (torch.tensor, torch.as_tensor) and _is_device(kwargs.get("device")):
            return torch.tensor(*args, **{**kwargs, "device": CPU}).to(DEVICE)
        if function is Tensor.new_tensor and isinstance(args[0], DeviceTensor):
            return torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs, "device": CPU}).to(DEVICE)
        result = function(*args, **kwargs)
        self.device.made(result)
        return result


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs each operator on the wrapped numbers, if all of its tensors are on one side."""

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
                stray = f"a CPU tensor of shape {tuple(strays[0].shape)}{self.device.origin(strays[0])}"
                raise NotOnTheDevice(f"{name} of the device and {stray} at {culprit()}")
            if _waits(name, operator, args, kwargs):
                self.device.wait(f"{name}, which needs values on the host,")
        if on_device or to_device:
            random = torch.Tag.nondeterministic_seeded in operator.tags
            if random and self.device.is_watched and _argument(operator, args, kwargs, "generator") is None:
                raise NotOnTheDevice(f"{name} without generator= at {culprit()}")
            if not operator.is_view and name not in ("detach", "lift_fresh"):
                self.device.launch()

        if goes_to is not None:
            kwargs = {**kwargs, "device": CPU}
        return self._compute(operator, args, kwargs, to_device)

    def _compute(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], to_device: bool) -> Any:
        """Apply the operator to the wrapped numbers, and return its results as tensors of the correct side."""
        known: dict[int, DeviceTensor] = {}

        def numbers(value: Any) -> Any:
            if isinstance(value, DeviceTensor):
                known[id(value.numbers)] = value
                return value.numbers
            return value

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if id(value) in known:  # changed in place: return the same tensor
                return known[id(value)]
            return DeviceTensor(value) if to_device else value

        result = operator(*tree_map(numbers, args), **tree_map(numbers, kwargs))
        return tree_map(wrapped, result)


def _waits(name: str, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the kernel of a GPU passes values to the host before it returns."""
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        masks = [index for index in args[1] if index is not None and index.dtype in (torch.bool, torch.uint8)]
        # Assigning one number through a mask is a masked fill, whose shape is known.
        return bool(masks) and (name == "index" or args[2].numel() != 1)
    if name == "multinomial":  # without replacement, and for one sample, torch checks the weights first
        one = _argument(operator, args, kwargs, "num_samples") == 1
        return one or not _argument(operator, args, kwargs, "replacement")
    if name == "repeat_interleave":
        return _argument(operator, args, kwargs, "output_size") is None
    return name in _CHECKED or bool(_ON_VALUES & set(operator.tags))


def _check_generator(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check that a generator is used for tensors on its own side only."""
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
        raise NotOnTheDevice(f"random numbers on the {side} from a {other} generator at {culprit()}")


def _argument(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """An argument of an operator, positional or by keyword; its default otherwise."""
    for position, argument in enumerate(operator._schema.arguments):
        if argument.name == name:
            if name in kwargs:
                return kwargs[name]
            return args[position] if position < len(args) else argument.default_value
    return None


def _is_device(device: Any) -> bool:
    return device is not None and torch.device(device).type == DEVICE.type
