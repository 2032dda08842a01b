"""E0xx: what can be wrong with the text of a spec, before anybody asks what it means."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class TextError(EbmkitError):
    code = "E000"
    exit_status = 2


class Unreadable(TextError):
    """The spec cannot be read.

    There is no such file, it is a folder, a pipe or a device, or permission is missing. Specs are regular files; `-`
    reads standard input; a bare name such as `quickstart` finds a spec that comes with ebmkit.
    """

    code = "E001"


class TooLarge(TextError):
    """The spec exceeds a bound.

    A spec is at most 256 KiB, 64 levels deep, and 20,000 values large after its aliases are expanded. Experiments that
    people write are far below that; the bounds keep a stranger's file from using up your machine. Large tables of
    numbers belong in a data file.
    """

    code = "E002"


class NotText(TextError):
    """The file is not UTF-8 text, or holds a control character.

    Save it as UTF-8. The place is that of the first offending byte.
    """

    code = "E003"


class BadSyntax(TextError):
    """The file is not well-formed YAML.

    The usual causes: a tab used for indentation, a missing space behind a colon, a bracket that is never closed, a
    value that begins with `@`, a backquote or `%` and is not quoted.

    Wrong:
        ebmkit: 1
        model: {use: mlp
    """

    code = "E004"


class TagRefused(TextError):
    """YAML tags are not part of the spec language.

    A tag such as `!!python/object` tells a reader to build something other than plain data. A spec is data: numbers,
    strings, lists and mappings.

    Wrong:
        ebmkit: 1
        model: !!str mlp
    """

    code = "E005"


class DirectiveRefused(TextError):
    """YAML directives are not part of the spec language.

    `%YAML 1.1` would change what `on`, `no` or `010` mean. Specs are always YAML 1.2: delete the line.

    Wrong:
        %YAML 1.1
        ---
        ebmkit: 1
    """

    code = "E006"


class BadKey(TextError):
    """A key is not a plain string.

    Every key is a name. Numbers, `true`, `null`, lists and the merge key `<<` are refused; use `extends:` to build on
    another spec, and `parts:` to share.

    Wrong:
        ebmkit: 1
        1: mlp
    """

    code = "E007"


class DuplicateKey(TextError):
    """The same key stands twice in one mapping.

    Many YAML readers keep the last one silently. Delete the one that is not meant; the message shows both.

    Wrong:
        ebmkit: 1
        seed: 1
        seed: 2
    """

    code = "E008"


class Ambiguous(TextError):
    """YAML readers disagree about this value.

    `1_000` is a number to some and a string to others, `2024-01-01` a date or a string, `010` eight or ten, `1e999`
    infinity. Write the number plainly, or quote the string.

    Wrong:
        ebmkit: 1
        seed: 1_000
    """

    code = "E009"


class BadAlias(TextError):
    """An alias points nowhere, or into itself.

    `*name` must follow a complete `&name`. Anchors copy; use `parts:` and `$name` where two places share one object.

    Wrong:
        ebmkit: 1
        model: *nowhere
    """

    code = "E010"


class NotASpec(TextError):
    """The file holds no spec: it is empty, holds several documents, or is not a mapping.

    A spec is one mapping that begins with `ebmkit: 1`.

    Wrong:
        - ebmkit: 1
    """

    code = "E011"


class BadExtends(TextError):
    """`extends:` cannot be followed.

    It names one other spec: a path relative to this file, or the bare name of a spec that comes with ebmkit. Chains may
    be 16 files long and may not bite their own tail.

    Wrong:
        ebmkit: 1
        extends: no-such-file.yaml
    """

    code = "E012"


class BadFlag(TextError):
    """A flag that changes the spec is malformed or leads nowhere.

    `--set path=value` sets, `--set path+=value` appends to a list, `--unset path` removes. A path is made of names and
    list positions: `objective.sampler.steps`, `evaluate.0.samples`. The value is YAML.
    """

    code = "E013"
