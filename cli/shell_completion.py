"""Shell completion: slugs and branches of the brain, and a PowerShell script."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class

from brain.errors import BrainError

from .context import App
from .error_report import Failure

if TYPE_CHECKING:
    import click

    from brain import Brain

T = TypeVar("T")

COMPLETE_VARIABLE = "_BRAIN_COMPLETE"
"""The variable by which a shell asks for completions."""

SHELLS = ("bash", "zsh", "fish", "powershell")

_POWERSHELL_TEMPLATE = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $env:%(complete_var)s = "powershell_complete"
    $env:COMP_WORD = $wordToComplete
    $env:COMP_WORDS = ($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.Extent.Text }) -join "`n"
    try {
        %(prog_name)s | ForEach-Object {
            $kind, $value, $help = $_ -split "`t", 3
            if ($kind -eq "plain") {
                [System.Management.Automation.CompletionResult]::new(
                    $value, $value, "ParameterValue", $help)
            }
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_WORD, Env:COMP_WORDS
    }
}
"""


class PowerShellComplete(ShellComplete):
    """PowerShell 5 and later: words come one a line, answers go out tab-separated."""

    name = "powershell"
    source_template = _POWERSHELL_TEMPLATE

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, without the program, and the unfinished one."""
        words = os.environ.get("COMP_WORDS", "").split("\n")
        return words[1:], os.environ.get("COMP_WORD", "")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return kind, value and help; help is never empty, which PowerShell refuses."""
        return f"{item.type}\t{item.value}\t{item.help or item.value}"


def register_powershell() -> None:
    """Make PowerShell known to click."""
    add_completion_class(PowerShellComplete)


def completion_script(shell: str) -> str:
    """Return the completion script for one of `SHELLS`."""
    from click.shell_completion import get_completion_class

    from .root_command import PROGRAM_NAME, root_group

    register_powershell()
    kind = get_completion_class(shell)
    assert kind is not None
    # The base method: the one for bash would run bash to warn of an old version.
    return ShellComplete.source(kind(root_group, {}, PROGRAM_NAME, COMPLETE_VARIABLE))


def complete_slugs(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Return the slugs of the brain at hand that begin with `incomplete`."""
    return [
        CompletionItem(skill.slug, help=skill.description or None)
        for skill in _query_brain(ctx, lambda brain: brain.skills())
        if skill.slug.startswith(incomplete)
    ]


def complete_branches(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Return the branches of the brain at hand that begin with `incomplete`."""
    return [
        CompletionItem(branch.name, help=branch.snapshot[:12])
        for branch in _query_brain(ctx, lambda brain: brain.branches().branches)
        if branch.name.startswith(incomplete)
    ]


def _query_brain(ctx: click.Context, question: Callable[[Brain], list[T]]) -> list[T]:
    app = App(directory=ctx.find_root().params.get("directory"), as_json=True)
    try:
        return question(app.brain)
    except (BrainError, Failure, OSError):
        return []  # no brain at hand, nothing to offer; a shell shows no message here
    finally:
        app.close()
