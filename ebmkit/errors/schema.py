"""E1xx: names, parameters and types that are unknown to the language or the registry."""

from __future__ import annotations

from ebmkit.errors.base import EbmkitError


class SchemaError(EbmkitError):
    code = "E100"
    exit_status = 2


class UnknownKey(SchemaError):
    """The spec language has no such key here.

    The message suggests the key you probably meant. `ebmkit schema` lets your editor complete keys as you type.

    Wrong:
        ebmkit: 1
        modle: gaussian
    """

    code = "E101"


class UnknownComponent(SchemaError):
    """No component of this kind has that name.

    `ebmkit list KIND` shows all installed components. A name with a dot, such as `itakura.itakura_saito`, belongs to
    the plugin named before the dot; names without a dot come with ebmkit.

    Wrong:
        ebmkit: 1
        model: gausian
    """

    code = "E102"


class UnknownParameter(SchemaError):
    """The component has no such parameter.

    `ebmkit show KIND NAME` lists its parameters with types, bounds and defaults.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0], covarianze: 1}
        sampler: exact
    """

    code = "E103"


class MissingKey(SchemaError):
    """A required key or parameter is missing; it has no default.

    Wrong:
        ebmkit: 1
        sampler: exact
    """

    code = "E104"


class WrongType(SchemaError):
    """The value does not have the type of the parameter.

    Types are strict: a string is not a number (remove the quotes), 10.0 is not an integer (write 10), `yes` is a string
    in YAML 1.2 (write true).

    Wrong:
        ebmkit: 1
        seed: "7"
        model: {use: gaussian, mean: [0]}
        sampler: exact
    """

    code = "E105"


class OutOfBounds(SchemaError):
    """The value has the right type but is not allowed: too small, too large, or not one of the choices.

    Wrong:
        ebmkit: 1
        seed: -1
        model: {use: gaussian, mean: [0]}
        sampler: exact
    """

    code = "E106"


class NotAComponent(SchemaError):
    """A component is expected here: a name, or a mapping with `use: name`.

    `sampler: langevin` uses all defaults; `sampler: {use: langevin, steps: 100}` sets parameters; `sampler: $mine`
    refers to an entry of `parts:`.

    Wrong:
        ebmkit: 1
        model: [gaussian]
    """

    code = "E107"


class Refused(SchemaError):
    """The component refuses this combination of parameters.

    Each value is valid by itself, but not together with the others. The message comes from the component.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0, 0], covariance: [[1, 2], [2, 1]]}
        sampler: exact
    """

    code = "E108"


class UnknownPart(SchemaError):
    """`$name` refers to an entry that is missing from `parts:`, or to itself.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0]}
        sampler: $chain
    """

    code = "E109"


class UnusedPart(SchemaError):
    """Nothing refers to this entry of `parts:`.

    The kind of an entry follows from the place that refers to it, so an unused entry cannot be checked. Refer to it as
    `$name`, or delete it.

    Wrong:
        ebmkit: 1
        model: {use: gaussian, mean: [0]}
        sampler: exact
        parts: {spare: langevin}
    """

    code = "E110"


class UnknownVersion(SchemaError):
    """The spec is written in a version of the language that this version of ebmkit does not support.

    `ebmkit: 1` is the only version so far. A newer spec needs a newer ebmkit-core.

    Wrong:
        ebmkit: 2
    """

    code = "E111"


class PluginError(EbmkitError):
    code = "E120"
    exit_status = 3


class PluginMissing(PluginError):
    """The spec needs a plugin that is not installed, is disabled, or has a different version.

    If the spec names the distribution, the message repeats it: `pip install` it. `ebmkit plugins` lists the installed
    plugins.

    Wrong:
        ebmkit: 1
        plugins: {alpha: "ebmkit-alpha>=0.2"}
        model: {use: gaussian, mean: [0]}
        sampler: exact
    """

    code = "E121"


class PluginBroken(PluginError):
    """A plugin is installed but cannot be used.

    It fails to import, was written for another version of the plugin API, misspells a hook, defines a name twice, or
    claims the namespace of another distribution. `ebmkit plugins` gives the reason for each plugin, `--debug` the
    traceback. Everything that does not need the plugin continues to work.
    """

    code = "E122"
