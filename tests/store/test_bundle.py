"""A run in one file: the same bytes each time, and nothing in it changes unnoticed."""

import json
import shutil
import zipfile
from functools import partial
from pathlib import Path

import pytest

from ebmkit.errors.running import StorageFailed
from ebmkit.store.bundle import MANIFEST, write_bundle
from ebmkit.store.entry import Entry
from ebmkit.store.verification import verify
from tests.cli.typed import ebmkit

SPEC = """\
ebmkit: 1
name: bundled
device: cpu
threads: 1
data: {use: csv, path: points.csv}
model: {use: mlp, hidden: [4]}
objective: nce
train: {steps: 12, batch_size: 8}
checkpoint: {every: 2, keep: 3}
sampler: {use: langevin, steps: 3}
samples: 10
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundled")
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
    (folder / "bundled.yaml").write_text(SPEC)
    words = ["--no-report", "--quiet", "--runs-dir", str(folder / "runs")]
    return Path(ebmkit("run", str(folder / "bundled.yaml"), *words).stdout.strip())


@pytest.fixture
def run(made):
    return made


@pytest.fixture
def bundle(run, tmp_path):
    write_bundle(Entry(run), tmp_path / "run.zip")
    return tmp_path / "run.zip"


def outcomes(path, **options):
    return {check.what: check.outcome for check in verify(path, **options)}


INTACT = dict.fromkeys(("files", "run", "spec", "data", "versions"), "intact")


def test_the_same_run_gives_the_same_bytes(run, bundle, tmp_path):
    copy = shutil.copytree(run, tmp_path / run.name)
    write_bundle(Entry(copy), tmp_path / "again.zip")
    assert bundle.read_bytes() == (tmp_path / "again.zip").read_bytes()
    assert outcomes(bundle) == INTACT


def test_it_holds_the_last_checkpoint_and_no_lock_file(run, bundle):
    names = zipfile.ZipFile(bundle).namelist()
    assert len(list((run / "checkpoints").iterdir())) > 1
    assert {name.split("/")[1] for name in names if name.startswith("checkpoints/")} == {"step-000012"}
    assert {"spec.yaml", "lock.yaml", "run.json", "metrics.jsonl", "samples/samples.safetensors"} < set(names)
    assert ".lock" not in names


def test_what_is_unpacked_is_the_run(bundle, tmp_path):
    ebmkit("verify", str(bundle), "--unpack", str(tmp_path / "there"))
    (folder,) = (tmp_path / "there").iterdir()
    told = ebmkit("reproduce", str(folder), "--runs-dir", str(tmp_path / "again"), "--quiet")
    assert "identical" in told.output
    assert "File exists" in ebmkit("verify", str(bundle), "--unpack", str(tmp_path / "there"), status=5).stderr


def rewritten(bundle, change):
    """The bundle with other entries: `change` gets all of them by name."""
    with zipfile.ZipFile(bundle) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    other = bundle.with_name("other.zip")
    with zipfile.ZipFile(other, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return other


def flipped(name, entries):
    """One bit of a file; its size is the same."""
    entries[name] = entries[name][:-1] + bytes([entries[name][-1] ^ 1])


def longer(name, entries):
    entries[name] += b"\n"


def test_every_file_is_covered(bundle):
    for name in zipfile.ZipFile(bundle).namelist():
        if name != MANIFEST:
            for change, words in ((flipped, "another hash"), (longer, "bytes, but the manifest says")):
                (check,) = verify(rewritten(bundle, partial(change, name)))
                assert (check.what, check.outcome) == ("files", "wrong")
                assert name in check.words
                assert words in check.words
            (check,) = verify(rewritten(bundle, lambda all_, name=name: all_.pop(name)))
            assert f"{name} is missing" in check.words


def test_a_file_that_is_not_listed_is_wrong(bundle):
    (check,) = verify(rewritten(bundle, lambda entries: entries.update({"extra.txt": b""})))
    assert "extra.txt is not in the manifest" in check.words


def of_manifest(change):
    def changed(entries):
        manifest = json.loads(entries[MANIFEST])
        change(manifest, entries)
        entries[MANIFEST] = json.dumps(manifest).encode()

    return changed


def renamed(name):
    def change(manifest, entries):
        manifest["files"][name] = manifest["files"].pop("log.txt")
        entries[name] = entries.pop("log.txt")

    return of_manifest(change)


@pytest.mark.parametrize(
    "name", ["../log.txt", "/tmp/log.txt", "a/../../log.txt", "a\\..\\log.txt", "C:log.txt", ".lock", "./log.txt"]
)
def test_a_name_that_leads_elsewhere_is_refused(bundle, tmp_path, name):
    with pytest.raises(StorageFailed, match="manifest is damaged"):
        verify(rewritten(bundle, renamed(name)), unpack=tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest, entries: manifest.update(format=2),
        lambda manifest, entries: manifest.update(run="../up"),
        lambda manifest, entries: manifest.update(hash=5),
        lambda manifest, entries: manifest.update(files=[]),
        lambda manifest, entries: manifest["files"].update({"log.txt": {"sha256": "0", "bytes": 1}}),
        lambda manifest, entries: manifest["files"].update({"log.txt": {"bytes": -1}}),
    ],
)
def test_a_manifest_that_is_none_is_refused(bundle, change):
    with pytest.raises(StorageFailed, match="manifest is damaged"):
        verify(rewritten(bundle, of_manifest(change)))


def test_other_files_are_no_bundles(tmp_path):
    (tmp_path / "text.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    for name in ("text.zip", "empty.zip"):
        assert "not a bundle" in ebmkit("verify", str(tmp_path / name), status=5).stderr


def test_an_archive_that_expands_too_much_is_not_read(tmp_path, bundle):
    size = 200 << 20

    def change(manifest, entries):
        manifest["files"]["log.txt"]["bytes"] = size

    other = rewritten(bundle, of_manifest(change))
    with zipfile.ZipFile(other) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != "log.txt"}
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.writestr("log.txt", bytes(size))
    (check,) = verify(other)
    assert "expands from" in check.words


def forged(run, folder, before, after):
    """The bundle of a copy of the run with another resolved spec."""
    copy = shutil.copytree(run, folder / run.name)
    resolved = (copy / "resolved.yaml").read_text()
    assert before in resolved
    (copy / "resolved.yaml").write_text(resolved.replace(before, after))
    write_bundle(Entry(copy), folder / "forged.zip")
    return folder / "forged.zip"


def test_another_spec_under_the_hash_of_the_run_is_wrong(run, tmp_path):
    bundle = forged(run, tmp_path, "steps: 12", "steps: 13")
    assert outcomes(bundle)["spec"] == "wrong"
    assert "its hash is" in ebmkit("verify", str(bundle), status=5).stderr


def test_data_that_changed_or_are_gone(run, bundle, tmp_path):
    points = run.parents[2] / "points.csv"
    content = points.read_text()
    try:
        points.write_text(content + "1,1\n")
        assert outcomes(bundle)["data"] == "wrong"
        points.unlink()
        assert outcomes(bundle)["data"] == "open"
    finally:
        points.write_text(content)


def test_a_plugin_that_is_not_installed_leaves_the_spec_open(run, tmp_path):
    assert outcomes(forged(run, tmp_path, "use: nce", "use: absent.nce"))["spec"] == "open"


def test_an_existing_file_is_not_overwritten(run, bundle):
    assert "exists already" in ebmkit("bundle", str(run), str(bundle), status=5).stderr
    assert "does not end with .zip" in ebmkit("bundle", str(run), "run.tar", status=2).stderr


def test_for_programs(bundle):
    told = json.loads(ebmkit("verify", str(bundle), "--json").stdout)
    assert {check["what"]: check["outcome"] for check in told} == INTACT
