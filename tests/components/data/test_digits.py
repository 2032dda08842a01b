"""The digits that come with ebmkit: they are the published ones, and every parameter does what it says."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ebmkit.components.data.digits import Digits
from ebmkit.language.load import load_spec
from tests.components.oracles import assert_follows, generator

#: The first image of the data set, as it is printed in many places.
ZERO = [
    [0, 0, 5, 13, 9, 1, 0, 0],
    [0, 0, 13, 15, 10, 15, 5, 0],
    [0, 3, 15, 2, 0, 11, 8, 0],
    [0, 4, 12, 0, 0, 8, 8, 0],
    [0, 5, 8, 0, 0, 9, 8, 0],
    [0, 4, 11, 0, 1, 12, 7, 0],
    [0, 2, 14, 5, 10, 12, 0, 0],
    [0, 0, 6, 13, 10, 0, 0, 0],
]
#: SHA-256 of the bytes of all images and of all labels, in the order of scikit-learn.
IMAGES = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
LABELS = "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0"


def in_order(data, levels=16.0):
    """Both splits as grey levels, each image where the file has it."""
    held_out = [i for i in range(1797) if i * 0.6180339887498949 % 1 < data.test_fraction]
    parts = {split: data.load(split, generator(0)) for split in ("train", "test")}
    assert len(parts["test"].x) == len(held_out)
    kept = sorted(set(range(1797)) - set(held_out))
    k, y = torch.empty(1797, *data.event()), torch.empty(1797, dtype=torch.long)
    for rows, part in ((held_out, parts["test"]), (kept, parts["train"])):
        k[rows], y[rows] = (part.x + 1) / 2 * levels, part.y
    return k, y


def test_they_are_the_published_images():
    k, y = in_order(Digits())
    assert k.shape == (1797, 1, 8, 8)
    assert k[0, 0].tolist() == ZERO
    assert y[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert y.bincount().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (float(k.min()), float(k.max())) == (0, 16)
    assert hashlib.sha256(bytes(k.long().flatten().tolist())).hexdigest() == IMAGES
    assert hashlib.sha256(bytes(y.tolist())).hexdigest() == LABELS


def test_their_authors_are_named():
    note = Path(sys.modules[Digits.__module__].__file__).with_name("digits.txt").read_text()
    assert "Alpaydin" in note
    assert "CC BY 4.0" in note


def test_pixels_reach_from_minus_one_to_one_in_the_usual_precision():
    torch.set_default_dtype(torch.float32)
    x, y = Digits().load("train", generator(0))
    assert (float(x.min()), float(x.max())) == (-1, 1)
    assert x.dtype == torch.float32
    assert len(x.unique()) == 17
    assert y.dtype == torch.long


def test_splits_depend_on_nothing_but_the_share():
    for fraction in (0.1, 0.2, 0.5):
        sizes = [len(Digits(test_fraction=fraction).load(split, generator(0)).x) for split in ("train", "test")]
        assert sum(sizes) == 1797
        assert abs(sizes[1] - fraction * 1797) < 4
    one, two = (Digits().load("test", generator(seed)) for seed in (0, 1))
    assert torch.equal(one.x, two.x)
    assert min(one.y.bincount().tolist()) >= 25  # every digit is held out in its share


def test_chosen_digits_are_split_as_they_are_among_all():
    for split in ("train", "test"):
        x, y = Digits().load(split, generator(0))
        chosen = Digits(labels=(3, 0)).load(split, generator(0))
        mask = (y == 0) | (y == 3)
        assert torch.equal(chosen.x, x[mask])
        assert torch.equal(chosen.y, y[mask])
    with pytest.raises(ValueError, match=r"no test image has one of the labels \[9\]"):
        Digits(labels=(9,), test_fraction=1e-4).load("test", generator(0))


def bilinear(image, height, width):
    """Interpolation between the centres of pixels, in plain Python."""
    rows, columns = len(image), len(image[0])

    def place(index, new, old):
        position = min(max((index + 0.5) * old / new - 0.5, 0.0), old - 1.0)
        low = min(int(position), old - 2)
        return low, position - low

    def at(i, j):
        (r, s), (c, t) = place(i, height, rows), place(j, width, columns)
        top = (1 - t) * image[r][c] + t * image[r][c + 1]
        return (1 - s) * top + s * ((1 - t) * image[r + 1][c] + t * image[r + 1][c + 1])

    return torch.tensor([[at(i, j) for j in range(width)] for i in range(height)])


@pytest.mark.parametrize("size", [(28, 28), (16, 8), (9, 13), (4, 4)])
def test_resizing_is_bilinear(size):
    data = Digits(resize=size)
    assert data.event() == (1, *size)
    k, _ = in_order(data)
    torch.testing.assert_close(k[0, 0], bilinear(ZERO, *size))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floor_undoes_dequantisation(dtype):
    torch.set_default_dtype(dtype)
    k, _ = in_order(Digits(dequantize=True), levels=17.0)
    clean, _ = in_order(Digits())
    assert torch.equal(k.double().floor(), clean.double())
    assert float(k.max()) < 17


@pytest.mark.parametrize("resize", [None, (28, 28)])
def test_the_noise_is_uniform_and_as_wide_as_a_level(resize):
    data = Digits(resize=resize, dequantize=True, labels=(1,))
    noisy, clean = data.load("test", generator(0)).x, Digits(resize=resize, labels=(1,)).load("test", generator(0)).x
    u = (noisy + 1) / 2 * 17 - (clean + 1) / 2 * 16
    edge, centre = u[..., 0], u[..., u.shape[-1] // 2]
    assert_follows([(part.flatten(), lambda v: v) for part in (u, edge, centre)])
    assert not torch.equal(noisy, data.load("test", generator(1)).x)


def test_resized_images_fill_the_space_only_with_noise():
    def rank(**parameters):
        x = Digits(resize=(12, 12), **parameters).load("train", generator(0)).x.flatten(1)
        return int(torch.linalg.matrix_rank(x - x.mean(0)))

    assert rank() <= 64
    assert rank(dequantize=True) == 144


def test_a_spec_with_digits_needs_no_torch():
    program = (
        "import sys\nfrom ebmkit.language.load import load_spec\n"
        "data = {'use': 'digits', 'resize': [28, 28], 'dequantize': True, 'labels': [0, 1]}\n"
        "print(load_spec({'ebmkit': 1, 'data': data, 'model': 'mlp', 'sampler': 'langevin'}).event)\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["(1, 28, 28)", "[]"]


@pytest.mark.parametrize(
    "wrong", [{"labels": []}, {"labels": [10]}, {"resize": [28]}, {"resize": [0, 8]}, {"dequantize": 17}]
)
def test_parameters_are_bounded(wrong):
    from ebmkit.errors import Mistakes

    with pytest.raises(Mistakes, match=f"'{next(iter(wrong))}"):
        load_spec({"ebmkit": 1, "data": {"use": "digits"} | wrong, "model": "mlp", "sampler": "langevin"})


def test_binarized_pixels_have_two_values():
    grey = Digits().load("test", torch.Generator()).x
    for values, low in (("binary", 0.0), ("spin", -1.0)):
        data = Digits(binarize=values)
        x = data.load("test", torch.Generator()).x
        assert data.traits().space == values
        assert torch.equal(x, torch.where(grey >= 0, 1.0, low))
    with pytest.raises(ValueError, match="choose one"):
        Digits(binarize="binary", dequantize=True)
