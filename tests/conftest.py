"""What several folders of tests share."""

import logging
import math
import signal
import textwrap
import warnings
from collections.abc import Iterator

import pytest

from ebmkit.storage.atomic import write_bytes


@pytest.fixture(scope="session", autouse=True)
def hears_signals() -> None:
    """A suite that was started in the background of a script ignores these signals, and so would the runs it starts."""
    for number in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """The machine may have others to serve, and sums of one thread are the same everywhere."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def precise(one_thread) -> Iterator[None]:
    """Float64: oracles are compared to many digits."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(scope="session")
def unhurried() -> Iterator[float]:
    """No run saves a checkpoint because the machine is slow: `every: auto`, the default, goes by the clock.

    Gives the seconds that it waits otherwise.
    """
    from ebmkit.engine.folder import checkpointer

    with pytest.MonkeyPatch.context() as patch:
        seconds = checkpointer.SECONDS
        patch.setattr(checkpointer, "SECONDS", math.inf)
        yield seconds


@pytest.fixture(scope="session")
def arviz():
    """arviz where it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces its next version
        found = pytest.importorskip("arviz", "0.23", reason="arviz 0.23 is a dev dependency: pip install -e '.[dev]'")
    logging.getLogger("arviz").setLevel(logging.ERROR)  # it also tells of every chain that is too short
    return found


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Leaves the pictures out of runs in this process: they take longer than everything else."""
    from ebmkit.report import drawing

    def draw_run(view, record):
        write_bytes(record.file("plots/summary.png"), b"a picture")
        write_bytes(record.report, b"a report")

    monkeypatch.setattr(drawing, "draw_run", draw_run)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a distribution on the path: a module, and the metadata that an installer would write.

    Without code the module is a folder that has no `__init__.py`.
    """
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("EBMKIT_DISABLE_PLUGINS", raising=False)

    def install(namespace, code, *, distribution=None, version="1.0", requires="ebmkit-core>=0.1"):
        module = f"planted_{namespace}_{abs(hash(code)) % 10**8}"
        distribution = distribution or f"ebmkit-{namespace}"
        if code is None:
            (tmp_path / module).mkdir()
        else:
            (tmp_path / f"{module}.py").write_text(textwrap.dedent(code))
        info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(f"[ebmkit]\n{namespace} = {module}\n")
        return module

    return install
