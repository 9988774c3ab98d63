"""Options that several commands have, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .params import CountType, NonEmptyType, OnceOption, TextType

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SELECTION_METHODS = ("keyword", "bm25", "embedding", "hybrid")


def message_option(function: Decorated) -> Decorated:
    """Add -m/--message to a command that records a snapshot."""
    return _value_option("-m", "--message", metavar="TEXT", help="What was done, and why.")(
        function
    )


def output_option(what: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds -o/--output to a command that prints `what`."""
    return _value_option(
        "-o", "--output", type=None, metavar="FILE", help=f"Write {what} to FILE, not to stdout."
    )


def overwrite_option(function: Decorated) -> Decorated:
    """Add --overwrite to a command that has --output."""
    text = "Replace FILE even if its content differs."
    return click.option("--overwrite", is_flag=True, help=text)(function)


def dry_run_option(function: Decorated) -> Decorated:
    """Add --dry-run to a command that sends a transaction."""
    text = "Print the estimated cost; send nothing."
    return click.option("--dry-run", is_flag=True, help=text)(function)


def revision_option(text: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds --rev, which is the head by default."""
    return _value_option("--rev", type=NonEmptyType(), metavar="REV", help=f"{text}  [default: @]")


def ledger_option(function: Decorated) -> Decorated:
    """Add --ledger to a command."""
    text = "The ledger.  [default: the one in the manifest, else local]"
    return _value_option("--ledger", type=TextType("bad_ledger"), metavar="NAME", help=text)(
        function
    )


def chain_option(function: Decorated) -> Decorated:
    """Add --ledger to a command that works with ledgers on a chain only."""
    text = "The ledger on a chain.  [required]"
    return _value_option("--ledger", type=TextType("bad_ledger"), metavar="NAME", help=text)(
        function
    )


def signing_options(function: Decorated) -> Decorated:
    """Add --key and --passphrase-file to a command."""
    key = click.option(
        "--key",
        "own",
        cls=OnceOption,
        type=TextType(),
        metavar="NAME",
        help="Your key to sign with (default: the only one).  [env: BRAIN_SIGN_KEY]",
    )
    passphrase = _value_option(
        "--passphrase-file",
        metavar="FILE",
        help="The file with the passphrase of the key.  [env: BRAIN_PASSPHRASE_FILE]",
    )
    return key(passphrase(function))


def index_options(function: Decorated) -> Decorated:
    """Add --max-chars and --budget, and the options that select skills for a task."""
    max_chars = _value_option(
        "--max-chars",
        type=CountType(),
        metavar="CHARS",
        help="Cut each description at CHARS characters.",
    )
    budget = _value_option(
        "--budget", type=CountType(), metavar="TOKENS", help="Limit the index to TOKENS tokens."
    )
    task = _value_option(
        "--task",
        metavar="TEXT",
        help="Show only the skills that fit this task; - reads standard input.",
    )
    top = _value_option(
        "--top",
        type=CountType(),
        metavar="COUNT",
        help="How many skills to select; 0 selects all.  [default: 10]",
    )
    by = _value_option(
        "--by", type=click.Choice(SELECTION_METHODS), help="How to rank skills for a task."
    )
    return max_chars(budget(task(top(by(function)))))


def _value_option(*names: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds an option with a value; the value is text by default."""
    attributes.setdefault("type", TextType())
    return click.option(*names, cls=OnceOption, **attributes)
