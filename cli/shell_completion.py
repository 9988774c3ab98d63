"""Completion scripts for shells."""

from __future__ import annotations

import os
from typing import Any

from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
)

from .root_command import PROGRAM_NAME, root_group

COMPLETE_VARIABLE = "_BRAIN_COMPLETE"
"""The variable that a shell sets to request completions."""

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
    """PowerShell 5 and later: one word per line in, tab-separated fields out."""

    name = "powershell"
    source_template = _POWERSHELL_TEMPLATE

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, without the program, and the unfinished one."""
        words = os.environ.get("COMP_WORDS", "").split("\n")
        return words[1:], os.environ.get("COMP_WORD", "")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return kind, value and help; PowerShell refuses an empty help."""
        return f"{item.type}\t{item.value}\t{item.help or item.value}"


def register_powershell() -> None:
    """Make PowerShell known to click."""
    add_completion_class(PowerShellComplete)


def completion_script(shell: str) -> str:
    """Return the completion script for one of `SHELLS`."""
    register_powershell()
    kind = get_completion_class(shell)
    assert kind is not None
    # The base method, because the one for bash runs bash to check its version.
    return ShellComplete.source(kind(root_group, {}, PROGRAM_NAME, COMPLETE_VARIABLE))
