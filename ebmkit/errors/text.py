"""E0xx: errors in the text of a spec, before its meaning is considered."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class TextError(EbmkitError):
    code = "E000"
    exit_status = 2


class Unreadable(TextError):
    """The spec cannot be read.

    The file does not exist, is a folder, a pipe or a device, or may not be read. Specs are regular files; `-` reads
    standard input; a bare name such as `quickstart` refers to a spec that comes with ebmkit.
    """

    code = "E001"


class TooLarge(TextError):
    """The spec is too large.

    A spec may have at most 256 KiB, 64 levels of nesting, and 10,000 values after its aliases are expanded. Real
    experiments are far below these limits, which protect your machine from malicious files. Put large tables of numbers
    in a data file.
    """

    code = "E002"


class NotText(TextError):
    """The file is not UTF-8 text, or contains a control character.

    Save it as UTF-8. The place is that of the first invalid byte.
    """

    code = "E003"


class BadSyntax(TextError):
    """The file is not well-formed YAML.

    Common causes: a tab used for indentation, a missing space after a colon, a bracket that is never closed, an
    unquoted value that begins with `@`, a backquote or `%`.

    Wrong:
        ebmkit: 1
        model: {use: mlp
    """

    code = "E004"


class TagRefused(TextError):
    """YAML tags are not part of the spec language.

    A tag such as `!!python/object` asks the parser to construct something other than plain data. A spec is plain data:
    numbers, strings, lists and mappings.

    Wrong:
        ebmkit: 1
        model: !!str mlp
    """

    code = "E005"


class DirectiveRefused(TextError):
    """YAML directives are not part of the spec language.

    `%YAML 1.1` would change the meaning of `on`, `no` or `010`. Specs are always YAML 1.2: delete the line.

    Wrong:
        %YAML 1.1
        ---
        ebmkit: 1
    """

    code = "E006"


class BadKey(TextError):
    """A key is not a plain string.

    Every key is a name. Numbers, `true`, `null`, lists and the merge key `<<` are refused; use `extends:` to build on
    another spec, and `parts:` to share values.

    Wrong:
        ebmkit: 1
        1: mlp
    """

    code = "E007"


class DuplicateKey(TextError):
    """The same key occurs twice in one mapping.

    Many YAML parsers silently keep the last one. Delete the one that is not intended; the message shows both.

    Wrong:
        ebmkit: 1
        seed: 1
        seed: 2
    """

    code = "E008"


class Ambiguous(TextError):
    """YAML parsers disagree about the meaning of this value.

    `1_000` is a number to some and a string to others, `2024-01-01` a date or a string, `010` eight or ten, `1e999`
    infinity. Write the number in plain notation, or quote the string.

    Wrong:
        ebmkit: 1
        seed: 1_000
    """

    code = "E009"


class BadAlias(TextError):
    """An alias refers to an unknown anchor, or to an anchor that contains it.

    `*name` must follow a complete `&name`. Anchors copy; use `parts:` and `$name` where two places share one object.

    Wrong:
        ebmkit: 1
        model: *nowhere
    """

    code = "E010"


class NotASpec(TextError):
    """The file is not a spec: it is empty, contains several documents, or is not a mapping.

    A spec is one mapping that begins with `ebmkit: 1`.

    Wrong:
        - ebmkit: 1
    """

    code = "E011"


class BadExtends(TextError):
    """`extends:` cannot be followed.

    It names one other spec: a path relative to this file, or the bare name of a spec that comes with ebmkit. A chain of
    `extends:` has at most 16 files and must not be circular.

    Wrong:
        ebmkit: 1
        extends: no-such-file.yaml
    """

    code = "E012"


class BadFlag(TextError):
    """A flag that changes the spec is malformed, or its path does not exist.

    `--set path=value` sets a value, `--set path+=value` appends to a list, `--unset path` removes a value. A path
    consists of names and list positions: `objective.sampler.steps`, `evaluate.0.samples`. The value is YAML.
    """

    code = "E013"
