"""Options that several commands have, as decorators."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError

from .command import Decorated, argument, flag, option, repeated_option
from .context import App
from .output import emit_file
from .params import CountType, NonEmptyType, TextType
from .terminal import escape

if TYPE_CHECKING:
    from brain.chain.evm.unsigned import TransactionToSign

_MAX_HOURS = 24 * 366 * 100
"""A century: later ends are typing errors."""
SELECTION_METHODS = ("keyword", "bm25", "embedding", "hybrid")

revision_argument = argument("rev", metavar="[REV]", required=False, type=NonEmptyType())
message_option = option("-m", "--message", metavar="TEXT", help="What was done, and why.")
stat_option = flag("--stat", help="Count changed lines for each file.")
patch_option = flag("-p", "--patch", help="Print the changed lines.")
overwrite_option = flag("--overwrite", help="Replace FILE even if its content differs.")
dry_run_option = flag("--dry-run", help="Print the estimated cost; send nothing.")

ledger_option = option(
    "--ledger",
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="The ledger.  [default: the one in the manifest, else local]",
)
chain_option = option(
    "--ledger",
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="The ledger on a chain.  [required]",
)


def output_option(what: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds -o/--output to a command that prints `what`."""
    return option(
        "-o", "--output", type=None, metavar="FILE", help=f"Write {what} to FILE, not to stdout."
    )


def hours_option(text: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds --hours, 1 or more; see `end_of_hours`."""
    return option("--hours", type=click.IntRange(1, _MAX_HOURS), metavar="NUMBER", help=text)


def end_of_hours(hours: int) -> int:
    """Return the second since 1970 that is `hours` from now."""
    return int(time.time()) + 3600 * hours


def revision_option(text: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds --rev, which is the head by default."""
    return option("--rev", type=NonEmptyType(), metavar="REV", help=f"{text}  [default: @]")


def no_record_option(function: Decorated) -> Decorated:
    """Add --no-record to a command that records edits of the folder first."""
    return flag(
        "--no-record",
        expose_value=False,
        callback=_leave_edits,
        help="Do not record edits of the folder first.",
    )(function)


def _leave_edits(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    app = ctx.find_object(App)
    if app is not None:
        app.leaves_edits = value


def allow_option(text: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds --allow, with the ids of findings of secrets."""
    return repeated_option(
        "--allow",
        metavar="ID",
        help=f"{text} despite a secret finding: the id of the finding; repeatable.",
    )


def signing_options(function: Decorated) -> Decorated:
    """Add --key and --passphrase-file to a command."""
    add_passphrase = option(
        "--passphrase-file",
        metavar="FILE",
        help="The file with the passphrase of the key.  [env: BRAIN_PASSPHRASE_FILE]",
    )
    add_key = option(
        "--key",
        "own",
        metavar="NAME",
        help="Your key to sign with (default: that of 'brain config sign', else the only one)."
        "  [env: BRAIN_SIGN_KEY]",
    )
    return add_key(add_passphrase(function))


def index_options(function: Decorated) -> Decorated:
    """Add --max-chars and --budget, and the options that select skills for a task."""
    for add in reversed(_INDEX_OPTIONS):
        function = add(function)
    return function


_INDEX_OPTIONS = (
    option(
        "--max-chars",
        type=CountType(),
        metavar="CHARS",
        help="Cut each description at CHARS characters.",
    ),
    option(
        "--budget", type=CountType(), metavar="TOKENS", help="Limit the index to TOKENS tokens."
    ),
    option(
        "--task",
        metavar="TEXT",
        help="Show only the skills that fit this task; - reads standard input.",
    ),
    option(
        "--top",
        type=CountType(),
        metavar="COUNT",
        help="How many skills to select; 0 selects all.  [default: 10]",
    ),
    option("--by", type=click.Choice(SELECTION_METHODS), help="How to rank skills for a task."),
)


_UNSIGNED_OPTIONS = (
    flag("--unsigned", help="Print the transaction, for any wallet to send, and send nothing."),
    option(
        "-o",
        "--output",
        type=None,
        metavar="FILE",
        help="With --unsigned: write the transaction to FILE, not to stdout.",
    ),
    option(
        "--from",
        "signed_by",
        type=TextType("bad_address"),
        metavar="ADDRESS",
        help="With --unsigned: the account that will send.  [default: that of the ledger]",
    ),
)


def unsigned_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add --unsigned, --output and --from to a command that sends one transaction.

    With --unsigned no key is used: the command stops where it would sign.
    """

    @functools.wraps(function)
    def run(
        app: App,
        *,
        unsigned: bool,
        output: str | None,
        signed_by: str | None,
        **options: Any,
    ) -> None:
        if not unsigned:
            if any(value is not None for value in (output, signed_by)):
                raise click.UsageError("--output and --from are for --unsigned.")
            function(app, **options)
            return
        if options.get("dry_run"):
            raise click.UsageError("Give either --dry-run or --unsigned.")
        from brain.chain.evm.unsigned import TransactionToSign

        app.transactions_signed_by = signed_by or ""
        try:
            function(app, **options)
        except TransactionToSign as wanted:
            _emit_unsigned(app, wanted, output)
            return
        raise BrainError(
            "no transaction is needed, so none was written",
            code="nothing_to_sign",
            hint="the chain has it already, or it is pending; see `brain chain status`",
        )

    for add in reversed(_UNSIGNED_OPTIONS):
        run = add(run)
    return run


def _emit_unsigned(app: App, wanted: TransactionToSign, output: str | None) -> None:
    """Write the transaction that a wallet elsewhere is to send to a file, or to stdout."""
    import json

    from brain.chain.evm.unsigned import build_unsigned_document

    document = build_unsigned_document(wanted.sender, wanted.transaction)
    call = document["call"] or {"function": "deploy BrainRegistry", "arguments": {}}
    function = call["function"].partition("(")[0]
    lines = [f"To be sent by {wanted.sender}, in {output}: {function}"]
    lines += [f"{name} {value}" for name, value in call["arguments"].items()]
    found = {"sender": wanted.sender, "chain_id": wanted.transaction.chain_id}
    data = json.dumps(document, indent=2).encode() + b"\n"
    emit_file(app, found, "unsigned", data, output, "\n  ".join(map(escape, lines)))
