"""The commands of `brain chain` for evidence and log checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from brain.errors import VerificationFailed

from ..chosen_ledger import open_anchoring_ledger
from ..command import (
    CHECK_EXITS,
    argument,
    brain_command,
    exit_statuses,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import CONFLICT, LOCKED, NO_BRAIN, VERIFICATION_FAILED
from ..options import evidence_options, ledger_option, output_option, revision_argument
from ..output import emit, emit_file
from ..params import CountType, TextType
from ..render.human_format import format_size, pluralize
from ..settings.user_ledgers import open_local_log
from ..terminal import escape
from ..user_files import named_in_errors, open_content, read_input, write_output_file

if TYPE_CHECKING:
    from brain.chain.tlog.checkpoint_comparison import ComparedCheckpoint
    from brain.chain.tlog.checkpoints import Cosignature
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger


@brain_command(
    "evidence",
    examples=(
        "brain chain evidence -o evidence.json",
        "brain chain evidence @~2 --path skills/reentrancy/SKILL.md --ledger sepolia -o e.json",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, NO_BRAIN, CONFLICT),
)
@revision_argument
@option(
    "--path",
    type=TextType("bad_path"),
    metavar="PATH",
    help="Also prove that the snapshot has this file, with its content.",
)
@ledger_option
@output_option("the evidence")
def chain_evidence_command(
    app: App, rev: str | None, path: str | None, ledger: str | None, output: str | None
) -> None:
    """Write evidence of a commitment to a file.

    The file proves the path from the snapshot, or a file in it, to the signature of the
    ledger or a block of a chain; `brain verify FILE` and `python -m brain.chain.check`
    need nothing else. A snapshot without a commitment is proven by the next commitment.
    """
    data = app.brain.ledger.build_evidence(
        open_anchoring_ledger(app, ledger), rev or "@", path or ""
    )
    from brain import check_evidence

    note = (
        f"Evidence in {escape(output or '')}, {format_size(len(data))}\n"
        "To verify it, one must know the block hash or the key of the log from another source."
    )
    found = check_evidence(data, in_store=app.brain.history.has)
    emit_file(app, found, "evidence", data, output, note)


@brain_command(
    "check",
    examples=(
        "brain chain check evidence.json --content SKILL.md",
        "brain chain check evidence.json --block-hash 0x9f86d081884c7d65",
    ),
    exits=CHECK_EXITS,
)
@argument("file", type=TextType("bad_path"))
@evidence_options
def chain_check_command(app: App, file: str, **known: Any) -> None:
    """Verify evidence without a brain or a node.

    'brain verify FILE' does the same, for other files, too.

    FILE is the output of `brain chain evidence`; - is standard input. Prints what the
    evidence proves, its trust level, and what you still have to know to rely on it. Ids
    must be complete; a shortened block hash leaves something to know.

    Anybody can make a file that is consistent. Exit status 4 says that nothing you know
    vouches for this one: give --block-hash, --log-key, --witness or, of evidence of a file,
    --snapshot; --owner and --brain vouch for nothing. A brain of yours that you name with
    -C vouches as --snapshot does, if it has the snapshot. `python -m brain.chain.check`
    looks into no brain, and starts faster.
    """
    from brain.limits import MAX_EVIDENCE_BYTES

    check_evidence_file(app, file, read_input(file, MAX_EVIDENCE_BYTES, "the evidence"), **known)


def check_evidence_file(
    app: App,
    file: str,
    data: bytes,
    *,
    content: str | None,
    witnesses: tuple[str, ...],
    **known: str | None,
) -> None:
    """Verify the evidence `data` of a file, with what the user knows, and report it."""
    from brain import check_evidence
    from brain.chain.evidence import evidence_report

    expected: dict[str, Any] = {name: value or "" for name, value in known.items()}
    with open_content(content) as source, named_in_errors(file):
        found = check_evidence(
            data, content=source, witnesses=witnesses, in_store=app.has_snapshot, **expected
        )
    emit(app, found, evidence_report.render_text(found).splitlines())
    if not found.ok:
        raise evidence_report.not_vouched_error()


_MAX_NOTE_BYTES = 1 << 20


@brain_command(
    "checkpoint",
    examples=(
        "brain chain checkpoint -o checkpoint.txt",
        "brain chain checkpoint --since 120 --json",
        "brain chain checkpoint --compare theirs.txt",
        "brain chain checkpoint --cosigned checkpoint.txt --witness KEY",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, LOCKED),
)
@option(
    "--since",
    type=CountType(),
    metavar="SIZE",
    help="Also prove that the log only appended since it had this size.",
)
@option(
    "--compare",
    metavar="FILE",
    help="Compare the log with this checkpoint of it, kept elsewhere.",
    type=None,
)
@option(
    "--cosigned",
    metavar="FILE",
    help="Store the signatures that witnesses added to this checkpoint.",
    type=None,
)
@repeated_option(
    "--witness",
    "witnesses",
    type=TextType("bad_key"),
    metavar="KEY",
    help="The verifier key of a witness whose signature to store; repeatable.",
)
@option("-o", "--output", metavar="FILE", help="Write it to FILE, too.", type=None)
def chain_checkpoint_command(
    app: App,
    since: int | None,
    compare: str | None,
    cosigned: str | None,
    witnesses: tuple[str, ...],
    output: str | None,
) -> None:
    """Print a checkpoint of the log of this machine.

    A checkpoint (C2SP tlog-checkpoint) is the signed size and root hash of the log. It
    binds you once others have it: publish it, have witnesses cosign it, or anchor it in
    a chain with `brain chain batch`. --compare needs no network: the log holds that
    checkpoint, or it was rolled back or forked since, which is an error.
    """
    if (cosigned is None) != (not witnesses):
        raise click.UsageError("--cosigned and --witness require each other.")
    if since is not None and compare is not None:
        raise click.UsageError("--since and --compare exclude each other.")
    with open_local_log() as log:
        added: Sequence[Cosignature] = ()
        if cosigned is not None:
            added = log.add_cosignature(_read_note(cosigned), witnesses)
        text = log.checkpoint()
        size = _checkpoint_size(text)
        compared = None if compare is None else _compare(log, compare)
        path = None if since is None else [step.hex() for step in log.consistency(since, size)]
        key = log.key
    if output is not None:
        write_output_file(output, text.encode())
    document = {
        "key": key,
        "size": size,
        "checkpoint": text,
        "since": since,
        "path": path,
        "cosigned": [one.key.name for one in added],
        "compared": None if compared is None else _compared_fields(compared),
        "file": output,
    }
    if compared is None:
        emit(app, document, _checkpoint_lines(text, key, added, path))
        return
    emit(app, document, _compared_lines(compared, size))
    _refuse_contradiction(compared, size)


def _read_note(file: str) -> str:
    return read_input(file, _MAX_NOTE_BYTES, "the checkpoint").decode("utf-8", "replace")


def _compare(log: EmbeddedLedger, file: str) -> ComparedCheckpoint:
    from brain.chain.tlog.checkpoint_comparison import compare_checkpoint

    with named_in_errors(file):
        return compare_checkpoint(log, _read_note(file))


def _compared_fields(compared: ComparedCheckpoint) -> dict[str, Any]:
    path = None if compared.path is None else [step.hex() for step in compared.path]
    return {**compared._asdict(), "path": path}


def _compared_lines(compared: ComparedCheckpoint, size: int) -> Iterator[str]:
    match compared.relation:
        case "same":
            yield f"Same: it is the last checkpoint of this log, size {size:,}"
        case "behind":
            yield f"Behind: this log extends it, from size {compared.size:,} to {size:,}"
            yield "Consistency proof:"
            yield from (step.hex() for step in compared.path or ())
        case "ahead":
            yield f"Ahead: it has size {compared.size:,}, and this log {size:,}"
        case _:
            yield f"Forked: this log signed another root of size {compared.size:,}:"
            yield (compared.own or "").rstrip("\n")


def _refuse_contradiction(compared: ComparedCheckpoint, size: int) -> None:
    """Raise `VerificationFailed` (`rolled_back`, `log_forked`) for a log that lost a checkpoint."""
    if compared.relation == "ahead":
        raise VerificationFailed(
            f"the log signed a checkpoint of {compared.size} entries, and now has {size}",
            code="rolled_back",
            hint="restore the folder of the log from a backup that is not older",
        )
    if compared.relation == "forked":
        raise VerificationFailed(
            f"the log signed two different roots of its first {compared.size} entries",
            code="log_forked",
            hint="keep both checkpoints: they prove that the log shows two histories",
        )


def _checkpoint_size(text: str) -> int:
    from brain.chain.tlog import checkpoints, signed_note

    return checkpoints.parse_checkpoint(signed_note.parse_note(text).text).size


def _checkpoint_lines(
    text: str, key: str, added: Sequence[Cosignature], path: list[str] | None
) -> Iterator[str]:
    yield text.rstrip("\n")
    yield ""
    yield f"Key of the log: {escape(key)}"
    if added:
        names = ", ".join(escape(one.key.name) for one in added)
        yield f"Stored {pluralize(len(added), 'cosignature')}: {names}"
    if path is not None:
        yield "Consistency proof since that size:"
        yield from path
