"""What a shell offers when the user presses Tab. Plugins are described by the listing, so none is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

if TYPE_CHECKING:
    import click

    from ebmkit.registry.registry import Registry


def complete_spec(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[Any]]:
    """Packaged names, and files."""
    from ebmkit.language import packaged

    names = [CompletionItem(name) for name in packaged.names() if name.startswith(typed)]
    return [CompletionItem(typed, type="file"), *names]  # in bash, "file" discards the items before it


def complete_component(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[Any]]:
    """The components of the kind that was typed before."""
    entries = _registry().entries(context.params.get("kind", ""))
    return [CompletionItem(entry.name, help=entry.summary) for entry in entries if entry.name.startswith(typed)]


def complete_metric(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[Any]]:
    """The metrics."""
    entries = _registry().entries("metric")
    return [CompletionItem(entry.name, help=entry.summary) for entry in entries if entry.name.startswith(typed)]


def complete_setting(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[Any]]:
    """`PATH=VALUE`, once the path is typed."""
    path, sign, begun = typed.partition("=")
    if not sign:
        return []
    from ebmkit.language.offered_values import offered_values
    from ebmkit.language.schema import schema

    offered = offered_values(schema(_registry()), path)
    return [CompletionItem(f"{path}={each}", help=says) for each, says in offered.items() if each.startswith(begun)]


def complete_plugin(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem[Any]]:
    """The namespaces of installed plugins; for arguments that may be a path, files too."""
    from ebmkit.registry.listing import Listing

    plugins = Listing().plugins.values()
    files = [] if parameter.name == "name" else [CompletionItem(typed, type="file")]
    return files + [
        CompletionItem(each.namespace, help=f"{each.distribution} {each.version}")
        for each in plugins
        if each.namespace.startswith(typed)
    ]


def namespaces_with_commands() -> dict[str, str]:
    """The plugins that bring commands of their own, as far as that is known without importing them."""
    from ebmkit.registry.catalogue import Catalogue
    from ebmkit.registry.listing import Listing

    listing = Listing()
    return {
        name: f"Commands of {listing.plugins[name].distribution}."
        for name, known in listing.known().items()
        if isinstance(known, Catalogue) and "ebmkit_commands" in known.hooks
    }


def _registry() -> Registry:
    """All components. A plugin that is broken has no names, and this is not the moment to say so."""
    from ebmkit.registry.listing import Listing
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.registry import Registry

    registry = Registry(Plugins())
    registry.describe(Listing())
    return registry


@add_completion_class
class BashJoined(BashComplete):
    """Bash splits words at `=`: `--set objective=nce` arrives as `--set objective = nce`, and only the last of these
    words is replaced."""

    #: What stands before the word that is replaced.
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, last = super().get_completion_args()
        joined: list[str] = []
        for word in (*words, last):
            if joined and (word == "=" or (joined[-1].endswith("=") and word and not word.startswith("--"))):
                joined[-1] += word
            else:
                joined.append(word)
        *arguments, typed = joined
        self._before = typed.removesuffix(last.removeprefix("="))
        return arguments, typed

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.type},{item.value.removeprefix(self._before) if item.type == 'plain' else item.value}"
