"""Kinds of faults of plugins: what each distribution contains, and what is to be said of it.

A crash of the interpreter and an import that never ends cannot be prevented inside a process; verbs that show everything
import plugins in another one (`APART`). Out of scope: malice (SECURITY.md).
"""

# ruff: noqa: E501  # lines of the plugins below

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

#: The spec that uses the generator of a plugin; the name of the generator stands in line 5.
SPEC = """\
ebmkit: 1
data: {{use: two_moons, size: 64, test_size: 32}}
model: {{use: mlp, hidden: [4]}}
objective: {{use: bregman, noise: gaussian,
  generator: {generator}}}
train: {{steps: 2, batch_size: 16}}
"""

HEAD = """
from typing import Annotated, Any, Callable, ClassVar, Literal
from dataclasses import field
from annotated_types import Gt, Ge
from ebmkit.api import Bregman, Data, Metric, Model, Objective, Sampler, Schedule, Tracker, component, hookimpl, torch
"""

SQUARE = (
    HEAD
    + '''
@component("square")
class Square(Bregman):
    """psi(u) = u^2."""

    def psi(self, u):
        return u * u
'''
)


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    `when` it shows: `metadata` (in `plugins`, without importing), `load` (in `plugins --load`), `spec` (at the line of
    a spec, by `validate`), `run` (at the line of a spec, by `run`), `warning` (in the log of a run that finishes),
    `note` (it can be used, but its import changed the process), or `never` (it does no harm).
    """

    code: str | bytes | None = SQUARE
    reason: str = ""
    when: str = "load"
    #: The spec that needs the plugin.
    spec: str = SPEC.format(generator="NAMESPACE.square")
    entry_points: str | bytes = "[ebmkit]\nNAMESPACE = MODULE\n"
    metadata: str | bytes | None = (
        "Metadata-Version: 2.1\nName: DISTRIBUTION\nVersion: 1.0\nRequires-Dist: ebmkit-core>=0.1\n"
    )
    #: Further files of the distribution.
    files: dict[str, str | bytes] = field(default_factory=dict)
    #: The exit status of the verb that shows it.
    status: int = 3
    #: How the distribution is shown, if not by its name.
    shown: str = "DISTRIBUTION"
    #: Whether a second distribution has the same entry points.
    twin: bool = False


def faulty_metadata(lines: str) -> str:
    return f"Metadata-Version: 2.1\nName: DISTRIBUTION\n{lines}"


def imported(code: str) -> str:
    """A plugin that does something when it is imported, before it defines a component."""
    return textwrap.dedent(code) + SQUARE


def parameter(annotation: str, default: str = "", before: str = "") -> str:
    """A plugin whose component has one odd parameter."""
    declared = f"    odd: {annotation}{' = ' + default if default else ''}\n\n"
    return SQUARE.replace("\n@component", f"\n{before}\n@component").replace("    def psi", declared + "    def psi")


def defined(body: str, before: str = "", bases: str = "Bregman") -> str:
    """A plugin whose component has more in its class."""
    code = SQUARE.replace("(Bregman):", f"({bases}):").replace("\n@component", f"\n{before}\n@component")
    return code + textwrap.indent(textwrap.dedent(body), "    ")


UNPRINTABLE = """
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")
    __repr__ = __str__
"""

METADATA = {
    "damaged metadata": Fault(metadata=b"\xff\xfe\x00", reason="metadata", when="metadata", shown="FOLDER"),
    "no metadata": Fault(metadata=None, reason="metadata has no", when="metadata", shown="FOLDER"),
    "no version": Fault(metadata="Metadata-Version: 2.1\nName: DISTRIBUTION\n", reason="no version", when="metadata"),
    "no name": Fault(
        metadata="Metadata-Version: 2.1\nVersion: 1.0\n", reason="no name", when="metadata", shown="FOLDER"
    ),
    "a version that is none": Fault(
        metadata=faulty_metadata("Version: banana\n"), reason="'banana' is not a version", when="metadata"
    ),
    "another major version of ebmkit": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit-core>=99\n"),
        reason="needs ebmkit-core>=99",
        when="metadata",
    ),
    "an older ebmkit": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: EBMkit_Core<0.0.1\n"),
        reason="needs ebmkit-core<0.0.1",
        when="metadata",
    ),
    "the namesake": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit\n"), reason="another project", when="metadata"
    ),
    "a malformed requirement": Fault(
        metadata=faulty_metadata("Version: 1.0\nRequires-Dist: ebmkit-core >>> 1 ???\n"),
        reason="cannot be read",
        when="metadata",
    ),
    "entry points that are not text": Fault(
        entry_points=b"[ebmkit]\nNAMESPACE = \xff\xfe\n", reason="not text in UTF-8", when="metadata", spec=""
    ),
    "an entry point named twice": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE\nNAMESPACE = json\n", reason="twice", when="metadata"
    ),
    "an entry point without a value": Fault(entry_points="[ebmkit]\nNAMESPACE =\n", reason="importing it raised"),
    "an entry point that is no path": Fault(
        entry_points="[ebmkit]\nNAMESPACE = not a module!\n", reason="importing it raised"
    ),
    "an entry point of a missing attribute": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE:nothing\n", reason="importing it raised AttributeError"
    ),
    "an entry point of a class": Fault(
        entry_points="[ebmkit]\nNAMESPACE = MODULE:Square\n", reason="must name a module"
    ),
    "a namespace claimed twice": Fault(reason="several distributions claim", when="metadata", twin=True),
    "capital letters in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACELoud = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a terminal escape in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACE\x1b[31m = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a direction mark in the namespace": Fault(
        entry_points="[ebmkit]\nNAMESPACE\u202e = MODULE\n", reason="lower-case", when="metadata", spec=""
    ),
    "a very long namespace": Fault(
        entry_points=f"[ebmkit]\nNAMESPACE{'x' * 5000} = MODULE\n", reason="at most 64", when="metadata", spec=""
    ),
    "a terminal escape in the name": Fault(
        metadata="Metadata-Version: 2.1\nName: DISTRIBUTION\x1b[31m\u202e\nVersion: 1.0\n",
        code="1 / 0",
        reason="ZeroDivisionError",
        shown="DISTRIBUTION\\x1b[31m\\u202e",
    ),
    "an unreadable record": Fault(files={"RECORD": b"\xff\xfe,,,\n"}, when="never"),
}

IMPORT = {
    "a missing module": Fault("import no_such_module_anywhere", "ModuleNotFoundError"),
    "a missing name": Fault("from ebmkit.api import Nothing", "ImportError"),
    "a syntax error": Fault("def broken(:", "SyntaxError"),
    "null bytes": Fault(b"x = 1\x00\n", "importing it raised"),
    "source in another encoding": Fault(b"# -*- coding: no-such-encoding -*-\n", "importing it raised SyntaxError"),
    "sys.exit": Fault("raise SystemExit(0)", "SystemExit"),
    "KeyboardInterrupt": Fault("raise KeyboardInterrupt", "importing it raised KeyboardInterrupt"),
    "its own BaseException": Fault("class E(BaseException): pass\nraise E('x')", "importing it raised E: x"),
    "an endless recursion": Fault("def f(): f()\nf()", "RecursionError"),
    "no memory": Fault("raise MemoryError", "importing it raised MemoryError"),
    "a failed assertion": Fault("assert False, 'one\\n\\ntwo'", "AssertionError: one two"),
    "a group of exceptions": Fault("raise ExceptionGroup('several', [ValueError('a')])", "ExceptionGroup: several"),
    "an exception that cannot be printed": Fault(UNPRINTABLE + "raise Unprintable", "its message cannot be shown"),
    "an exception whose text is no string": Fault(
        "class Odd(Exception):\n    def __str__(self): return 7\nraise Odd", "its message cannot be shown"
    ),
    "an exception whose text is a hostile string": Fault(
        "class Text(str):\n    def split(self, *a): raise OSError\n    __format__ = split\n"
        "class Odd(Exception):\n    def __str__(self): return Text('quiet')\nraise Odd",
        "Odd: quiet",
    ),
    "an exception of a class without a name": Fault(
        "class Meta(type):\n    @property\n    def __name__(cls): raise OSError\n"
        "class Odd(Exception, metaclass=Meta): pass\nraise Odd('here')",
        "Odd: here",
    ),
    "an exception of many megabytes": Fault("raise ValueError('long ' * 1_000_000)", "ValueError: long"),
    "an exception with terminal escapes": Fault("raise ValueError('\\x1b[31mred \\u202eback')", "\\x1b[31mred \\u202e"),
    "another API": Fault("EBMKIT_API = 99" + SQUARE, "plugin API 99"),
    "an API that is no number": Fault(
        "class Odd:\n    def __eq__(self, other): raise OSError\nEBMKIT_API = Odd()" + SQUARE, "an integer is expected"
    ),
    "a package without __init__": Fault(None, "no file"),
    "output": Fault(imported("print('{not json', flush=True)\nimport sys\nprint('x', file=sys.stderr)"), when="never"),
    "output without end": Fault(imported("for _ in range(2_000): print('more and more')"), when="never"),
    "output with terminal escapes": Fault(imported("print('\\x1b]0;title\\x07')"), when="never"),
    "a closed stdout": Fault(imported("import sys\nsys.stdout.close()"), when="never"),
    "another stdout": Fault(imported("import io, sys\nsys.stdout = sys.stderr = io.StringIO()"), when="never"),
    "seeds": Fault(imported("import random\nrandom.seed(0)"), "global random generators", "note"),
    "settings of torch": Fault(
        imported(
            "import torch as t\nt.set_default_dtype(t.float64)\nt.set_num_threads(1)\nt.manual_seed(1)\n"
            "t.use_deterministic_algorithms(True)\nt.set_grad_enabled(False)\nt.set_default_device('meta')"
        ),
        "settings of torch",
        "note",
    ),
    "environment variables": Fault(
        imported("import os\nos.environ['EBMKIT_DISABLE_PLUGINS'] = '1'\nos.environ.pop('PATH', None)"),
        "environment variables",
        "note",
    ),
    "the working directory": Fault(imported("import os\nos.chdir('/')"), "the working directory", "note"),
    "the search path": Fault(imported("import sys\nsys.path[:] = ['/nowhere']"), "the search path", "note"),
    "another search path": Fault(imported("import sys\nsys.path = []"), "the search path", "note"),
    "an import hook": Fault(
        imported("import sys\nclass F:\n    def find_spec(*a): raise OSError\nsys.meta_path.insert(0, F())"),
        "the search path",
        "note",
    ),
    "an exception hook": Fault(imported("import sys\nsys.excepthook = None"), "the hooks of the interpreter", "note"),
    "signal handlers": Fault(
        imported("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"), "signal handlers", "note"
    ),
    "the locale": Fault(
        imported("import locale\nlocale.setlocale(locale.LC_ALL, 'C')\nlocale.setlocale(locale.LC_CTYPE, 'C.UTF-8')"),
        when="never",
    ),
    "the configuration of logging": Fault(
        imported("import logging\nlogging.basicConfig(level=0)\nlogging.disable(50)"),
        "configuration of logging",
        "note",
    ),
    "warnings as errors": Fault(imported("import warnings\nwarnings.simplefilter('error')"), "filters of", "note"),
    "the recursion limit": Fault(imported("import sys\nsys.setrecursionlimit(60)"), "the recursion limit", "note"),
    "a replaced module": Fault(imported("import sys\nsys.modules['json'] = None"), "modules or functions", "note"),
    "a replaced function of json": Fault(
        imported("import json\njson.dumps = json.loads = None"), "modules or functions", "note"
    ),
    "a replaced function of ebmkit": Fault(
        imported(
            "import ebmkit.errors.base as b\nb.printable = None\nimport ebmkit.registry.spelling as s\ns.nearest = 1"
        ),
        "modules or functions",
        "note",
    ),
    "a replaced built-in function": Fault(
        SQUARE + "\nimport builtins\nbuiltins.print = builtins.len = builtins.bool = None",
        "functions of Python",
        "note",
    ),
    "os._exit": Fault("import os\nos._exit(0)", "importing it raised SystemExit: it called os._exit(0)"),
    "os._exit in a forked process": Fault(
        imported("import os\nif os.fork() == 0: os._exit(0)\nos.wait()"), when="never"
    ),
    "a replaced function of torch": Fault(
        imported("import torch as t\nt.nn.functional.softplus = lambda x: x"),
        "importing it replaced torch.nn.functional.softplus, which all other components use",
    ),
    "a replaced method of a class of torch": Fault(
        imported("import torch as t\ndef backward(self): pass\nt.Tensor.backward = backward"),
        "importing it replaced torch.Tensor.backward",
    ),
    "a replaced function of the stand-in for torch": Fault(
        SQUARE + "\ntorch.softplus = lambda x: x", "functions of torch", "note"
    ),
    "a question to the user": Fault(imported("input('continue? ')"), "EOFError"),
    "a thread": Fault(
        imported("import threading, time\nthreading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()"),
        when="never",
    ),
    "a handler at exit that raises": Fault(imported("import atexit\natexit.register(lambda: 1 / 0)"), when="never"),
    "a module __getattr__ that raises": Fault(
        imported("def __getattr__(name): raise RuntimeError(name)"), "not AttributeError"
    ),
    "a module that replaces itself": Fault(
        "import sys\nclass Odd:\n    def __getattr__(self, name): raise RuntimeError(name)\nsys.modules[__name__] = Odd()",
        "must name a module",
    ),
    "a module of a class that raises": Fault(
        "import sys\nfrom types import ModuleType\nclass Odd(ModuleType):\n"
        "    def __getattribute__(self, name): raise RuntimeError(name)\nsys.modules[__name__].__class__ = Odd\n",
        "its own __getattribute__",
    ),
    "names that raise when looked at": Fault(
        imported(
            "class Odd:\n    @property\n    def __class__(self): raise RuntimeError\n"
            "    def __eq__(self, other): raise RuntimeError\n    __bool__ = __hash__ = None\nodd = Odd()"
        ),
        when="never",
    ),
    "a file that it denies": Fault("__file__ = 7" + SQUARE, "its files cannot be read"),
    "a file that is gone": Fault("__file__ = '/nowhere/at/all.py'" + SQUARE, "its files cannot be read"),
}

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

COMPONENTS = {
    "a metaclass that raises": Fault(
        defined(
            "",
            "class Meta(type(Bregman)):\n    def __getattribute__(cls, name):\n        if name[:2] != '__': raise OSError\n"
            "        return super().__getattribute__(name)\n    def __hash__(cls): raise OSError\n",
        ).replace("(Bregman):", "(Bregman, metaclass=Meta):"),
        "OSError",
    ),
    "a quiet metaclass": Fault(
        defined(
            "", "class Meta(type(Bregman)):\n    def __eq__(cls, other): return True\n    __hash__ = type.__hash__\n"
        ).replace("(Bregman):", "(Bregman, metaclass=Meta):"),
        "metaclass Meta",
    ),
    "__getattr__": Fault(defined("def __getattr__(self, name): raise RuntimeError"), "must not define __getattr__"),
    "__getattribute__": Fault(defined("def __getattribute__(self, name): 1 / 0"), "must not define __getattribute__"),
    "__eq__": Fault(defined("def __eq__(self, other): raise RuntimeError"), "must not define __eq__"),
    "__hash__": Fault(defined("def __hash__(self): raise RuntimeError"), "must not define __hash__"),
    "__bool__": Fault(defined("def __bool__(self): raise RuntimeError"), "must not define __bool__"),
    "__getattr__ of a mixin": Fault(
        defined("", "class Mixin:\n    def __getattr__(self, name): raise RuntimeError", "Mixin, Bregman"),
        "must not define __getattr__",
    ),
    "__class__": Fault(defined("__class__ = property(lambda self: 1 / 0)"), "must not define __class__"),
    "a docstring that is no text": Fault(defined("__doc__ = 7"), "cannot be described"),
    "a docstring of megabytes": Fault(defined("__doc__ = 'word ' * 1_000_000"), when="never"),
    "a docstring with terminal escapes": Fault(defined("__doc__ = 'red \\x1b[31m \\u202e back'"), when="never"),
    "no docstring": Fault(defined("__doc__ = None"), when="never"),
    "a tensor as parameter": Fault(parameter("torch.Tensor"), "which a spec cannot write"),
    "a function as parameter": Fault(parameter("Callable[[int], int]", "abs"), "which a spec cannot write"),
    "a set as parameter": Fault(parameter("set[int]", "field(default_factory=set)"), "which a spec cannot write"),
    "a class without schema as parameter": Fault(
        parameter("Odd", before="class Odd: pass"), "which a spec cannot write"
    ),
    "a class whose schema raises": Fault(
        parameter("Odd", before="class Odd:\n    def __get_pydantic_core_schema__(*a): raise SystemExit(1)"),
        "which a spec cannot write",
    ),
    "a name that is not defined": Fault(parameter("'NoSuchType'"), "annotations"),
    "an annotation that raises": Fault(parameter("'1 / 0'"), "annotations"),
    "an annotation that is no type": Fault(parameter("'7'"), "which a spec cannot write"),
    "a generic parameter": Fault(
        parameter("list[T]", before="from typing import TypeVar\nT = TypeVar('T')"), "which a spec cannot write"
    ),
    "a recursive section": Fault(
        parameter(
            "'Node | None'",
            "None",
            before="from ebmkit.api import section\n@section\nclass Node:\n    inner: 'Node | None' = None\n",
        ),
        "which a spec cannot write",
    ),
    "a list without entries": Fault(parameter("tuple"), "which a spec cannot write"),
    "a bound of another type": Fault(parameter("Annotated[int, Gt('a')]", "1"), "cannot be described"),
    "a bound that raises": Fault(
        parameter(
            "Annotated[int, Odd()]",
            "1",
            before="class Odd:\n    def __getattr__(self, name): raise RuntimeError\n    __eq__ = __getattr__",
        ),
        "cannot be described: RuntimeError",
    ),
    "anything as parameter": Fault(parameter("Any", "None"), when="never"),
    "a default of another type": Fault(parameter("int", "'three'"), "the default of the parameter 'odd'"),
    "a default out of bounds": Fault(parameter("Annotated[int, Gt(0)]", "-1"), "the default of the parameter 'odd'"),
    "a default that is not finite": Fault(parameter("float", "float('nan')"), "not finite"),
    "an infinite default inside": Fault(parameter("tuple[float, ...]", "(1.0, float('inf'))"), "not finite"),
    "a mutable default": Fault(parameter("list[int]", "[]"), "mutable default"),
    "a default that cannot be printed": Fault(
        parameter("Any", "Odd()", before="class Odd:\n    def __repr__(self): 1 / 0\n    __eq__ = __hash__ = __repr__"),
        "an object of type Odd cannot be written in a spec",
    ),
    "a default that is a class": Fault(parameter("Any", "int"), "cannot be written in a spec"),
    "a default factory that raises": Fault(
        parameter("int", "field(default_factory=lambda: 1 / 0)"), "ZeroDivisionError"
    ),
    "a parameter called use": Fault(SQUARE.replace("    def psi", "    use: int = 1\n\n    def psi"), "spec language"),
    "a parameter without annotation": Fault(
        SQUARE.replace("    def psi", "    eps = 1.0\n\n    def psi"), "no annotation"
    ),
    "a name in capital letters": Fault(SQUARE.replace('"square"', '"Square"'), "lower-case letters"),
    "a name with terminal escapes": Fault(SQUARE.replace('"square"', '"sq\\x1b[31m"'), "lower-case letters"),
    "a name that is no text": Fault(SQUARE.replace('"square"', "7"), "TypeError"),
    "a name overwritten": Fault(SQUARE + "\nSquare.component_name = 'a.b\\n'", "component_name was overwritten"),
    "a kind overwritten": Fault(SQUARE + "\nSquare.component_kind = 'sampler'", "no known kind"),
    "a revision that is no number": Fault(SQUARE.replace('"square"', '"square", revision="x"'), "revision"),
    "no decorator": Fault(
        HEAD + "\nclass Square(Bregman):\n    component_name = 'square'\n    component_revision = 1\n"
        "    def psi(self, u):\n        return u",
        "lacks @component",
    ),
    "two kinds": Fault(defined("def levels(self): pass", bases="Bregman, Schedule"), "is of 2 kinds"),
    "no kind": Fault(HEAD + "\n@component('square')\nclass Square:\n    pass", "must subclass a kind"),
    "a method missing": Fault(SQUARE.replace("def psi", "def phi"), "does not implement psi"),
    "slots": Fault(defined("__slots__ = ('x',)"), "has no annotation"),
    "its own metaclass conflict": Fault(
        "from ebmkit.api import Bregman\nclass M(type): pass\nclass B(metaclass=M): pass\nclass S(B, Bregman): pass",
        "TypeError",
    ),
    "an unknown ability": Fault(
        HEAD + '\n@component("square")\nclass Square(Model):\n    offers = frozenset({"flight"})\n'
        "    def build(self, event): pass",
        "'flight', which is no ability",
    ),
    "abilities that are no names": Fault(
        HEAD + '\n@component("square")\nclass Square(Model):\n    offers = 7\n    def build(self, event): pass',
        "must be a frozenset of names",
    ),
    "packages that are no mapping": Fault(defined("needs_packages: ClassVar = ['zuko']"), "needs_packages"),
}

#: Imports that end or stop the process in which they happen: only verbs that import plugins in another process survive.
APART = {
    "a crash": Fault(
        imported("import ctypes\nctypes.string_at(0)"), "importing it ended the process: Segmentation fault"
    ),
    "a signal": Fault(
        imported("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        "importing it ended the process by signal 9",
    ),
    "os._exit without its name": Fault(
        imported("import posix\nposix._exit(7)"), "importing it ended the process with exit status 7"
    ),
    "an endless loop": Fault(imported("while True: pass"), "importing it did not end within 2 seconds"),
    "an endless wait": Fault(imported("import time\ntime.sleep(1e6)"), "importing it did not end within 2 seconds"),
}

#: All faults that are found before a component is used.
FAULTS = METADATA | IMPORT | HOOKS | COMPONENTS
