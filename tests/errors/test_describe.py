"""Any exception can be described."""

import pytest

from ebmkit.errors.describe import LONGEST, describe_error, text_of, type_name


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")

    __repr__ = __str__


class Leaving(Exception):
    def __str__(self):
        raise SystemExit(0)


class Number(Exception):
    def __str__(self):
        return 7


class Text(str):
    def split(self, *arguments):
        raise OSError

    __format__ = __len__ = split


class Foreign(Exception):
    def __str__(self):
        return Text("one\n  two")


class Nameless(type):
    @property
    def __name__(cls):
        raise OSError


class Odd(Exception, metaclass=Nameless):
    pass


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("one\n  two"), "ValueError: one two"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (Foreign(), "Foreign: one two"),
        (Odd("here"), "Odd: here"),
        (Unprintable(), "Unprintable: its message cannot be shown, because printing it raised RuntimeError"),
        (KeyError(Unprintable()), "KeyError: its message cannot be shown, because printing it raised RuntimeError"),
        (Leaving(), "Leaving: its message cannot be shown, because printing it raised SystemExit"),
        (Number(), "Number: its message cannot be shown, because printing it raised TypeError"),
    ],
    ids=lambda value: type_name(value),
)
def test_one_line_describes_any_exception(error, words):
    assert describe_error(error) == words
    assert type(text_of(error)) is str


def test_a_long_message_keeps_its_beginning_and_its_end():
    words = describe_error(ValueError("begin " + "x" * 10**6 + " end"))
    assert len(words) < LONGEST + 20
    assert words.startswith("ValueError: begin")
    assert words.endswith("end")


def test_ctrl_c_while_printing_is_not_swallowed():
    class Slow(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        describe_error(Slow())
