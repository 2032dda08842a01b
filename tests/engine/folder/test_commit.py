"""The commit is what `git rev-parse HEAD` says, and no program of the repository's choice is run to find it."""

import os
import shutil
import subprocess

import pytest

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.engine.folder.commit import commit_of
from ebmkit.errors.source import Source
from ebmkit.language.text import parse

SPEC = {"ebmkit": 1, "model": "gaussian", "sampler": {"use": "langevin", "steps": 1}, "samples": 10}

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the repositories, and is the oracle")


def git(folder, *words):
    settings = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "topic/one")
    (folder / "file").write_text("1")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def packed(folder):
    git(folder, "pack-refs", "--all", "--prune")
    return folder


def detached(folder):
    git(folder, "checkout", "-q", "--detach")
    return folder


def below(folder):
    (folder / "a" / "b").mkdir(parents=True)
    return folder / "a" / "b"


def worktree(folder):
    git(folder, "worktree", "add", "-q", "-b", "other", "../elsewhere")
    (folder.parent / "elsewhere" / "file").write_text("2")
    git(folder.parent / "elsewhere", "commit", "-q", "-a", "-m", "second")
    return folder.parent / "elsewhere"


def packed_worktree(folder):
    found = worktree(folder)
    packed(folder)
    return found


def submodule(folder):
    parent = folder.parent / "parent"
    parent.mkdir()
    git(parent, "init", "-q")
    git(parent, "submodule", "--quiet", "add", str(folder), "inner")
    return parent / "inner"


def packed_and_moved(folder):
    packed(folder)
    (folder / "file").write_text("3")
    git(folder, "commit", "-q", "-a", "-m", "third")
    return folder


LAYOUTS = [lambda folder: folder, packed, detached, below, worktree, packed_worktree, submodule, packed_and_moved]


@needs_git
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_the_commit_is_the_one_of_git(layout, repository):
    folder = layout(repository)
    assert commit_of(folder) == git(folder, "rev-parse", "HEAD")


@needs_git
def test_before_the_first_commit_there_is_none(tmp_path):
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) is None


@needs_git
def test_a_run_in_an_untrusted_repository_executes_nothing(repository, tmp_path, monkeypatch):
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    program.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(program))
    git(repository, "config", "alias.rev-parse", f"!{program}")
    git(repository, "status")
    assert mark.exists()  # the attack works on git
    mark.unlink()
    monkeypatch.chdir(repository)
    folder = session.run(load_spec(SPEC), runs_dir=tmp_path / "runs").folder
    assert not mark.exists()
    lock = parse(Source("lock.yaml", (folder / "lock.yaml").read_text())).plain()
    assert lock["git"] == {"commit": git(repository, "-c", "core.fsmonitor=", "rev-parse", "HEAD")}


def fifo_head(git_folder):
    (git_folder / "HEAD").unlink()
    os.mkfifo(git_folder / "HEAD")


def device_branch(git_folder):
    (git_folder / "refs" / "heads" / "main").symlink_to("/dev/zero")


#: What `.git/HEAD` may contain in a hostile folder.
HEADS = [
    *(b"", b"\xff\xfe\x00", b"ref: refs/heads/../../../secret", b"ref: refs/heads/.x", b"ref: /etc/passwd", b"0" * 39),
    *(b"A" * 40, b"ref: refs/heads/" + b"x" * 3000, b"ref: refs/heads/a\0b", b"ref: HEAD", b"x" * 100_000),
]


@pytest.mark.parametrize("content", HEADS, ids=range(len(HEADS)))
def test_a_damaged_head_is_no_commit(content, tmp_path):
    (tmp_path / "secret").write_text("0" * 40)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(content)
    assert commit_of(tmp_path) is None


@pytest.mark.parametrize("damage", [fifo_head, device_branch], ids=lambda damage: damage.__name__)
def test_special_files_are_not_read(damage, tmp_path):
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    damage(tmp_path / ".git")
    assert commit_of(tmp_path) is None


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /dev", "gitdir: .", "gitdir: \0", "gitdir: .git", "x" * 9000])
def test_a_file_that_names_no_repository(text, tmp_path):
    (tmp_path / ".git").write_text(text)
    assert commit_of(tmp_path) is None
