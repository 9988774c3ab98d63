"""The ledgers of whoever runs the command: where they are, which one is meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .params import Once, TextType
from .terminal import escape
from .text import count, short

if TYPE_CHECKING:
    from brain.chain.protocol import Ledger
    from brain.chain.tlog.ledger import EmbeddedLedger
    from brain.results import Committed, Finding, NotCommitted, Vouched

    from .context import App

LOCAL = "local"
ALL = "all"

Function = TypeVar("Function", bound=Callable[..., Any])


def ledger_option(function: Function) -> Function:
    """Add --ledger to a command."""
    return click.option(
        "--ledger",
        cls=Once,
        type=TextType("bad_ledger"),
        metavar="NAME",
        help="The ledger.  [default: that of the manifest, else local]",
    )(function)


def chain_option(function: Function) -> Function:
    """Add --ledger to a command that is about a ledger on a chain, and about no other."""
    return click.option(
        "--ledger",
        cls=Once,
        type=TextType("bad_ledger"),
        metavar="NAME",
        help="The ledger, on a chain.  [required]",
    )(function)


def folder() -> Path:
    """Return where ledgers keep what is theirs: BRAIN_LEDGERS, else with the user's data."""
    named = os.environ.get("BRAIN_LEDGERS")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("brain") / "ledgers"


def book() -> Path:
    """Return the file of their settings: BRAIN_CONFIG, else with the user's settings."""
    named = os.environ.get("BRAIN_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("brain") / "ledgers.json"


def local() -> EmbeddedLedger:
    """Open the log of this machine."""
    from brain.chain.tlog.ledger import EmbeddedLedger

    return EmbeddedLedger(folder() / LOCAL)


def opened(app: App, name: str) -> Ledger:
    """Open a ledger by its name. Raises `NotFound` (`no_ledger`) or `InvalidInput`."""
    if name == LOCAL:
        return local()
    from . import chains

    return chains.opened(app, name)


def holding(app: App, named: str | None) -> Ledger:
    """Open the ledger that is meant, to look at: on a chain also a log that is anchored there."""
    ledger = chosen(app, named)
    if ledger.name == LOCAL:
        return ledger
    from . import chains

    return chains.holding(app, ledger)


def chosen(app: App, named: str | None) -> Ledger:
    """Open the ledger that is named, else that of the manifest, else the log of this machine."""
    return opened(app, name_of(app, named))


def name_of(app: App, named: str | None) -> str:
    """Return the name of the ledger that is meant."""
    if named:
        return named
    policy = app.brain.commit_policy()
    return policy.ledger if policy else LOCAL


def several(app: App, name: str) -> list[Ledger]:
    """Open the ledger called `name`, or with "all" every one that could hold something."""
    if name != ALL:
        return [holding(app, name)]
    from brain.chain import book as settings

    deployed = [one for one, said in settings.load(book()).items() if said.get("contract")]
    return [holding(app, one) for one in (LOCAL, *sorted(deployed))]


def vouched(ledgers: Sequence[Vouched]) -> Iterator[str]:
    """Say what each ledger vouches for."""
    for one in ledgers:
        name = escape(one.ledger)
        if one.snapshot is None:
            yield f"{name}: no commitment of this brain"
            continue
        behind = f", {count(one.behind, 'snapshot')} behind the head" if one.behind else ""
        yield (
            f"{name}: commitment {one.seq} of {short(one.snapshot)},"
            f" {one.status}, {one.trust_level}{behind}"
        )


def advice(findings: Sequence[Finding]) -> str:
    """Return what to do about what ledgers do not vouch for."""
    if {one.code for one in findings if one.severity == "error"} == {"not_committed"}:
        return "commit it with `brain chain commit`"
    return "see `brain chain status`"


def told(done: Committed) -> Iterator[str]:
    """Say what was committed, and what it cost."""
    covers = "" if done.snapshots is None else f", covers {count(done.snapshots, 'snapshot')}"
    yield (
        f"Committed {short(done.snapshot)} to {escape(done.ledger)} as commitment"
        f" {done.seq}{covers}: {done.status}, {done.trust_level}"
    )
    if done.transaction:
        yield f"Transaction {done.transaction}"
    if done.gas is not None:
        from .prices import ether

        fee = f", {ether(done.fee)}" if done.fee is not None else ""
        yield f"Gas {done.gas:,}{fee}"


def outcome(made: Committed | NotCommitted | None) -> Iterator[str]:
    """Say what became of a commitment that came with a write."""
    if made is None:
        return
    from brain.results import Committed

    if isinstance(made, Committed):
        yield from told(made)


def refuse(made: Committed | NotCommitted | None) -> None:
    """Raise what kept a commitment from being made, once the rest was told."""
    if made is None:
        return
    from brain.errors import BrainError
    from brain.results import NotCommitted

    if isinstance(made, NotCommitted):
        where = "" if made.ledger == "?" else f" to {made.ledger}"
        what = f"not committed{where}: {made.message}"
        raise BrainError(what, code=made.code, hint=made.hint)
