"""`ebmkit completion SHELL`: print the completion script for a shell."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash: `ebmkit completion bash > ~/.local/share/bash-completion/completions/ebmkit`
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None  # click supports these three
    click.echo(script(context.find_root().command, {}, "ebmkit", "_EBMKIT_COMPLETE").source())
