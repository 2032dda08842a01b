"""Faults of the classes of components and of their parameters."""

# ruff: noqa: E501  # lines of the plugins below

from __future__ import annotations

import textwrap

from .fault import HEAD, SQUARE, Fault


def parameter(annotation: str, default: str = "", before: str = "") -> str:
    """A plugin whose component has one odd parameter."""
    declared = f"    odd: {annotation}{' = ' + default if default else ''}\n\n"
    return SQUARE.replace("\n@component", f"\n{before}\n@component").replace("    def psi", declared + "    def psi")


def defined(body: str, before: str = "", bases: str = "Bregman") -> str:
    """A plugin whose component has more in its class."""
    code = SQUARE.replace("(Bregman):", f"({bases}):").replace("\n@component", f"\n{before}\n@component")
    return code + textwrap.indent(textwrap.dedent(body), "    ")


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
    "__repr__": Fault(defined("def __repr__(self): raise RuntimeError\n__str__ = __format__ = __repr__"), when="never"),
    "__del__": Fault(defined("def __del__(self): raise SystemExit(1)"), when="never"),
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
    "a path as name": Fault(SQUARE.replace('"square"', '"../square"'), "lower-case letters"),
    "a name in the namespace of another": Fault(SQUARE.replace('"square"', '"healthy.square"'), "lower-case letters"),
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
