"""`report.html` in a real browser. Debian and Ubuntu: `apt-get install chromium`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ebmkit import load_spec
from ebmkit.errors.source import Source
from tests.drawn import run

from .chromium import Chromium, executable

pytestmark = pytest.mark.skipif(executable() is None, reason="there is no Chromium on this machine")

#: With a comment that would like to be a program.
SPEC = """
ebmkit: 1  # </code></pre><script>document.title = 'pwned'</script><img src=x onerror="document.title = 'pwned'">
name: browsed
device: cpu
data: {use: two_moons, size: 300, test_size: 300}
model: {use: mlp, hidden: [8]}
objective: {use: mle, sampler: {use: langevin, steps: 2}}
train: {steps: 20, batch_size: 32}
sampler: {use: langevin, steps: 5}
samples: 200
samples_every: 4
evaluate: [{use: sliced_wasserstein, samples: 100}]
expect: [{metric: sliced_wasserstein, below: 1.0e-9}]
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    record = run(load_spec(Source("browsed.yaml", SPEC)), runs_dir=tmp_path_factory.mktemp("runs"))
    return record.report


#: Nothing is trained. Names of coordinates, rows of dots, maps and small axes want more room than other figures.
SAMPLED = {
    "points": {"use": "funnel", "dim": 10},
    "images": {"use": "gaussian", "mean": [0.0] * 64, "shape": [1, 8, 8]},
}


@pytest.fixture(scope="module", params=["points", pytest.param("images", marks=pytest.mark.long)])
def sampled(request, tmp_path_factory):
    spec = {"ebmkit": 1, "name": "sampled", "device": "cpu", "model": SAMPLED[request.param], "samples": 400}
    chains = {"sampler": {"use": "mala", "step_size": 0.1}, "chains": {"count": 4, "warmup": 20, "burn_in": 5}}
    return run(load_spec({**spec, **chains}), runs_dir=tmp_path_factory.mktemp("runs")).report


@pytest.fixture(scope="module")
def browser():
    path = executable()
    assert path is not None
    with Chromium(path) as browser:
        yield browser


def keep(browser, name):
    """Screenshots for people, in the folder that `EBMKIT_SCREENSHOTS` names."""
    if folder := os.environ.get("EBMKIT_SCREENSHOTS"):
        (Path(folder) / f"{name}.png").write_bytes(browser.screenshot())


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
FILTERS = "[...document.querySelectorAll('.pixels')].map((image) => getComputedStyle(image).filter)"


def test_it_runs_without_an_error_and_asks_nobody(browser, page):
    browser.look(width=1200)
    browser.open(page)
    browser.settle()
    assert browser.complaints == []
    outside = [url for url in browser.requests if not url.startswith("data:image/png")]
    assert outside == [page.as_uri()]
    assert len(browser.requests) > 3
    assert browser.ask("document.title") == "browsed · finished"
    keep(browser, "report-light")


@pytest.mark.parametrize("guarded", [True, False])
def test_its_policy_stops_what_should_not_be_there(browser, page, tmp_path, guarded):
    """And the watch is not blind: without the policy the program runs, and the request would leave."""
    beacon = '<img src="http://evil.invalid/beacon.png"><script>document.title = "pwned"</script></body>'
    spoilt = tmp_path / "spoilt.html"
    text = page.read_text().replace("</body>", beacon)
    spoilt.write_text(text if guarded else text.replace("Content-Security-Policy", "X-Nothing"))
    browser.look(width=1200)
    browser.open(spoilt)
    browser.settle()
    assert "http://evil.invalid/beacon.png" in browser.requests
    assert browser.complaints != []
    assert browser.failures == ["csp" if guarded else "net::ERR_NAME_NOT_RESOLVED"]
    assert browser.ask("document.title") == ("browsed · finished" if guarded else "pwned")


def assert_everything_is_in_sight(browser, width):
    assert browser.ask("document.documentElement.scrollWidth") == width
    beyond = (
        "[...document.querySelectorAll('body *')].filter((it) => !it.closest('pre, .filters, svg')"
        " && it.getBoundingClientRect().right > innerWidth + 0.5).map((it) => it.outerHTML.slice(0, 80))"
    )
    assert browser.ask(beyond) == []
    letters = "parseFloat(getComputedStyle(it).fontSize) * Math.hypot(it.getScreenCTM().a, it.getScreenCTM().b)"
    assert browser.ask(f"Math.min(...[...document.querySelectorAll('svg text')].map((it) => {letters}))") > 7.5


@pytest.mark.parametrize("width", [360, 390, 768, 1200])
def test_nothing_has_to_be_scrolled_sideways(browser, page, width):
    browser.look(width=width)
    browser.open(page)
    assert_everything_is_in_sight(browser, width)
    if width == 390:
        keep(browser, "report-phone")


def test_the_report_of_a_sampling_experiment_fits_and_is_quiet(browser, sampled):
    for width, dark in ((360, False), (768, True), (1200, False)):
        browser.look(width=width, dark=dark)
        browser.open(sampled)
        browser.settle()
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith("data:image/png")] == [sampled.as_uri()]
        assert_everything_is_in_sight(browser, width)
    # Words stay within their figure.
    outside = (
        "[...document.querySelectorAll('.drawing text')].filter((it) => { const own = it.getBoundingClientRect();"
        " const all = it.closest('.drawing').getBoundingClientRect();"
        " return own.left < all.left - 1 || own.right > all.right + 1; }).map((it) => it.textContent)"
    )
    assert browser.ask(outside) == []
    assert browser.ask("document.querySelector('.verdict.chains').textContent").startswith("Chains R-hat at most ")
    assert browser.ask("document.querySelectorAll('figure').length") >= 9
    assert browser.ask("document.querySelectorAll('.note.bad').length") == 0
    keep(browser, "report-sampling")


def test_light_and_dark_follow_the_user_and_the_button(browser, page):
    light, dark = "rgb(255, 255, 255)", "rgb(20, 22, 27)"
    for likes_dark in (False, True):
        browser.look(width=1200, dark=likes_dark)
        browser.open(page)
        before, after = (dark, light) if likes_dark else (light, dark)
        assert browser.ask(BACKGROUND) == before
        assert set(browser.ask(FILTERS)) == {'url("#night")' if likes_dark else "none"}
        if likes_dark:
            keep(browser, "report-dark")
        browser.ask("document.getElementById('theme').click()")
        assert browser.ask(BACKGROUND) == after
        assert set(browser.ask(FILTERS)) == {"none" if likes_dark else 'url("#night")'}
        # What is drawn in the default black has no colour of its own in SVG: it takes that of the page.
        inks = "['text', 'svg'].map((it) => getComputedStyle(document.querySelector(`.drawing ${it}`)).fill)"
        now = browser.ask(inks)
        browser.ask("document.getElementById('theme').click()")
        assert not set(browser.ask(inks)) & set(now)
        assert browser.ask(BACKGROUND) == before


def test_the_slider_moves_by_keys_by_hand_and_by_a_click(browser, page):
    browser.look(width=1200)
    browser.open(page)
    seen = (
        "[document.getElementById('slider').value, document.getElementById('moment').textContent,"
        " document.getElementById('frame').src, document.querySelectorAll('.strip .now').length]"
    )
    last = int(browser.ask("document.getElementById('slider').max"))
    assert last >= 2
    value, moment, frame, marked = browser.ask(seen)
    assert (value, moment, marked) == (str(last), "step 20", 1)
    browser.ask("document.getElementById('slider').focus()")
    browser.press("ArrowLeft")
    value, earlier, other, marked = browser.ask(seen)
    assert value == str(last - 1)
    assert earlier != moment
    assert other != frame
    assert marked == 1
    browser.press("Home")
    assert browser.ask(seen)[0] == "0"
    browser.press("End")
    assert browser.ask(seen)[:3] == [str(last), moment, frame]
    browser.ask("document.querySelectorAll('.strip li')[1].click()")
    assert browser.ask(seen)[0] == "1"
    assert browser.ask("document.getElementById('slider').getAttribute('aria-valuetext')") == browser.ask(seen)[1]
    browser.ask("slider.value = 0; slider.dispatchEvent(new Event('input'))")
    assert browser.ask("document.getElementById('frame').naturalWidth") > 100
    assert browser.complaints == []


def test_the_spec_is_copied_as_it_was_written(browser, page):
    browser.look(width=1200)
    browser.open(page)
    browser.ask("document.querySelector('.copy').click()")
    copied = browser.ask("getSelection().toString()")
    assert copied.strip() == SPEC.strip()


def test_without_scripts_the_last_frame_is_there_and_no_button_does_nothing(browser, page):
    browser.look(width=1200, scripts=False)
    browser.open(page)
    browser.look(width=1200)  # or the page could not be asked; its own script does not run again
    assert browser.ask("document.getElementById('frame').naturalWidth") > 100
    assert browser.ask("document.getElementById('moment').textContent") == "step 20"
    visible = "[...document.querySelectorAll('button, input')].filter((it) => it.offsetParent !== null).length"
    assert browser.ask(visible) == 0
    assert browser.ask("document.querySelectorAll('figure').length") > 8
