"""Faults of hooks, and of what the hook `ebmkit_components` returns."""

# lines of the plugins below

from __future__ import annotations

from .fault import SQUARE, UNPRINTABLE, Fault

HOOKS = {
    "a misspelt hook": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_componets():\n    return []", "did you mean 'ebmkit_components'"
    ),
    "a hook with an unknown argument": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_step_ended(views):\n    pass", "did you mean 'view'"
    ),
    "a hook without its marker": Fault(
        SQUARE + "\ndef ebmkit_run_started(view, folder):\n    pass", "lacks the marker"
    ),
    "a hook that is no function": Fault(
        SQUARE + "\nclass Odd:\n    def __call__(self): pass\n    def __getattr__(self, name): raise OSError\n"
        "ebmkit_run_started = Odd()",
        "belongs to a function",
    ),
    "a hook wrapper": Fault(
        SQUARE + "\n@hookimpl(wrapper=True)\ndef ebmkit_components():\n    return (yield)", "is a wrapper"
    ),
    "an old hook wrapper": Fault(
        SQUARE + "\n@hookimpl(hookwrapper=True)\ndef ebmkit_step_ended():\n    yield", "is a wrapper"
    ),
    "components that raise": Fault(
        UNPRINTABLE + SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    raise Unprintable",
        "Unprintable: its message",
    ),
    "components that are no list": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    return 7", "object of type int, not a list"
    ),
    "components that leave": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    raise SystemExit(0)", "SystemExit"
    ),
    "components without end": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    while True:\n        yield Square", "more than 1000"
    ),
    "components that are none": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    return [int]", "not a component"
    ),
    "objects that are no classes": Fault(
        SQUARE + "\nclass Odd:\n    @property\n    def __class__(self): raise OSError\n    def __repr__(self): 1 / 0\n"
        "@hookimpl\ndef ebmkit_components():\n    return [Odd()]",
        "an object of type Odd is not a component class",
    ),
    "one component twice": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    return [Square, Square]", "both called"
    ),
    "an offer of no kind": Fault(
        SQUARE + "\nfrom ebmkit.registry.offer import Offer\n@hookimpl\ndef ebmkit_components():\n"
        "    return [Offer('bregmann', 'square', lambda: Square)]",
        "did you mean 'bregman'",
    ),
    "an offer whose loading raises": Fault(
        UNPRINTABLE + SQUARE + "\nfrom ebmkit.registry.offer import Offer\ndef load(): raise Unprintable\n"
        "@hookimpl\ndef ebmkit_components():\n    return [Offer('bregman', 'square', load)]",
        "its message cannot be shown",
    ),
    "an offer of something else": Fault(
        SQUARE + "\nfrom ebmkit.registry.offer import Offer\n"
        "@hookimpl\ndef ebmkit_components():\n    return [Offer('bregman', 'square', lambda: 7)]",
        "not a component class",
    ),
    "an offer with an odd name": Fault(
        SQUARE + "\nfrom ebmkit.registry.offer import Offer\n"
        "@hookimpl\ndef ebmkit_components():\n    return [Offer('bregman', 'sq\\x1b[31m', lambda: Square)]",
        "not the name of a component",
    ),
    "ten thousand components": Fault(
        SQUARE + "\n@hookimpl\ndef ebmkit_components():\n    return [Square] * 10_000", "more than 1000"
    ),
}
