"""Image files: every byte becomes the pixel that it is, splits are the official ones, and damage is told."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ebmkit.components.data import celeba, cifar10
from ebmkit.components.data.celeba import CelebA
from ebmkit.components.data.cifar10 import Cifar10
from ebmkit.testing.case import Case
from ebmkit.testing.laws.data import LAWS
from tests.components.oracles import generator

NAMES = [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]
COUNT = 4


def record(label, pixel):
    """A record as the data set's page describes it: the label, then red, green and blue, each row by row."""
    planes = [pixel(c, row, column) for c in range(3) for row in range(32) for column in range(32)]
    return bytes([label, *planes])


def pixel_of(file, image):
    """Pixels that tell file, image, colour, row and column apart."""
    return lambda c, row, column: (37 * file + 11 * image + 85 * c + 5 * row + 3 * column) % 256


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """Six files of four images each."""
    monkeypatch.setattr(cifar10, "IMAGES", COUNT)
    folder = tmp_path / "cifar"
    folder.mkdir()
    for file, name in enumerate(NAMES):
        records = [record((3 * file + image) % 10, pixel_of(file, image)) for image in range(COUNT)]
        (folder / name).write_bytes(b"".join(records))
    return folder


def test_cifar10_has_labels_planes_rows_and_columns_where_they_belong(cifar):
    data = Cifar10(folder=str(cifar))
    assert data.event() == (3, 32, 32)
    assert not data.missing()
    for split, files in (("train", range(5)), ("test", [5])):
        x, y = data.load(split, generator(0))
        assert x.dtype == torch.float32
        assert y.tolist() == [(3 * file + image) % 10 for file in files for image in range(COUNT)]
        for n, (file, image) in enumerate((file, image) for file in files for image in range(COUNT)):
            pixel = pixel_of(file, image)
            for place in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 31, 31), (1, 7, 19)):
                assert float(x[n][place]) == pytest.approx(2 * pixel(*place) / 255 - 1, abs=1e-7)
        assert float(x.min()) >= -1
        assert float(x.max()) <= 1


def test_cifar10_takes_the_labels_that_are_asked_for(cifar):
    everything, y = Cifar10(folder=str(cifar)).load("train", generator(0))
    some, labels = Cifar10(folder=str(cifar), labels=(2, 9)).load("train", generator(0))
    assert set(labels.tolist()) == {2, 9}
    assert torch.equal(some, everything[(y == 2) | (y == 9)])
    with pytest.raises(ValueError, match=r"no test image has one of the labels \[1\]"):
        Cifar10(folder=str(cifar), labels=(1,)).load("test", generator(0))


def test_dequantized_pixels_are_within_their_grey_level(cifar):
    k = ((Cifar10(folder=str(cifar)).load("train", generator(0)).x + 1) * 127.5).round()
    x = Cifar10(folder=str(cifar), dequantize=True).load("train", generator(0)).x
    u = (x.double() + 1) * 128 - k
    assert torch.equal(((x.double() + 1) * 128).floor(), k.double())
    # 61,440 uniform numbers: their mean is off by 6 standard errors once in 5e8 times.
    assert abs(float(u.mean()) - 0.5) < 6 * (1 / 12) ** 0.5 / u.numel() ** 0.5
    assert torch.equal(x, Cifar10(folder=str(cifar), dequantize=True).load("train", generator(0)).x)


@pytest.mark.parametrize("change", [-1, 1, -3073, 3073])
def test_a_file_of_another_length_is_refused_before_it_is_read(cifar, change):
    file = cifar / "data_batch_3.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[:change] if change < 0 else whole + bytes(change))
    for attempt in (lambda data: data.event(), lambda data: data.load("train", generator(0))):
        with pytest.raises(ValueError, match=rf"data_batch_3.bin' has {len(whole) + change:,} bytes.* have 12,292"):
            attempt(Cifar10(folder=str(cifar)))


def test_a_label_that_there_is_not_is_refused(cifar):
    file = cifar / "data_batch_2.bin"
    whole = bytearray(file.read_bytes())
    whole[2 * 3073] = 10
    file.write_bytes(whole)
    with pytest.raises(ValueError, match=r"'data_batch_2.bin': image 2 has the label 10"):
        Cifar10(folder=str(cifar)).load("train", generator(0))


def test_files_have_the_published_sizes():
    assert cifar10.IMAGES * cifar10.RECORD == 30_730_000
    assert (celeba.IMAGES, celeba.TRAIN, celeba.TEST) == (202_599, 162_770, 19_962)


@pytest.fixture
def faces(tmp_path, monkeypatch):
    """Ten images of 4 x 4: five to train, two to validate, three to test."""
    for name, number in {"TRAIN": 5, "TEST": 3, "IMAGES": 10}.items():
        monkeypatch.setattr(celeba, name, number)
    k = np.random.default_rng(0).integers(0, 256, (10, 3, 4, 4), dtype=np.uint8)
    np.save(tmp_path / "faces.npy", k)
    return tmp_path / "faces.npy", k


def test_celeba_has_the_official_split(faces):
    path, k = faces
    data = CelebA(path=str(path), side=4)
    assert data.event() == (3, 4, 4)
    for split, rows in (("train", slice(0, 5)), ("test", slice(7, 10))):
        x, y = data.load(split, generator(0))
        assert y is None
        assert np.abs(x.double().numpy() - (2 * k[rows].astype("f8") / 255 - 1)).max() < 1e-7
        noisy = CelebA(path=str(path), side=4, dequantize=True).load(split, generator(0)).x
        assert np.array_equal(np.floor((noisy.double().numpy() + 1) * 128), k[rows])


@pytest.mark.parametrize("wrong", ["fewer", "larger", "float", "channels last", "truncated", "text"])
def test_another_array_than_all_faces_is_refused(faces, wrong):
    path, k = faces
    arrays = {
        "fewer": k[:9],
        "larger": k.repeat(2, -1),
        "float": k.astype("f4"),
        "channels last": np.moveaxis(k, 1, -1),
    }
    if wrong in arrays:
        np.save(path, arrays[wrong])
    else:
        path.write_bytes(path.read_bytes()[:-1] if wrong == "truncated" else b"a text")
    with pytest.raises(ValueError, match=r"faces\.npy'"):
        CelebA(path=str(path), side=4).event()


@pytest.mark.parametrize("data", [Cifar10(), CelebA(), CelebA(side=64)], ids=str)
def test_the_shape_is_known_without_files_and_words_say_where_they_come_from(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data.event() == (3, getattr(data, "side", 32), getattr(data, "side", 32))
    assert data.missing() == data.files()
    assert "https://" in data.origin()
    assert str(data.files()[0]) in data.origin()
    assert not list(Path().iterdir())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", ["cifar10", "celeba"])
def test_files_that_are_there_obey_the_laws_of_data(kind, law, request):
    if kind == "cifar10":
        data = Cifar10(folder=str(request.getfixturevalue("cifar")), dequantize=True)
    else:
        data = CelebA(path=str(request.getfixturevalue("faces")[0]), side=4, dequantize=True)
    law(data, Case(data.event()))
