"""Sessions that draw their report, as those of the verbs and of `ebmkit.run` do."""

from functools import partial

from ebmkit.engine import session
from ebmkit.report.drawing import draw_run

run = partial(session.run, draw=draw_run)
resume = partial(session.resume, draw=draw_run)
