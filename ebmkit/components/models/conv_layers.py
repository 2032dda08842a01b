"""Convolutions as listed in a spec, their output shapes, and named architectures. Without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from annotated_types import Ge

from ebmkit.contracts.component import section
from ebmkit.contracts.kinds import Event
from ebmkit.maths.parameter_counts import convolution, dense


@section
class ConvLayer:
    """One convolution, followed by an activation.

    Parameters:
        channels: number of output feature maps.
        kernel: height and width of its window.
        stride: step of the window; 2 halves the image.
        padding: rows and columns of zeros around the image.
    """

    channels: Annotated[int, Ge(1)]
    kernel: Annotated[int, Ge(1)] = 3
    stride: Annotated[int, Ge(1)] = 1
    padding: Annotated[int, Ge(0)] = 1


class Architecture(NamedTuple):
    """Convolutions, and the widths of the fully connected layers between them and the energy."""

    layers: tuple[ConvLayer, ...]
    dense: tuple[int, ...]

    def parameter_count(self, event: Event, head: str, outputs: int) -> int:
        """The number of parameters on images of this shape; `outputs` is the width of the last layer."""
        last_channels, height, width = shape_after(self.layers, event)
        channels = [event[0], *(layer.channels for layer in self.layers)]
        reduced = last_channels * (1 if head == "sum" else height * width)
        steps = zip(channels[:-1], self.layers, strict=True)
        convolved = sum(convolution(before, layer.channels, layer.kernel) for before, layer in steps)
        return convolved + dense([reduced, *self.dense, outputs])


def shape_after(layers: Sequence[ConvLayer], event: Event) -> tuple[int, int, int]:
    """Channels, height and width after the last layer. Raises a ValueError if the layers do not fit the image."""
    if len(event) != 3:
        raise ValueError(f"takes images of shape (channels, height, width), not states of shape {event}")
    channels, height, width = event
    for number, layer in enumerate(layers):
        if layer.kernel > min(height, width) + 2 * layer.padding:
            raise ValueError(
                f"has too many or too large layers for an image of {event[1]} x {event[2]}: layers[{number}], with "
                f"kernel {layer.kernel} and padding {layer.padding}, gets {height} x {width}"
            )
        channels = layer.channels
        height = (height + 2 * layer.padding - layer.kernel) // layer.stride + 1
        width = (width + 2 * layer.padding - layer.kernel) // layer.stride + 1
    return channels, height, width


def _listed(*rows: tuple[int, int, int, int]) -> tuple[ConvLayer, ...]:
    """Layers in the thesis's notation, (kernel, stride, padding) x channels."""
    return tuple(ConvLayer(channels=c, kernel=k, stride=s, padding=p) for k, s, p, c in rows)


#: The default: a small network that halves the image twice.
SMALL = Architecture(_listed((3, 1, 1, 32), (4, 2, 1, 64), (4, 2, 1, 128)), ())

#: Table 5.1 of the thesis: A for images of 28 x 28, B and C for 32 x 32. The source text lacks the widths of cells
#: shared by A and B: the second, third and fifth convolution and the first dense layer. They are taken as half of those
#: of C, like the width of the fourth convolution, which is legible in all three columns.
PRESETS = {
    "thesis_a": Architecture(
        _listed((3, 1, 1, 64), (4, 2, 1, 64), (4, 2, 1, 128), (3, 2, 1, 256), (4, 1, 0, 512)), (256,)
    ),
    "thesis_b": Architecture(
        _listed((3, 1, 1, 64), (4, 2, 1, 64), (4, 2, 1, 128), (4, 2, 1, 256), (4, 1, 0, 512)), (256,)
    ),
    "thesis_c": Architecture(
        _listed((3, 1, 1, 64), (4, 2, 1, 128), (4, 2, 1, 256), (4, 2, 1, 512), (4, 1, 0, 1024)), (512, 256)
    ),
}
