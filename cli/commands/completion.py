"""`brain completion`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..completion import SHELLS, script
from ..context import App
from ..output import emit


@brain_command(
    "completion",
    examples=(
        'eval "$(brain completion bash)"  (in ~/.bashrc; zsh alike)',
        "brain completion fish > ~/.config/fish/completions/brain.fish",
        "brain completion powershell | Out-String | Invoke-Expression  (in $PROFILE)",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(app: App, shell: str) -> None:
    """Print a completion script for a shell.

    Commands, options and the slugs of the brain at hand are completed.
    """
    text = script(shell)
    emit(app, {"shell": shell, "script": text}, [text.rstrip("\n")])
