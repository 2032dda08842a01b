"""Data from files: the numbers come back bit for bit, splits and scalings keep their word, damage is told."""

import io
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from decimal import Decimal, localcontext
from math import ceil, log2
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file as save_torch

from ebmkit.cli import group
from ebmkit.components.data import arrays, headers, rows
from ebmkit.components.data.csv import Csv
from ebmkit.components.data.npz import Npz
from ebmkit.components.data.tensor_file import TensorFile
from tests.components.oracles import assert_follows, generator
from tests.patience import PATIENCE

SHAPES = [(11,), (11, 1), (11, 2), (11, 10), (11, 1, 4, 4)]
TYPES = ["?", "<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", ">f4", ">f8", ">i2", ">u4"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def golden_test_rows(n, fraction):
    """The rule for held-out rows, in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        golden = (Decimal(5).sqrt() - 1) / 2
        return [i for i in range(n) if i * golden % 1 < Decimal(fraction)]


def put_back(data, n):
    """Both splits, each row where the file has it."""
    test = golden_test_rows(n, data.test_fraction)
    train = sorted(set(range(n)) - set(test))
    parts = {"train": data.load("train", generator(0)).x, "test": data.load("test", generator(1)).x}
    assert len(parts["train"]) == len(train)
    x = torch.empty(n, *data.event(), dtype=parts["train"].dtype)
    x[train], x[test] = parts["train"], parts["test"]
    return x


def concatenated(data):
    return torch.cat([data.load("train", generator(0)).x, data.load("test", generator(1)).x])


def some_array(shape, dtype, seed=0):
    """Numbers of all sizes."""
    rng = np.random.default_rng(seed)
    if "f" in dtype:
        return (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(dtype)
    size = np.dtype(dtype).itemsize
    return rng.integers(0, 2 if dtype == "?" else 256, (*shape, size), dtype=np.uint8).view(dtype)[..., 0]


def expected(array):
    """What a model is given: float64 if the file has it, float32 otherwise."""
    wide = array.astype("f8" if array.dtype.newbyteorder("=") == np.float64 else "f4")
    return torch.from_numpy(wide.reshape(len(wide), *(wide.shape[1:] or (1,))))


# Round trips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_bit_for_bit(dtype, shape, order):
    array = np.asarray(some_array(shape, dtype), order=order)
    np.savez("plain.npz", x=array)
    np.savez_compressed("packed.npz", other=np.zeros(3), x=array)
    np.save("one.npy", array)
    wanted = expected(array)
    for data in (Npz(path="plain.npz"), Npz(path="packed.npz"), TensorFile(path="one.npy")):
        assert data.event() == wanted.shape[1:]
        back = concatenated(data) if isinstance(data, TensorFile) else put_back(data, len(array))
        assert back.dtype == wanted.dtype
        assert torch.equal(back, wanted)
        assert data.files() == (Path(data.path),)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [d for d in TYPES if not d.startswith(">")])
def test_safetensors_come_back_bit_for_bit(shape, dtype):
    array = some_array(shape, dtype)
    save_numpy({"aside": np.ones(3, "u1"), "x": array}, "several.safetensors", metadata={"by": "us"})
    data = TensorFile(path="several.safetensors")
    assert data.event() == (shape[1:] or (1,))
    assert torch.equal(concatenated(data), expected(array))


def test_bfloat16_and_tensors_that_begin_anywhere():
    x = torch.randn(9, 3, generator=generator(0)).to(torch.bfloat16)
    save_torch({"x": x}, "half.safetensors")
    assert torch.equal(concatenated(TensorFile(path="half.safetensors")), x.float())
    numbers = torch.randn(9, 3, generator=generator(0)).float()
    for odd in (0, 1, 2, 3):  # old files are not padded
        described = {"pts": {"dtype": "F32", "shape": [9, 3], "data_offsets": [0, 108]}}
        text = json.dumps(described).encode() + b" " * odd
        Path("odd.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + numbers.numpy().tobytes())
        data = TensorFile(path="odd.safetensors", x="pts")
        assert torch.equal(concatenated(data), numbers)
        assert data.load("train", generator(0)).x.data_ptr() % 4 == 0  # not every machine adds numbers that straddle


def test_headers_of_all_versions():
    array = some_array((6, 2), "<f4")
    for version in ((1, 0), (2, 0), (3, 0)):
        with Path("v.npy").open("wb") as file:
            np.lib.format.write_array(file, array, version=version)
        assert torch.equal(concatenated(TensorFile(path="v.npy")), torch.from_numpy(array))


def test_labels_go_with_their_rows():
    np.savez("named.npz", points=np.arange(40.0).reshape(20, 2), kind=np.arange(20, dtype=np.uint8))
    data = Npz(path="named.npz", x="points", y="kind")
    for split in ("train", "test"):
        x, y = data.load(split, generator(0))
        assert y.dtype == torch.long
        assert torch.equal(x[:, 0], 2.0 * y)
    np.savez("wrong.npz", x=np.ones((20, 2)), short=np.arange(19), real=np.ones(20))
    for name in ("short", "real"):
        with pytest.raises(ValueError, match=f"'{name}' contains .* integer for each of 20"):
            Npz(path="wrong.npz", y=name).event()


def test_csv_numbers_are_exact():
    table = some_array((50, 3), "<f8")
    Path("data.csv").write_text("\n".join(",".join(map(repr, map(float, row))) for row in table))
    assert torch.equal(put_back(Csv(), 50), torch.from_numpy(table))
    assert Csv().files() == (Path("data.csv"),)


@pytest.mark.parametrize(
    ("text", "parameters", "wanted"),
    [
        ("1,2\n3,4\n", {}, [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4", {}, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n\r\n1,2\r\n3,4\r\n\r\n", {"columns": ("b", "a")}, [[2, 1], [4, 3]]),
        ("\ufeff1,2\n3,4\n", {}, [[1, 2], [3, 4]]),
        ('"a, really", b \n" 1",2e0\n+3.,-.4\n', {"columns": ("b", "a, really")}, [[2, 1], [-0.4, 3]]),
        ("1;2;x\n3;4;y\n", {"delimiter": ";", "columns": (1, 0)}, [[2, 1], [4, 3]]),
        ("p\tq\n1\t2\n3\t4\n", {"delimiter": "\t", "columns": ("q", 0)}, [[2, 1], [4, 3]]),
        ("n\n1\n2\n", {}, [[1], [2]]),
    ],
)
def test_tables(text, parameters, wanted):
    Path("data.csv").write_text(text, encoding="utf-8", newline="")
    assert Csv(**parameters).event() == (len(wanted[0]),)
    assert put_back(Csv(**parameters), 2).tolist() == wanted


@pytest.mark.parametrize(
    ("text", "parameters", "words"),
    [
        ("", {}, "has no rows"),
        ("a,b\n", {}, "has no rows"),
        ("a,b\n1,2,3\n", {}, "2 columns in its first line, but 3 in line 2"),
        ("1,2\n3,4\n5\n", {}, "2 columns in its first line, but 1 in line 3"),
        ("a,b\n1,nan\n", {}, "has 'nan' in line 2, column 1"),
        ("a,b\n1,2\n\n-inf,2\n", {}, "has '-inf' in line 4, column 0"),
        ("1,2\n3,1_2\n", {}, "has '1_2' in line 2, column 1"),
        ("1,2\n3,\n", {}, "has '' in line 2, column 1"),
        ("1,red\n2,blue\n", {}, "has 'red' in line 1, column 1"),
        ("a,b\n1,2\n", {"columns": ("c",)}, "no columns 'c'; its columns are a, b"),
        ("a,a\n1,2\n", {"columns": ("a",)}, "several columns 'a'"),
        ("1,2\n", {"columns": ("a",)}, "count them from 0"),
        ("1,2\n", {"columns": (2,)}, "no column 2, counted from 0: there are 2"),
        ("a,b\n1,2\n", {"columns": ("a", 0)}, "lists it twice"),
        ('1,"2\n3,4\n', {}, "cannot be read as a table"),
        ("1,2\n3,\xff\n", {}, "not text in UTF-8 at line 2"),
        ("1," * 600_000, {}, "more than 1048576 bytes in line 1"),
        ("1\n", {}, "none of 1 rows is a train row"),
    ],
)
def test_tables_that_are_none(text, parameters, words):
    Path("data.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=words):
        Csv(**parameters).load("train", generator(0))


# Splits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.97])
def test_held_out_rows_follow_the_golden_rule(fraction):
    n = 5000
    test, train = (rows.rows_of(split, n, fraction).tolist() for split in ("test", "train"))
    assert test == golden_test_rows(n, fraction)
    assert sorted(test + train) == list(range(n))  # disjoint, and nothing is lost
    assert abs(len(test) - fraction * n) < 4
    held_out = np.isin(np.arange(n), test).cumsum()
    windows = held_out[100:] - held_out[:-100]  # every stretch of a sorted file gives its share
    assert abs(windows - 100 * fraction).max() < 3


def test_more_rows_or_a_larger_share_move_no_row():
    few, many = (set(rows.rows_of("test", n, 0.2).tolist()) for n in (300, 5000))
    assert few == {row for row in many if row < 300}
    assert few < set(rows.rows_of("test", 300, 0.3).tolist())


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.97])
def test_a_tensor_file_holds_out_its_last_rows(fraction):
    np.save("data.npy", np.arange(50.0, dtype="f4"))
    data = TensorFile(test_fraction=fraction)
    train, test = (data.load(split, generator(0)).x.flatten().tolist() for split in ("train", "test"))
    assert train + test == list(range(50))
    assert len(test) == {0.01: 1, 0.2: 10, 0.97: 48}[fraction]


def test_splits_are_the_same_in_another_process():
    np.savez("data.npz", x=np.arange(500.0))
    np.save("data.npy", np.arange(500.0))
    Path("data.csv").write_text("\n".join(map(str, range(500))))
    program = (
        "import torch\n"
        "from ebmkit.components.data.csv import Csv\n"
        "from ebmkit.components.data.npz import Npz\n"
        "from ebmkit.components.data.tensor_file import TensorFile\n"
        "rng = torch.Generator().manual_seed(7)\n"
        "print([d.load(s, rng).x.tolist() for d in (Csv(), Npz(), TensorFile()) for s in ('train', 'test')])"
    )
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    here = [d.load(s, generator(8)).x.tolist() for d in (Csv(), Npz(), TensorFile()) for s in ("train", "test")]
    assert json.loads(there) == here


def test_a_split_without_rows_is_refused():
    np.savez("data.npz", x=np.arange(2.0))
    with pytest.raises(ValueError, match="none of 2 rows is a train row"):
        Npz(test_fraction=0.99).load("train", generator(0))


# Scaling --------------------------------------------------------------------------------------------------------------


def written(array):
    """The same rows in three files."""
    np.savez("data.npz", x=array)
    np.save("data.npy", array)
    Path("data.csv").write_text("\n".join(",".join(map(repr, row)) for row in array.reshape(len(array), -1).tolist()))


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("levels", [2, 3, 17, 256, 1000, 65536])
def test_floor_undoes_dequantisation(levels, block, monkeypatch):
    monkeypatch.setattr(rows, "_BLOCK", block)
    size = 3000
    k = np.random.default_rng(0).integers(0, levels, (size, 2)).astype("u2")
    k[:4] = [[0, levels - 1]] * 4
    written(k)
    for data in (Npz, TensorFile):
        x = put_back(data(dequantize=levels), size) if data is Npz else concatenated(data(dequantize=levels))
        assert x.dtype == torch.float32
        assert float(x.min()) >= -1
        assert float(x.max()) < 1
        assert torch.equal(((x.double() + 1) / 2 * levels).floor(), torch.from_numpy(k).double())


@pytest.mark.parametrize("levels", [2, 17, 256])
def test_dequantisation_is_uniform_within_a_level(levels):
    k = torch.arange(levels, dtype=torch.float64).repeat(200_000 // levels, 1)
    u = (rows.dequantized(k, levels, generator(0)).float().double() + 1) / 2 * levels - k
    grid = 2 ** (24 - ceil(log2(levels)))
    assert grid >= 2**16  # fine enough for the test not to see it
    assert_follows([(part.flatten(), lambda v: v) for part in (u, u[:, 0], u[:, -1])])


def test_noise_comes_from_the_generator_alone():
    np.savez("data.npz", x=np.arange(100, dtype="u1"))
    data = Npz(dequantize=256)
    first = data.load("train", generator(0)).x
    torch.manual_seed(7)
    assert torch.equal(data.load("train", generator(0)).x, first)
    assert not torch.equal(data.load("train", generator(1)).x, first)


@pytest.mark.parametrize("value", [256, -1, 0.5])
def test_what_is_no_level_is_refused(value):
    array = np.zeros((30, 2, 2))
    array[17, 1, 0] = value
    np.savez("data.npz", x=array)
    words = rf"row 17, column 1, 0 \(counted from 0\): {value:.1f} is not one of the levels 0 to 255"
    with pytest.raises(ValueError, match=words):
        Npz(dequantize=256).load("test", generator(0))


# Numbers that are none ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4"])
@pytest.mark.parametrize("row", [0, 1, 57, 59])
def test_row_and_column_of_what_is_not_finite(value, dtype, row, monkeypatch):
    monkeypatch.setattr(rows, "_BLOCK", 16)
    array = np.ones((60, 3), dtype)
    array[row, 2] = value
    np.savez("data.npz", x=array)
    np.save("data.npy", np.asfortranarray(array))
    words = rf"row {row}, column 2 \(counted from 0\): {value} is not finite"
    for split in ("train", "test"):
        with pytest.raises(ValueError, match=words):
            Npz().load(split, generator(0))
    with pytest.raises(ValueError, match=words):
        concatenated(TensorFile())


# Mapped files ---------------------------------------------------------------------------------------------------------


def test_float32_rows_stay_in_their_file():
    array = some_array((100, 4), "<f4")
    np.save("data.npy", array)
    save_numpy({"x": array}, "data.safetensors")
    for data in (TensorFile(), TensorFile(path="data.safetensors")):
        x = data.load("train", generator(0)).x
        assert torch.equal(x, torch.from_numpy(array[:80]))
        with Path(data.path).open("r+b") as file:  # what is written into the file is seen in the tensor
            file.seek(data.header(data.path).offset)
            file.write(struct.pack("<f", 12.5))
        assert float(x[0, 0]) == 12.5
        chosen = torch.randperm(80, generator=generator(3))[:16]
        assert torch.equal(x.index_select(0, chosen)[:, 1:], torch.from_numpy(array)[chosen][:, 1:])


MEMORY = """
import re, resource, torch
from pathlib import Path
from ebmkit.components.data.tensor_file import TensorFile
torch.set_num_threads(1)
torch.ones(1000).index_select(0, torch.tensor([1])).isfinite().all()
in_use = int(re.search(r"VmData:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
most = in_use + 100 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
rng = torch.Generator().manual_seed(0)
for path in ("large.npy", "large.safetensors"):
    splits = [TensorFile(path=path).load(split, rng).x for split in ("train", "test")]
    for x in splits:
        for _ in range(20):
            batch = x.index_select(0, torch.randint(len(x), (256,), generator=rng))
            assert batch.shape == (256, 1024) and not batch.any()
    assert sum(map(len, splits)) == 51200
    print("streamed")
try:
    splits[0].clone()
except (RuntimeError, MemoryError):
    print("too large to load")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory as Linux counts it")
def test_a_file_of_200_megabytes_is_streamed_in_100():
    shape = (51200, 1024)
    with Path("large.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        file.write(bytes(4 * shape[1] * 1024))
        file.truncate(file.tell() + 4 * shape[1] * (shape[0] - 1024))  # zeros that take no room on the disk
    size = 4 * shape[0] * shape[1]
    text = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}).encode().ljust(128)
    with Path("large.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + bytes(4 * shape[1] * 1024))
        file.truncate(8 + 128 + size)
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split("\n")[:3] == ["streamed", "streamed", "too large to load"], done.stderr


# Files by strangers ---------------------------------------------------------------------------------------------------


def npy(descr="'<f4'", shape="(4, 2)", body=32, fortran="False", version=1, text=None, length=None):
    """A .npy file with a header of our own making."""
    text = text if text is not None else f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
    length = len(text) if length is None else length
    start = b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 if version == 1 else 4, "little")
    return start + text.encode("latin-1") + bytes(body)


def tensors(described, body=32, length=None):
    text = described if isinstance(described, bytes) else json.dumps(described).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + bytes(body)


def archive(*members, compression=zipfile.ZIP_STORED, comment=b""):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as packed:
        for name, content in members:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a name may come twice
                packed.writestr(name, content)
        packed.comment = comment
    return file.getvalue()


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}, print]), allow_pickle=True)
    return file.getvalue()


def described(**changes):
    return {"x": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]} | changes}


def lying(content, claimed):
    """An archive whose directory claims another size of the unpacked member."""
    packed = bytearray(archive(("x.npy", content), compression=zipfile.ZIP_DEFLATED))
    for magic, at in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        place = packed.index(magic) + at
        packed[place : place + 4] = struct.pack("<I", claimed)
    return bytes(packed)


HOSTILE = {
    "pickled.npy": (pickled(), "pickles, which are never read"),
    "text.npy": (npy("'<U3'"), "'<U3', which is not a supported type of numbers"),
    "complex.npy": (npy("'<c8'"), "not a supported type of numbers"),
    "void.npy": (npy("''"), "not a supported type of numbers"),
    "dates.npy": (npy("'<M8[s]'"), "not a supported type of numbers"),
    "records.npy": (npy("[('a', '<f4')]"), "named fields"),
    "huge.npy": (npy(shape=f"({2**62}, {2**62})"), "is damaged: .* but there are 32"),
    "short.npy": (npy(body=31), "take 32 bytes, but there are 31"),
    "long.npy": (npy(body=33), "take 32 bytes, but there are 33"),
    "negative.npy": (npy(shape="(-4, -2)"), "damaged header"),
    "half.npy": (npy(shape="(4, 2.0)"), "damaged header"),
    "true.npy": (npy(shape="(True, 8)"), "damaged header"),
    "list.npy": (npy(shape="[4, 2]"), "damaged header"),
    "scalar.npy": (npy(shape="()", body=4), "has too few points"),
    "lone.npy": (npy(shape="(1, 8)"), "has too few points"),
    "empty.npy": (npy(shape="(8, 0)", body=0), "has too few points"),
    "code.npy": (npy(text="__import__('os').system('touch owned')"), "damaged header"),
    "deep.npy": (npy(text="(" * 5000), "damaged header"),
    "minus.npy": (npy(text="-" * 9000 + "1"), "damaged header"),
    "dimensions.npy": (npy(shape=f"({'1, ' * 3000})", body=4), "array of 3000 dimensions, but at most 64"),
    "digits.npy": (npy(shape=f"({'9' * 5000},)"), "damaged header"),
    "wide.npy": (npy(text="'" + "a" * 20_000 + "'"), "at most 10000 are read"),
    "claim.npy": (npy(version=2, length=2**32 - 1), "at most 10000 are read"),
    "future.npy": (npy(version=4), "not an array in numpy's format"),
    "nothing.npy": (b"", "not an array in numpy's format"),
    "zip.npy": (archive(("x.npy", npy())), "not an array in numpy's format"),
    "pickled.npz": (archive(("x.npy", pickled())), "pickles, which are never read"),
    "raw.npz": (archive(("x.npy", b"cos\nsystem\n(S'touch owned'\ntR.")), "not an array in numpy's format"),
    "text.npz": (b"once upon a time", "is damaged: File is not a zip file"),
    "nothing.npz": (b"", "is damaged: File is not a zip file"),
    "outside.npz": (archive(("../x.npy", npy()), ("/x.npy", npy())), r"contains no array 'x'; it contains ../x, /x"),
    "many.npz": (archive(*((f"{i}.npy", b"") for i in range(1000))), "it contains 0, 1, 2, 3, 4, 5, 6, 7, 8, 9$"),
    "twice.npz": (archive(("x.npy", npy()), ("x.npy", npy())), "contains 'x' twice"),
    "bzip.npz": (archive(("x.npy", npy()), compression=zipfile.ZIP_BZIP2), "by a method that numpy does not use"),
    "lzma.npz": (archive(("x.npy", npy()), compression=zipfile.ZIP_LZMA), "by a method that numpy does not use"),
    "long.npz": (archive(("x.npy", npy(body=99))), "take 32 bytes, but there are 99"),
    "lying.npz": (
        lying(npy(shape=f"({2**28},)"), 2**30 + 76),
        "on disk to 1,073,741,900, but at most",
    ),
    "directory.npz": (archive(*((f"{i:060000}", b"") for i in range(20))), "has a directory of more than 1048576"),
    "metadata.safetensors": (tensors({"__metadata__": {}}), "contains no tensor 'x'$"),
    "other.safetensors": (tensors({"y": 1, "z": 2}), "contains no tensor 'x'; it contains y, z"),
    "list.safetensors": (tensors([1, 2]), "contains no tensor 'x'"),
    "number.safetensors": (tensors({"x": 3}), "in an unknown format"),
    "eight.safetensors": (tensors(described(dtype="F8_E4M3")), "F8_E4M3, which is not a supported type"),
    "short.safetensors": (tensors(described(), body=31), "are missing"),
    "backwards.safetensors": (tensors(described(data_offsets=[32, 0])), "are missing"),
    "before.safetensors": (tensors(described(data_offsets=[-8, 24])), "are missing"),
    "mismatch.safetensors": (tensors(described(shape=[4, 3])), "take 48 bytes, but there are 32"),
    "huge.safetensors": (tensors(described(shape=[2**62, 2**62])), "is damaged"),
    "negative.safetensors": (tensors(described(shape=[-4, -2])), "damaged header"),
    "word.safetensors": (tensors(described(shape=["4", 2])), "damaged header"),
    "offsets.safetensors": (tensors(described(data_offsets=[0.0, 32.0])), "in an unknown format"),
    "deep.safetensors": (tensors(b"[" * 500_000), "damaged header"),
    "digits.safetensors": (tensors(b'{"x": ' + b"9" * 9000 + b"}"), "damaged header"),
    "claim.safetensors": (tensors(described(), length=2**40), "a header of 1099511627776 bytes"),
    "latin.safetensors": (tensors(b"\xff\xfe{}"), "damaged header"),
    "nothing.safetensors": (b"", "damaged header"),
}


def reader(name):
    return {"npz": Npz, "csv": Csv}.get(name.rpartition(".")[2], TensorFile)(path=name)


def squeezed(count, fill=0):
    """An archive of `count` bytes that repeat one value, which takes a thousandth of them on disk."""
    body = bytes([fill]) * count
    header = npy("'|u1'", shape=f"({count // 2}, 2)", body=0)
    return archive(("x.npy", header + body), compression=zipfile.ZIP_DEFLATED)


def test_an_archive_that_expands_too_far_is_refused_before_it_is_read():
    """A file of a megabyte made the reader use four gigabytes."""
    Path("data.npz").write_bytes(squeezed(200 << 20))
    tracemalloc.start()
    for read in (Npz().event, lambda: Npz().load("train", generator(0))):
        with pytest.raises(ValueError, match=r"expands from 2\d\d,\d{3} bytes on disk to 209,715,\d{3}, but at most"):
            read()
    assert tracemalloc.get_traced_memory()[1] < 4 * headers.MOST
    tracemalloc.stop()


def test_mostly_empty_arrays_are_accepted():
    """64 MiB at any ratio, and a hundred times the bytes on disk at any size."""
    Path("data.npz").write_bytes(squeezed(32 << 20))
    assert len(Npz().load("test", generator(0)).x) > 3_000_000
    sparse = np.zeros((1 << 20, 25), np.float32)  # 100 MiB, of which one number in 25 is not zero
    sparse[:, 0] = np.random.default_rng(0).standard_normal(len(sparse))
    np.savez_compressed("sparse.npz", x=sparse)
    assert Npz(path="sparse.npz").event() == (25,)


def test_more_than_the_free_memory_is_refused_with_both_numbers(monkeypatch):
    Path("data.npz").write_bytes(squeezed(1000))
    monkeypatch.setattr(arrays, "available_memory", lambda: 999)
    with pytest.raises(ValueError, match=r"'x' with 1,000 bytes, but only 999 bytes of memory are free"):
        Npz().load("train", generator(0))


@pytest.mark.parametrize("name", ["data.npy", "data.safetensors"])
def test_a_file_of_holes_is_refused_by_validate_and_before_its_numbers_are_read(name):
    size = 1 << 42
    start = npy(shape=f"({size >> 2},)", body=0)
    if name.endswith("safetensors"):
        start = tensors(described(shape=[size >> 2], data_offsets=[0, size]), body=0)
    Path(name).write_bytes(start)
    os.truncate(name, len(start) + size)
    for read in (reader(name).event, lambda: reader(name).load("train", generator(0))):
        with pytest.raises(ValueError, match=r"expands from 4,096 bytes on disk to 4,398,046,511"):
            read()


def test_a_line_of_many_columns_takes_time_in_proportion():
    """Comparing every column with all others takes minutes for a hundred thousand."""
    Path("data.csv").write_text("1," * 99_999 + "1\n")
    assert Csv().event() == (100_000,)
    Path("data.csv").write_text("1," * 100_000 + "1\n")
    with pytest.raises(ValueError, match="has 100,001 columns, but at most 100,000 are read"):
        Csv().event()
    Path("data.csv").write_text(",".join(f"c{n}" for n in range(100_000)) + "\n" + "1," * 99_999 + "1\n")
    assert Csv(columns=tuple(f"c{n}" for n in range(0, 100_000, 10))).event() == (10_000,)


def test_a_large_file_of_empty_lines_is_not_searched():
    Path("data.csv").write_bytes(b"\n" * (4 << 20) + b"1,2\n")  # to the end of which a terabyte would take hours
    with pytest.raises(ValueError, match="has no rows"):
        Csv().event()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_words(name):
    content, words = HOSTILE[name]
    Path(name).write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        reader(name).event()
    assert f"'{name}'" in str(caught.value) or "has too few points" in words
    with pytest.raises(ValueError, match=words):
        reader(name).load("train", generator(0))
    assert [path.name for path in Path().iterdir()] == [name]  # nothing was unpacked, nothing ran


def test_an_encrypted_array_is_refused():
    packed = bytearray(archive(("x.npy", npy())))
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        packed[packed.index(magic) + at] |= 1
    Path("data.npz").write_bytes(packed)
    with pytest.raises(ValueError, match="encrypted"):
        Npz().event()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_other_numbers_than_were_packed_are_noticed(compression):
    content = bytearray(archive(("x.npy", npy(shape="(2000, 2)", body=16_000)), compression=compression))
    content[content.index(b"PK\3\4") + 14] ^= 1  # the checksum, before the array and in the directory
    content[content.index(b"PK\1\2") + 16] ^= 1
    Path("data.npz").write_bytes(content)
    assert Npz().event() == (2,)
    with pytest.raises(ValueError, match="is damaged: Bad CRC-32"):
        Npz().load("train", generator(0))


GOOD = {
    "data.npy": npy(),
    "data.npz": archive(("y.npy", npy()), ("x.npy", npy()), compression=zipfile.ZIP_DEFLATED),
    "data.safetensors": tensors(described()),
    "data.csv": b'a,"b"\n1,2\n3,4\n5,6\n7,8\n',
}


@pytest.mark.parametrize("name", GOOD)
def test_every_truncation_is_noticed(name):
    content, whole = GOOD[name], Path(name)
    whole.write_bytes(content)
    assert reader(name).event() == (2,)
    for length in range(len(content) if name != "data.csv" else content.index(b"2")):
        whole.write_bytes(content[:length])
        with pytest.raises(ValueError, match=name):
            reader(name).event()


@pytest.mark.parametrize("name", GOOD)
def test_damage_of_any_kind_is_a_value_error_or_harmless(name):
    rng = random.Random(0)
    for _ in range(250):
        content = bytearray(GOOD[name])
        for _ in range(rng.choice([1, 1, 2, 8])):
            content[rng.randrange(len(content))] = rng.choice([0, 0xFF, rng.randrange(256)])
        Path(name).write_bytes(content)
        for read in (reader(name).event, lambda: reader(name).load("train", generator(0))):
            with suppress(ValueError):
                read()


def test_only_the_beginning_of_a_file_is_read():
    """The header's worth, of a large file that is all directory, all header, or all numbers."""
    numbers, gigabyte = npy(shape=f"({2**23},)", body=0), 2**30
    Path("data.npy").write_bytes(numbers)
    os.truncate("data.npy", len(numbers) + 2**25)  # larger files with holes are refused
    Path("data.safetensors").write_bytes(tensors(described(), length=2**29))
    os.truncate("data.safetensors", gigabyte)
    Path("data.csv").write_bytes(b"1,2\n")
    os.truncate("data.csv", gigabyte)
    with Path("data.npz").open("wb") as file:
        file.seek(gigabyte)
        file.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, gigabyte, 0, 0))
    tracemalloc.start()
    assert TensorFile().event() == (1,)
    assert Csv().event() == (2,)
    with pytest.raises(ValueError, match="a header of 536870912 bytes"):
        TensorFile(path="data.safetensors").event()
    with pytest.raises(ValueError, match="a directory of more than"):
        Npz().event()
    assert tracemalloc.get_traced_memory()[1] < 4 * headers.MOST
    tracemalloc.stop()


# Through the command line ---------------------------------------------------------------------------------------------

SPEC = "ebmkit: 1\nmodel: mlp\ndata:\n  {{use: {}, path: {}}}\nsampler: langevin\n"


WRONG = [
    ("npz", "missing.npz", "there is no file 'missing.npz' in "),
    ("npz", "folder.npz", "'folder.npz' cannot be read: it is a folder, not a regular file"),
    ("npz", "/dev/zero", "'/dev/zero' cannot be read: it is a device"),
    ("csv", "pipe", "'pipe' cannot be read: it is a pipe"),
    ("csv", "missing/data.csv", "there is no file"),
    ("csv", "file/data.csv", "cannot be read: Not a directory"),
    ("tensor_file", "file.npy", "not an array in numpy's format"),
    ("npz", "x" * 300, "cannot be read: File name too long"),
]


def test_the_line_of_the_data_is_blamed():
    Path("folder.npz").mkdir()
    Path("file").touch()
    Path("file.npy").write_text("hello")
    os.mkfifo("pipe")
    specs = [f"{position}.yaml" for position in range(len(WRONG))]
    for spec, (use, path, _) in zip(specs, WRONG, strict=True):
        Path(spec).write_text(SPEC.format(use, path))
    validate = [sys.executable, "-m", "ebmkit", "validate", *specs]
    # A pipe that is opened never answers.
    done = subprocess.run(validate, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    messages = done.stderr.split("error[")[1:]
    for spec, (use, _, words), message in zip(specs, WRONG, messages, strict=True):
        assert message.startswith(f"E210]: data '{use}': ")
        assert words in message
        assert f"--> {spec}:4:9\n" in message


TORCH_FREE = """
import sys
from ebmkit.cli import group
try:
    group(["validate", *sys.argv[1:]], prog_name="ebmkit")
except SystemExit as end:
    print(end.code, [name for name in ("torch", "numpy") if name in sys.modules])
"""


def test_files_are_validated_without_torch_or_numpy():
    written(np.arange(20.0).reshape(10, 2))
    save_numpy({"x": np.zeros((4, 2))}, "data.safetensors")
    names = []
    for path in ("data.npz", "data.csv", "data.npy", "data.safetensors"):
        names.append(f"{path}.yaml")
        Path(names[-1]).write_text(SPEC.format(reader(path).component_name, path))
    done = subprocess.run([sys.executable, "-c", TORCH_FREE, *names], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
    assert done.stdout.count(": ok") == 4


def test_shapes_are_compared_with_the_header_alone():
    np.save("data.npy", np.zeros((10, 3), "f4"))
    Path("spec.yaml").write_text("ebmkit: 1\ndata: tensor_file\nmodel: {use: gaussian, mean: [0, 0]}\nsampler: exact\n")
    done = CliRunner().invoke(group, ["validate", "spec.yaml"])
    assert done.exit_code == 2
    assert "error[E202]" in done.stderr
    assert "shape (3,)" in done.stderr


def test_parameters_are_bounded():
    bad = [
        "{use: csv, delimiter: '|'}",
        "{use: csv, columns: []}",
        "{use: csv, columns: [-1]}",
        "{use: csv, columns: [true]}",
        "{use: npz, test_fraction: 0}",
        "{use: npz, test_fraction: 1.0}",
        "{use: npz, dequantize: 1}",
        "{use: npz, dequantize: true}",
        "{use: tensor_file, path: data.pt}",
        "{use: tensor_file, path: data.npy, x: points}",
    ]
    for index, data in enumerate(bad):
        Path(f"{index}.yaml").write_text(f"ebmkit: 1\nmodel: mlp\nsampler: langevin\ndata: {data}\n")
    done = CliRunner().invoke(group, ["validate", *(f"{i}.yaml" for i in range(len(bad)))])
    assert done.exit_code == 2
    assert "E210" not in done.stderr
    assert [line.split(":")[0].strip(" ->") for line in done.stderr.splitlines() if "-->" in line] == [
        f"{i}.yaml" for i in range(len(bad))
    ]


def test_an_experiment_is_built_on_a_file():
    from ebmkit.engine.build import build
    from ebmkit.language.load import load_spec

    torch.set_default_dtype(torch.float32)
    array = some_array((50, 2), "<f4")
    written(array)
    for use in ("npz", "tensor_file", "csv"):
        parts = build(load_spec({"ebmkit": 1, "device": "cpu", "data": use, "model": "mlp", "sampler": "langevin"}))
        assert parts.train.dtype == torch.float32
        assert sorted(map(tuple, itertools.chain(parts.train.tolist(), parts.test.tolist()))) == sorted(
            map(tuple, array.tolist())
        )
