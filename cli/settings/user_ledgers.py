"""The user's ledgers: where they are kept, which one is meant, and what they report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..params import OnceOption, TextType
from ..render.human_format import pluralize, short_id
from ..terminal import escape

if TYPE_CHECKING:
    from brain.chain.ledger_protocol import Ledger
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger
    from brain.results import Committed, Finding, LedgerVerdict, NotCommitted

    from ..context import App

LOCAL_LEDGER = "local"
ALL_LEDGERS = "all"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def ledger_option(function: Decorated) -> Decorated:
    """Add --ledger to a command."""
    return click.option(
        "--ledger",
        cls=OnceOption,
        type=TextType("bad_ledger"),
        metavar="NAME",
        help="The ledger.  [default: that of the manifest, else local]",
    )(function)


def chain_option(function: Decorated) -> Decorated:
    """Add --ledger to a command that is about a ledger on a chain, and about no other."""
    return click.option(
        "--ledger",
        cls=OnceOption,
        type=TextType("bad_ledger"),
        metavar="NAME",
        help="The ledger, on a chain.  [required]",
    )(function)


def ledgers_folder() -> Path:
    """Return where ledgers keep what is theirs: BRAIN_LEDGERS, else with the user's data."""
    name = os.environ.get("BRAIN_LEDGERS")
    if name:
        return Path(name)
    import platformdirs

    return platformdirs.user_data_path("brain") / "ledgers"


def ledger_settings_path() -> Path:
    """Return the file of their settings: BRAIN_CONFIG, else with the user's settings."""
    name = os.environ.get("BRAIN_CONFIG")
    if name:
        return Path(name)
    import platformdirs

    return platformdirs.user_config_path("brain") / "ledgers.json"


def open_local_log() -> EmbeddedLedger:
    """Open the log of this machine."""
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

    return EmbeddedLedger(ledgers_folder() / LOCAL_LEDGER)


def open_ledger(app: App, name: str) -> Ledger:
    """Open a ledger by its name. Raises `NotFound` (`no_ledger`) or `InvalidInput`."""
    if name == LOCAL_LEDGER:
        return open_local_log()
    from . import evm_ledgers

    return evm_ledgers.open_evm_ledger(app, name)


def open_anchoring_ledger(app: App, name: str | None) -> Ledger:
    """Open the ledger that is meant, to look at: on a chain also a log that is anchored there."""
    ledger = open_chosen_ledger(app, name)
    if ledger.name == LOCAL_LEDGER:
        return ledger
    from . import evm_ledgers

    return evm_ledgers.resolve_anchored_log(app, ledger)


def open_chosen_ledger(app: App, name: str | None) -> Ledger:
    """Open the ledger that is named, else that of the manifest, else the log of this machine."""
    return open_ledger(app, resolve_ledger_name(app, name))


def resolve_ledger_name(app: App, name: str | None) -> str:
    """Return the name of the ledger that is meant."""
    if name:
        return name
    policy = app.brain.commit_policy()
    return policy.ledger if policy else LOCAL_LEDGER


def open_ledgers(app: App, name: str) -> list[Ledger]:
    """Open the ledger called `name`, or with "all" every one that could hold something."""
    if name != ALL_LEDGERS:
        return [open_anchoring_ledger(app, name)]
    from brain.chain import ledger_config as settings

    deployed = [
        one
        for one, said in settings.load_ledgers(ledger_settings_path()).items()
        if said.get("contract")
    ]
    return [open_anchoring_ledger(app, one) for one in (LOCAL_LEDGER, *sorted(deployed))]


def verified_ledger_lines(ledgers: Sequence[LedgerVerdict]) -> Iterator[str]:
    """Say what each ledger vouches for."""
    for one in ledgers:
        name = escape(one.ledger)
        if one.snapshot is None:
            yield f"{name}: no commitment of this brain"
            continue
        behind = f", {pluralize(one.behind, 'snapshot')} behind the head" if one.behind else ""
        yield (
            f"{name}: commitment {one.seq} of {short_id(one.snapshot)},"
            f" {one.status}, {one.trust_level}{behind}"
        )


def ledger_advice(findings: Sequence[Finding]) -> str:
    """Return what to do about what ledgers do not vouch for."""
    if {one.code for one in findings if one.severity == "error"} == {"not_committed"}:
        return "commit it with `brain chain commit`"
    return "see `brain chain status`"


def committed_lines(done: Committed) -> Iterator[str]:
    """Say what was committed, and what it cost."""
    covers = "" if done.snapshots is None else f", covers {pluralize(done.snapshots, 'snapshot')}"
    yield (
        f"Committed {short_id(done.snapshot)} to {escape(done.ledger)} as commitment"
        f" {done.seq}{covers}: {done.status}, {done.trust_level}"
    )
    if done.transaction:
        yield f"Transaction {done.transaction}"
    if done.gas is not None:
        from ..render.costs import format_ether

        fee = f", {format_ether(done.fee)}" if done.fee is not None else ""
        yield f"Gas {done.gas:,}{fee}"


def commitment_lines(made: Committed | NotCommitted | None) -> Iterator[str]:
    """Say what became of a commitment that came with a write."""
    if made is None:
        return
    from brain.results import Committed

    if isinstance(made, Committed):
        yield from committed_lines(made)


def raise_if_not_committed(made: Committed | NotCommitted | None) -> None:
    """Raise what kept a commitment from being made, once the rest was told."""
    if made is None:
        return
    from brain.errors import BrainError
    from brain.results import NotCommitted

    if isinstance(made, NotCommitted):
        where = "" if made.ledger == "?" else f" to {made.ledger}"
        what = f"not committed{where}: {made.message}"
        raise BrainError(what, code=made.code, hint=made.hint)
