"""The named features: how `digits-cnn` is trained, kept and read again, and what `fid` says in it."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import ebmkit
from ebmkit.components.data.digits import Digits
from ebmkit.components.features import find_extractor
from ebmkit.components.metrics.fid import FID
from ebmkit.engine import session, trained
from ebmkit.errors.running import ExpectationUnmet, StorageFailed
from ebmkit.testing.case import Case
from ebmkit.testing.laws import laws_of
from ebmkit.testing.laws.metric import SAMPLES
from tests.components.oracles import generator
from tests.views import FakeView

SPEC = "features/digits-cnn"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A cache folder in which they were trained, once for all tests here."""
    home = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        trained.trained(SPEC)
    return home


@pytest.fixture
def cache(whole, tmp_path, monkeypatch):
    """A copy of it, and a process that has read nothing yet."""
    home = tmp_path / "cache"
    shutil.copytree(whole, home)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    trained._trained.cache_clear()
    yield home / "ebmkit" / "features"
    trained._trained.cache_clear()


def only(folder):
    (found,) = folder.iterdir()  # hidden ones too
    return found


@pytest.fixture
def quick(whole, monkeypatch):
    """A training that takes no time, since it copies what was trained; and how often there was one."""
    trainings = []

    def run(plan, runs_dir):
        trainings.append(Path(runs_dir))
        folder = Path(runs_dir) / "digits-cnn" / "now"
        shutil.copytree(only(whole / "ebmkit" / "features"), folder)
        return SimpleNamespace(folder=folder, failed=(), unmet=[])

    monkeypatch.setattr(session, "run", run)
    return trainings


def weights():
    return trained.trained(SPEC).module.state_dict()


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def images(split):
    return Digits().load(split, generator(0))


# What they are --------------------------------------------------------------------------------------------------------


def test_their_accuracy_is_what_was_recorded_and_above_97_percent(cache):
    features, facts = find_extractor("digits-cnn").load(trained.trained)
    module, (x, labels) = trained.trained(SPEC).module, images("test")
    seen = features(x)
    assert seen.shape == (len(x), 64)
    assert seen.dtype == torch.float32
    logits = seen @ module.last.weight.T + module.last.bias
    assert facts["accuracy"] == pytest.approx(float((logits.argmax(1) == labels).double().mean()), abs=1e-6)
    assert facts["accuracy"] > 0.97


def test_blocks_make_no_difference(cache, monkeypatch):
    from ebmkit.components.features import digits_cnn

    x, features = images("test").x[:20], find_extractor("digits-cnn").load(trained.trained).of
    whole = features(x)
    monkeypatch.setattr(digits_cnn, "ROWS", 7)
    torch.testing.assert_close(features(x), whole)


@pytest.mark.parametrize("event", [(64,), (8, 8), (3, 8, 8), (1, 28, 28)], ids=str)
def test_only_small_grey_images(event):
    assert f"are for images of shape (1, 8, 8), but a state has shape {event}" in find_extractor("digits-cnn").refusal(
        event
    )
    assert find_extractor("digits-cnn").refusal((1, 8, 8)) is None


def test_naming_them_takes_no_torch():
    program = (
        "import sys\n"
        "from ebmkit.components.metrics.fid import FID\n"
        "from ebmkit.components.models.mlp import MLP\n"
        "from ebmkit.contracts.question import Question\n"
        "assert FID().results()[0] == 'fid@digits-cnn/1000' and FID().refusal(Question((2,), MLP()))\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# `fid` in them --------------------------------------------------------------------------------------------------------


def measured(samples):
    found = FID().measure(FakeView(samples, images("test").x, images("train").x))
    return {name.partition("@")[0]: value for name, value in found.items()}


def test_training_digits_are_near_a_gaussian_is_far_and_noise_is_farther(cache):
    x = images("train").x
    found = measured(x[torch.randperm(len(x), generator=generator(3))])
    assert found["fid"] < 1.5 * found["fid_floor"]
    assert found["fid_floor"] < found["fid_gaussian"] / 4 < found["fid_noise"] / 20
    assert (found["fid_points"], found["fid_held_out"]) == (1000, 361)
    assert found["features_accuracy"] > 0.97


def test_more_noise_is_farther_and_so_are_digits_of_one_kind(cache):
    x, labels = images("train")
    xi = torch.randn(x.shape, generator=generator(1))
    values = [measured(x + scale * xi)["fid"] for scale in (0.0, 0.3, 0.6, 2.0)]
    assert values == sorted(values)
    assert values[-1] > 10 * values[0]
    assert measured(x[labels < 5])["fid"] > 4 * values[0]  # half of the modes


@pytest.mark.parametrize("law", laws_of("metric"), ids=lambda law: law.__name__)
def test_the_laws_of_metrics_on_images_that_it_takes(cache, law):
    torch.set_default_dtype(torch.float32)  # as in a run; put back by the fixture that made it float64
    law(FID(samples=SAMPLES), Case((1, 8, 8)))


# How they are kept ----------------------------------------------------------------------------------------------------


def test_an_ordinary_run_that_is_read_and_not_trained_again(cache, quick):
    run = ebmkit.open_run(only(cache))
    assert run.status == "finished"
    assert run.summary["unmet"] == []
    assert run.results["accuracy"] > 0.97
    assert same(run.model.state_dict(), weights())
    kinds = {path.suffix for path in only(cache).rglob("*") if path.is_file()}
    assert kinds <= {".json", ".jsonl", ".yaml", ".txt", ".html", ".png", ".safetensors", ""}
    assert quick == []


def test_one_process_reads_once(cache, monkeypatch):
    assert trained.trained(SPEC) is trained.trained(SPEC)


def test_the_name_has_plan_and_versions_in_it(cache):
    plan, name = ebmkit.load_spec(SPEC), only(cache).name
    assert plan.hash[:16] in name
    assert ebmkit.__version__ in name
    assert torch.__version__ in name


def test_first_time(cache, quick, monkeypatch, tmp_path):
    before = weights()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert same(weights(), before)
    assert len(quick) == 1
    assert only(tmp_path / "elsewhere" / "ebmkit" / "features").name == only(cache).name
    trained._trained.cache_clear()
    weights()
    assert len(quick) == 1


def flip(folder):
    """One bit of the weights, of the last checkpoint: on a slow machine there are several."""
    path = max(folder.rglob("model.safetensors"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def cut(folder):
    path = max(folder.rglob("manifest.json"))
    path.write_bytes(path.read_bytes()[:20])


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def unfinished(folder):
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"finished"', '"interrupted"'))


def unmeasured(folder):
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"accuracy":', '"precision":'))


def a_file(folder):
    shutil.rmtree(folder)
    folder.write_text("no folder")


@pytest.mark.parametrize("slow", [False, True], ids=["one checkpoint", "two checkpoints"])
@pytest.mark.parametrize("damage", [flip, cut, empty, unfinished, unmeasured, a_file])
def test_damaged_ones_are_made_anew(cache, quick, damage, slow):
    before = weights()
    trained._trained.cache_clear()
    if slow:  # as `every: auto` makes it where training takes longer than a minute
        (last,) = (only(cache) / "checkpoints").iterdir()
        shutil.copytree(last, last.with_name("step-000250"))
    damage(only(cache))
    assert same(weights(), before)
    assert len(quick) == 1
    assert ebmkit.open_run(only(cache)).status == "finished"  # and nothing beside it
    trained._trained.cache_clear()
    weights()
    assert len(quick) == 1


@pytest.mark.parametrize("end", [KeyboardInterrupt("stop"), StorageFailed("full")], ids=str)
def test_one_that_is_broken_off_leaves_nothing(cache, monkeypatch, end):
    shutil.rmtree(only(cache))

    def run(plan, runs_dir):
        (Path(runs_dir) / "half").write_text("a run")
        raise end

    monkeypatch.setattr(session, "run", run)
    with pytest.raises(BaseException, match=r"stop|full"):
        trained.trained(SPEC)
    assert list(cache.iterdir()) == []


def test_what_a_killed_one_left_is_not_read_and_goes_in_time(cache, quick, monkeypatch):
    left = cache / f".{only(cache).name}.abc.tmp"
    shutil.move(only(cache), left)
    weights()
    assert len(quick) == 1
    assert left.exists()  # it may be at work still
    trained._trained.cache_clear()
    shutil.rmtree(next(path for path in cache.iterdir() if path != left))
    monkeypatch.setattr(trained, "ABANDONED", -1)
    weights()
    assert len(quick) == 2
    assert not left.exists()


def test_two_at_once_keep_the_first(cache, quick, monkeypatch):
    kept = only(cache)
    aside, copied = kept.rename(kept.with_name("aside")), session.run

    def run(plan, runs_dir):
        made = copied(plan, runs_dir)
        aside.rename(kept)  # another process is done
        (kept / "theirs").write_text("")
        return made

    monkeypatch.setattr(session, "run", run)
    weights()
    assert (only(cache) / "theirs").exists()


def test_a_folder_that_cannot_be_written_is_no_hindrance(cache, quick, tmp_path, monkeypatch):
    before = weights()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match=r"trained now, but cannot be kept: .*file"):
        assert same(weights(), before)
    assert not quick[0].exists()
    weights()
    assert len(quick) == 1  # in this process it stays


def test_a_process_without_a_home(cache, quick, monkeypatch):
    import pwd

    before = weights()

    def homeless(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", homeless)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert trained.cache_folder() is None
    assert same(weights(), before)
    assert not quick[0].exists()


def test_features_that_did_not_come_out_well_are_not_used(cache, monkeypatch):
    shutil.rmtree(only(cache))
    poor = SimpleNamespace(folder=None, failed=(), unmet=[ExpectationUnmet("accuracy is 0.5, expected above 0.97")])
    monkeypatch.setattr(session, "run", lambda plan, runs_dir: poor)
    with pytest.raises(ExpectationUnmet, match=r"'digits-cnn', trained here: accuracy is 0\.5"):
        trained.trained(SPEC)
    assert list(cache.iterdir()) == []


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert trained.cache_folder() == Path("/somewhere/ebmkit/features")
    for text in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", text)
        assert trained.cache_folder() == Path.home() / ".cache" / "ebmkit" / "features"


def test_the_process_is_as_before(cache):
    torch.manual_seed(5)
    state, threads = torch.default_generator.get_state(), torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    with torch.no_grad():
        trained.trained(SPEC)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.default_generator.get_state(), state)
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == (threads, strict)
    assert torch.get_default_dtype() == torch.float64


@pytest.mark.long
def test_the_same_bits_every_time(cache, undrawn, tmp_path, monkeypatch):
    """Whatever the process has drawn, and whatever its default precision is."""
    before = weights()  # trained under float64
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float32)
    state = torch.default_generator.get_state()
    with torch.no_grad():
        assert same(weights(), before)
    assert torch.equal(torch.default_generator.get_state(), state)
