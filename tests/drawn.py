"""Sessions that draw their report, as those of the verbs and of `ebmkit.run` do."""

from ebmkit.engine import session
from ebmkit.report import drawing

# `draw_run` is looked up in each call: the fixture `undrawn` replaces it.


def run(plan, **options):
    return session.run(plan, draw=drawing.draw_run, **options)


def resume(plan, folder, **options):
    return session.resume(plan, folder, draw=drawing.draw_run, **options)
