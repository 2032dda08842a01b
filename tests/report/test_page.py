"""`report.html`: complete, quiet, harmless, and right."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ebmkit import load_spec
from ebmkit.engine.sampling import give_kept_samples, view_of
from ebmkit.errors.source import Source
from ebmkit.report.page import lines, write_report
from ebmkit.report.panels import frames
from tests.drawn import run

from .views import SPEC, view_by_hand

PAINTER = str(Path(__file__).with_name("painter.py"))
HOSTILE = """</code></pre></script><script>alert(1)</script><img src="http://evil.invalid/x" onerror='alert(2)'>"""


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, and the text in between."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.scripts, self.styles = [], [], [], []
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        {"script": self.scripts, "style": self.styles}.get(self._open, self.words).append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, name):
        """Every value of an attribute."""
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def figures(text):
    """Number, title and caption of every figure."""
    found = re.findall(r"<h3>(.*?)</h3>.*?<b>Figure (\d+)\.</b> (.*?)</figcaption>", text, re.DOTALL)
    return {title: (int(number), caption) for title, number, caption in found}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run: a claim that holds and one that does not, and a comment that is no comment."""
    text = json.dumps({**SPEC, "evaluate": [{"use": "mmd", "samples": 100, "every": 4}]})
    claims = [
        {"metric": "mmd", "below": 1e9},
        {"metric": "mmd_floor", "above": 1e9},
        {"metric": "mmd_floor", "above": -1e9},
    ]
    spec = text[:-1] + f', "expect": {json.dumps(claims)}}} # {HOSTILE}\n'
    return run(load_spec(Source("hostile.yaml", spec)), runs_dir=tmp_path_factory.mktemp("runs")).folder


@pytest.fixture(scope="module")
def page(finished):
    return (finished / "report.html").read_text()


def looked_at_again(folder):
    view = view_of(load_spec(folder / "resolved.yaml"), folder)
    give_kept_samples(view, folder)
    return view, json.loads((folder / "run.json").read_text()), (folder / "lock.yaml").read_text()


def test_it_shows_status_results_claims_provenance_spec_and_lock(page, finished):
    text = Page(page).text
    summary = json.loads((finished / "run.json").read_text())
    results = summary["results"]
    for words in (
        f"for a perfect model {results['mmd']:.5g} ✓ met below 1e+09",
        f"mmd_ floor the same for training points in place of samples, which a good model reaches "
        f"{results['mmd_floor']:.5g} ✗ unmet above 1e+09 and above -1e+09",
    ):
        assert words in text
    assert "picture finished 1 claim unmet two_moons mlp mle, 10 steps langevin, 5 steps from noise seed 0" in text
    for words in (summary["hash"], torch.__version__, "hidden", "default of model 'mlp'", "experiment:"):
        assert words in text, words
    assert f"ebmkit sample {finished} -n 1000 --out samples.npz" in text
    assert f"ebmkit reproduce {finished}" in text
    assert "ebmkit resume" not in text


def test_figures_are_numbered_in_order_and_their_captions_hold_the_numbers(page, finished):
    found = figures(page)
    assert [number for number, _ in found.values()] == list(range(1, len(found) + 1))
    assert list(found)[:9] == [
        "Held-out data",
        "Samples of the model",
        "Energy",
        "Score field",
        "Samples over training",
        "Loss",
        "Energies",
        "v, the norm of dE/dx, along the chains",
        "Energy along the chains",
    ]
    assert {"gap over training", "mmd over training"} <= set(list(found)[9:])
    view, _, _ = looked_at_again(finished)
    metrics = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in metrics if "loss" in row]
    assert f"loss: {losses[0]:.4g} at step 1, {losses[-1]:.4g} at step 10." in found["Loss"][1]
    assert "v (norm of dE/dx, averaged over the chains of training and their steps): " in found["v over training"][1]
    assert "mmd_floor (the same for training points in place of samples" in found["mmd over training"][1]
    traces = load_file(finished / "samples/traces.safetensors")["gradient_norm"]
    assert (
        f"{traces[0]:.4g} at the first of 5 steps, {traces[-1]:.4g} at the last"
        in found["v, the norm of dE/dx, along the chains"][1]
    )
    kept = load_file(finished / "samples/samples.safetensors")["x"]
    energies = view.energy(kept).double()
    said = found["Energies"][1].replace("\N{NO-BREAK SPACE}", " ")
    assert f"samples {energies.mean():.3g} ± " in said
    for group in ("training data", "held-out data", "chain starts"):
        assert group in said


def test_it_loads_nothing_and_its_policy_would_not_let_it(page):
    found = Page(page)
    tags = {tag for tag, _ in found.elements}
    assert not tags & {"link", "iframe", "object", "embed", "base", "form", "audio", "video", "source"}
    for name in ("src", "href", "xlink:href", "action", "srcset", "poster", "data", "background"):
        for value in found.all(name):
            assert value.startswith(("data:image/png;base64,", "#")), (name, value[:80])
    css = "".join(found.styles) + "".join(found.all("style"))
    assert set(re.findall(r"url\((.)", css)) <= {"#"}
    assert "@import" not in css
    (script,) = found.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = found.all("content")[:1]
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert f"script-src 'sha256-{digest}';" in policy


def test_ids_are_unique_and_every_reference_leads_somewhere(page):
    found = Page(page)
    ids = found.all("id")
    assert len(ids) == len(set(ids)) > 100
    references = set(re.findall(r"url\(#([^)]+)\)", page)) | {href[1:] for href in found.all("href") if href[0] == "#"}
    assert len(references) > 10
    assert references <= set(ids)


def test_the_same_run_gives_the_same_page(finished):
    once, again = (write_report(*looked_at_again(finished)) for _ in range(2))
    assert once == again


def test_what_a_stranger_writes_stays_text(finished, page):
    view, summary, lock = looked_at_again(finished)
    summary |= {"status": HOSTILE, "error": HOSTILE, "warnings": [HOSTILE], "started": HOSTILE, "seconds": HOSTILE}
    summary["results"] = {HOSTILE: 1.0, "mmd": HOSTILE}
    summary["sessions"] = [{"command": ["ebmkit", HOSTILE]}, HOSTILE, 7]
    view.history.series[HOSTILE] = [(1, 1.0), (2, 2.0)]
    view.folder = Path(f"runs/{HOSTILE.replace('/', '|')}")
    worse = write_report(view, summary, f"{lock}\n{HOSTILE}: {HOSTILE}")
    for text in (page, worse):
        found = Page(text)
        assert len(found.scripts) == 1
        assert "alert" not in found.scripts[0]
        assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
        assert not [tag for tag, attributes in found.elements if tag == "img" and "evil" in attributes["src"]]
        assert "alert(2)" in found.text  # it is shown


def test_a_panel_that_fails_says_so_in_its_place(tmp_path):
    plan = load_spec({**SPEC, "evaluate": ["painter.nothing"]}, plugins=[PAINTER])
    text = write_report(view_by_hand((2,), plan=plan, folder=tmp_path), {}, "")
    words = Page(text).text
    assert f"ebmkit resume {tmp_path} --plugin {PAINTER}" in words
    assert r"Panel 'broken' failed. ZeroDivisionError: by zero, which costs $\price$" in words
    assert "Panel 'formula' failed. ValueError" in words
    assert {"Red", "Broken", "Formula", "Energies"} <= figures(text).keys()
    assert text.count("#ff0000") >= 1


@pytest.mark.parametrize("event", [(1,), (2,), (5,), (1, 6, 6), (3, 4, 4)])
def test_a_run_of_which_little_is_known_has_a_page_too(event):
    view = view_by_hand(event)
    view.can_sample = view.has_energy = False
    view.data = lambda split: None
    view.samples = view.energy = view.starts = view.score = None  # a call would fail
    odd = {"warnings": 7, "results": [1], "sessions": "x", "step": "y", "steps": None, "seconds": -1, "started": 5}
    text = Page(write_report(view, odd, "not: [a lock")).text
    assert "There is nothing to draw yet." in text
    assert "There are no results." in text
    assert "lock cannot be read:" in text


def test_an_unfinished_run_says_how_far_it_came_and_how_to_go_on(finished):
    view, summary, lock = looked_at_again(finished)
    del summary["results"]
    summary |= {"status": "interrupted", "step": 7, "error": "SIGTERM", "warnings": ["v has grown"]}
    text = Page(write_report(view, summary, lock)).text
    for words in ("7 of 10 steps", "interrupted SIGTERM", "warning v has grown", f"ebmkit resume {finished}"):
        assert words in text, words
    assert "for a perfect model not measured below 1e+09" in text
    assert "reproduce" not in text


def test_it_is_small(page):
    assert len(page) < 1_000_000


@pytest.mark.parametrize(
    ("line", "said", "comment"),
    [
        ("a: 1  # one", "a: 1  ", "# one"),
        ("# all of it", "", "# all of it"),
        ("a: 'x # y'", "a: 'x # y'", ""),
        ('a: "x \\" # y" # z', 'a: "x \\" # y" ', "# z"),
        ("a: b#c", "a: b#c", ""),
        ("it's # open", "it's # open", ""),
        ("", "", ""),
        ("'" * 9 + " #" * 30_000, "'" * 9 + " #" * 30_000, ""),
    ],
)
def test_comments_are_told_from_what_is_said_and_no_letter_is_lost(line, said, comment):
    assert lines(f"first\n{line}\nlast")[1] == (said, comment)


# Samples over training.


def keep(folder, step, x):
    (folder / "samples").mkdir(exist_ok=True)
    save_file({"x": x.contiguous()}, folder / "samples" / f"step-{step:06d}.safetensors")


@pytest.mark.parametrize(("event", "kind"), [((1,), "drawings"), ((2,), "drawings"), ((1, 6, 6), "photographs")])
def test_samples_over_training_are_played_from_the_first_to_the_last(tmp_path, event, kind):
    view = view_by_hand(event, folder=tmp_path, step=3000)
    for step in (500, 1000, 20):
        keep(tmp_path, step, view.samples(50))
    text = write_report(view, {}, "")
    found = Page(text)
    strip = [attributes["alt"] for tag, attributes in found.elements if tag == "img" and "data-words" in attributes]
    assert strip == ["step 20", "step 500", "step 1,000", "step 3,000"]
    (slider,) = [attributes for tag, attributes in found.elements if tag == "input"]
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "3", "3")
    # Without a script the last frame is the one that is seen.
    (frame,) = [attributes for _, attributes in found.elements if attributes.get("id") == "frame"]
    assert frame["src"] == [attributes for _, attributes in found.elements if "data-words" in attributes][-1]["src"]
    assert f'class="screen {kind}"' in text
    assert figures(text)["Samples over training"][1].startswith("Samples at 4 steps from step 20 to step 3,000")


def test_frames_differ_where_samples_do_and_say_what_lies_outside(tmp_path):
    view = view_by_hand((2,), folder=tmp_path, step=3)
    keep(tmp_path, 1, view.samples(100) + 100.0)
    keep(tmp_path, 2, view.samples(100) / 2)
    drawn = frames.draw_frames(view)
    assert [frame.words for frame in drawn.frames][:2] == ["100 samples, 100 outside", "100 samples"]
    empty, full, _ = (len(frame.png) for frame in drawn.frames)
    assert empty < full / 2
    assert drawn.below is not None


def test_of_many_moments_the_first_the_last_and_some_between_are_shown(tmp_path):
    view = view_by_hand((2,), folder=tmp_path, step=1000)
    for step in range(10, 1000, 10):
        keep(tmp_path, step, view.samples(5))
    steps = [frame.step for frame in frames.draw_frames(view).frames]
    assert len(steps) == len(set(steps)) == frames.MOST
    assert (steps[0], steps[-1]) == (10, 1000)
    assert max(b - a for a, b in itertools.pairwise(steps)) <= 60


def test_there_is_no_film_of_one_moment_nor_of_what_cannot_be_drawn(tmp_path):
    view = view_by_hand((2,), folder=tmp_path, step=500)
    assert frames.draw_frames(view) is None
    keep(tmp_path, 500, view.samples(5))
    assert frames.draw_frames(view) is None
    view = view_by_hand((5,), folder=tmp_path, step=500)
    keep(tmp_path, 100, view.samples(5))
    assert frames.draw_frames(view) is None


@pytest.mark.parametrize("damage", ["shape", "bytes"])
def test_samples_that_do_not_fit_are_reported_in_their_place(tmp_path, damage):
    view = view_by_hand((2,), folder=tmp_path, step=500)
    keep(tmp_path, 100, torch.zeros(5, 3))
    if damage == "bytes":
        (tmp_path / "samples/step-000100.safetensors").write_bytes(b"\xff" * 100)
    text = Page(write_report(view, {}, "")).text
    assert "The samples could not be drawn." in text
    assert damage == "bytes" or "step-000100.safetensors holds states of shape (3,), not (2,)" in text
