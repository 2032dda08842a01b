"""What a plugin prints while it is imported is shown on stderr, escaped and bounded."""

import sys

from ebmkit.registry.plugin_output import MOST, output_on_stderr


def test_both_streams_appear_on_stderr_escaped(capsys):
    with output_on_stderr():
        print("one \x1b[31m")
        print("two", file=sys.stderr)
        sys.stdout.buffer.write(b"three \xff\n")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "one \\x1b[31m\ntwo\nthree \\xff\n"


def test_output_is_bounded(capsys):
    with output_on_stderr():
        for _ in range(5000):
            print("more and more")
    shown = capsys.readouterr().err
    assert MOST <= len(shown) < MOST + 100
    assert shown.endswith("(more output of this plugin is not shown)\n")


def test_a_kept_stream_can_be_used_later(capsys):
    with output_on_stderr():
        kept = sys.stdout
    kept.write("later\n")
    assert capsys.readouterr().err == "later\n"
