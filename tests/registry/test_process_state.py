"""What an import changes in the process is undone and named."""

import builtins
import json
import logging
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy.random
import pytest
import torch

from ebmkit.api import Bregman
from ebmkit.registry.process_state import changes_in_words, process_state_kept


def state():
    """What other components depend on."""
    return [
        dict(os.environ),
        Path.cwd(),
        list(sys.path),
        sys.excepthook,
        sys.getrecursionlimit(),
        signal.getsignal(signal.SIGTERM),
        list(logging.root.handlers),
        logging.root.level,
        [each for each in warnings.filters if each[0] == "error"],
        random.getstate(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        torch.default_generator.get_state().tolist(),
        json.dumps,
        builtins.print,
        Bregman.s0,
        numpy.geterr(),
        sys.getprofile(),
        torch.get_float32_matmul_precision(),
        sys.modules["json"],
    ]


CHANGES = {
    "environment variables": lambda: os.environ.update(EBMKIT_DISABLE_PLUGINS="1"),
    "the working directory": lambda: os.chdir("/"),
    "the search path of modules": lambda: sys.path.insert(0, "/nowhere"),
    "the hooks of the interpreter": lambda: setattr(sys, "excepthook", print),
    "the recursion limit": lambda: sys.setrecursionlimit(5000),
    "signal handlers": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "the configuration of logging": lambda: logging.root.addHandler(logging.NullHandler()),
    "the filters of warnings": lambda: warnings.simplefilter("error"),
    "settings of torch": lambda: torch.set_default_dtype(torch.float64),
    "modules, functions or classes of ebmkit": lambda: setattr(Bregman, "s0", None),
    "settings of numpy": lambda: numpy.seterr(all="raise"),
    "the mask of new files": lambda: os.umask(0),
    "the tracing of Python": lambda: sys.setprofile(lambda *event: None),
    "functions of Python": lambda: setattr(builtins, "print", None),
    "global random generators": lambda: numpy.random.seed(3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_undone_and_named(name):
    before, changed = state(), []
    with process_state_kept(changed):
        CHANGES[name]()
    assert changed == [name]
    assert state() == before


def replace_a_filter():
    warnings.filters[-1] = ("error", None, Warning, None, 0)


@pytest.mark.parametrize("change", [replace_a_filter, lambda: warnings.filters.reverse()])
def test_filters_are_compared_and_not_counted(change):
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
        before, changed = list(warnings.filters), []
        with process_state_kept(changed):
            change()
        assert changed == ["the filters of warnings"]
        assert warnings.filters == before
        with process_state_kept(changed):
            warnings.simplefilter("ignore", DeprecationWarning, append=True)
        assert len(changed) == 1  # libraries add filters
        assert len(warnings.filters) == 3


def test_all_changes_at_once_before_an_exception():
    def change_all():
        for change in CHANGES.values():
            change()
        raise ValueError("at last")

    before, changed = state(), []
    with pytest.raises(ValueError, match="at last"), process_state_kept(changed):
        change_all()
    assert sorted(changed) == sorted(CHANGES)
    assert state() == before


def test_an_import_that_only_defines_changes_nothing():
    changed = []
    with process_state_kept(changed):
        sys.modules["defined_by_a_test"] = json
        warnings.filterwarnings("ignore", message="of a library")
    del sys.modules["defined_by_a_test"]
    assert changed == []


@pytest.mark.parametrize(
    "change",
    [
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.set_num_threads(torch.get_num_threads() + 1),
        lambda: torch.set_default_device("meta"),
        lambda: torch.set_grad_enabled(False),
    ],
)
def test_settings_of_torch(change):
    before, changed = state(), []
    with process_state_kept(changed):
        change()
    assert changed == ["settings of torch"]
    assert state() == before
    assert torch.is_grad_enabled()
    assert not torch.is_anomaly_enabled()


def test_a_thread_for_which_python_waits_is_named_but_cannot_be_ended():
    end, changed = threading.Event(), []
    with process_state_kept(changed):
        threading.Thread(target=end.wait, daemon=True).start()
    assert changed == []
    with process_state_kept(changed):
        threading.Thread(target=end.wait).start()
    end.set()
    assert changed == ["threads (which cannot be undone)"]
    assert changes_in_words(changed) == "importing it changed threads (which cannot be undone)"
    assert changes_in_words(["the locale"]) == "importing it changed the locale, which was undone"
    assert changes_in_words([]) == ""
