"""Commands that others rely on: verify, prove, sign."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain.digest import is_hex_digest
from brain.errors import (
    BrainError,
    InvalidInput,
    NotFound,
    NotVouched,
    VerificationFailed,
    printable_text,
)
from brain.limits import MAX_RECEIPT_BYTES
from brain.results.text_format import coverage_lines

from ..chosen_ledger import open_ledgers
from ..command import (
    OVERWRITE_EXITS,
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import NO_BRAIN, NOT_VOUCHED, VERIFICATION_FAILED
from ..options import (
    no_record_option,
    output_option,
    revision_argument,
    revision_option,
    signing_options,
)
from ..output import emit, emit_file
from ..params import NonEmptyType, TextType
from ..render.changes import FILE_TYPE_NAMES
from ..render.human_format import align_columns, colorize, format_size, pluralize, short_id
from ..render.ledgers import ledger_advice, verified_ledger_lines
from ..settings import user_keys
from ..settings.user_keys import signing_advice
from ..settings.user_ledgers import LOCAL_LEDGER, MAX_NOTE_BYTES, open_local_log
from ..terminal import ProgressBar, escape
from ..trust_changes import pin_and_report_roots
from ..user_files import named_in_errors, open_content, read_input

if TYPE_CHECKING:
    from brain.results import Finding, Proof, ReceiptVerified, Signature, Verified


_KNOWN = NonEmptyType()
_SIGNATURE_CODES = {"unsigned", "below_threshold", "unknown_key", "expired_rights", "revoked_key"}
_SIGNATURE_CODES |= {"forged_author"}


@brain_command(
    "verify",
    examples=(
        "brain verify",
        "brain verify --deep --json",
        "brain verify --require-signatures --root auditor",
        "brain verify --brain ID --snapshot ID",
        "brain verify --ledger local --compare checkpoint.txt",
        "brain verify proof.json --content SKILL.md --snapshot ID",
        "brain verify @~2",
    ),
    exits=exit_statuses(VERIFICATION_FAILED, NOT_VOUCHED, NO_BRAIN),
)
@argument("file", metavar="[FILE|REV]", required=False, type=NonEmptyType())
@flag("--deep", help="Read and hash the content of every file again.")
@flag(
    "--require-signatures",
    help="Require a signature of every snapshot since the trust file was added.",
)
@repeated_option(
    "--root",
    "roots",
    type=TextType("bad_key"),
    metavar="KEY",
    help="A key that must have signed the first trust file; repeatable."
    " It is pinned if no key is pinned yet.",
)
@option(
    "--ledger",
    type=TextType("bad_ledger"),
    metavar="NAME",
    help="Also verify against this ledger, or against `all`.",
)
@option(
    "--compare",
    type=NonEmptyType(),
    metavar="FILE",
    help="With --ledger local: compare the log with this checkpoint of it, kept elsewhere.",
)
@option("--content", metavar="FILE", help="Compare this file with the proven content.", type=None)
@option(
    "--snapshot",
    type=_KNOWN,
    metavar="ID",
    help="Require this snapshot; of the brain: behind its head.",
)
@option("--brain", type=_KNOWN, metavar="ID", help="Require this brain.")
@option(
    "--ancestor",
    type=_KNOWN,
    metavar="ID",
    help="Of a proof of descent: require this ancestor.",
)
@option(
    "--block-hash",
    type=_KNOWN,
    metavar="HASH",
    help="Require this block hash, or one that begins with these 16 digits or more.",
)
@option(
    "--owner",
    type=_KNOWN,
    metavar="ADDRESS",
    help="Require this owner of the brain, or of the anchor of the log.",
)
@option("--log-key", type=_KNOWN, metavar="KEY", help="Require this key of the log.")
@repeated_option(
    "--witness",
    "witnesses",
    type=_KNOWN,
    metavar="KEY",
    help="Require a signature of this witness; repeatable.",
)
@option(
    "--require",
    type=click.Choice(("L1", "L2", "L3")),
    help="Require this trust level, or a higher one.",
)
@flag("--run", help="Run the programs of the cases of a verdict again.")
def verify_command(app: App, file: str | None, **options: Any) -> None:
    """Verify the brain or a file.

    Verifies the lineage back to its first snapshot: that objects hash to their ids, trees are
    canonical, all parents lead to one genesis, versions only increase, and, if there is a trust
    file, that trusted keys signed each snapshot. The root keys that are pinned for this brain
    ('brain key roots') are required too. Any error ends with exit status 3; warnings and notes
    do not.

    Names who signed, and what in the folder the head does not have, or has otherwise:
    nothing vouches for that, nor for what .brainignore leaves out. Anybody can make a
    brain that is signed, so --require-signatures ends with exit status 4 unless you have
    pinned a root key, or name one with --root.

    FILE is a proof, evidence, a receipt or a verdict; - is standard input. Of a receipt, and of
    the receipt that REV carries, it verifies that snapshots of the lineage carry each part of
    the run, in order, and that each changed exactly the files that its steps wrote, with the
    same contents and versions. A verdict is verified as by 'brain evolve recheck'.

    Of a proof or evidence, which need no brain, it prints what the file shows, and of which
    snapshot. Anybody can make a file that is consistent. Exit status 4 says that nothing you
    know vouches for this one: give --snapshot or, of evidence, --block-hash, --log-key or
    --witness, from a signature, a ledger or a person you trust. A brain of yours that you name
    with -C vouches as --snapshot does, if it has the snapshot; --owner vouches for nothing, and
    --brain only for where a fork comes from. Ids must be complete; a shortened block hash
    leaves something to know. --content is the file that is proven; of a link, its target.
    --block-hash and the options after it, up to --require, are for evidence alone.
    """
    if file is None:
        chosen = _require_options("the brain", options, _BRAIN_OPTIONS)
        _verify_brain(app, **chosen)
    else:
        _verify_file(app, file, options)


_BRAIN_OPTIONS = ("deep", "require_signatures", "roots", "ledger", "compare", "snapshot", "brain")
_PROOF_OPTIONS = ("content", "snapshot", "brain")
_FILE_OPTIONS = {
    "evidence": (
        *(*_PROOF_OPTIONS, "block_hash", "owner"),
        *("log_key", "witnesses", "require"),
    ),
    "receipt": (),
    "verdict": ("run",),
    "proof": (*_PROOF_OPTIONS, "ancestor"),
}
"""Kind of file to its options. Evidence holds proofs, so the kinds are looked for in this order."""


def _verify_file(app: App, file: str, options: dict[str, Any]) -> None:
    if file != "-" and not os.path.lexists(file) and _is_revision(app, file):
        _require_options("receipt", options, ())
        _report_receipt(app, app.brain.receipts.verify(file))
        return
    if os.path.isdir(file):
        raise InvalidInput(
            f"{printable_text(file)} is a folder",
            code="is_a_folder",
            hint=f"to verify the brain in it, run `brain -C {shlex.quote(file)} verify`",
        )
    data = read_input(file, MAX_RECEIPT_BYTES, "the file to verify")
    kind = next((kind for kind in _FILE_OPTIONS if _has_format(data, kind)), "")
    if _has_format(data, "equivocation"):
        raise InvalidInput(
            f"{printable_text(file)} is a proof of equivocation, which is verified no more",
            code="unsupported_version",
            hint="a brain that has both snapshots shows it: `brain verify` warns of them",
        )
    if not kind:
        raise InvalidInput(
            f"{printable_text(file)} is not a proof, evidence, a receipt or a verdict",
            code="unknown_file",
            hint="`brain prove`, `brain chain evidence` and `brain show --run -o FILE` write"
            " what can be verified; without FILE, the brain is verified",
        )
    chosen = _require_options(kind, options, _FILE_OPTIONS[kind])
    match kind:
        case "evidence":
            _check_evidence(app, file, data, **chosen)
        case "receipt":
            with named_in_errors(file):
                found = app.brain.receipts.verify_file(data)
            _report_receipt(app, found)
        case "verdict":
            _verify_verdict(app, file, data, **chosen)
        case _:
            check_proof_file(app, file, data, **chosen)


def _is_revision(app: App, name: str) -> bool:
    try:
        app.brain.history.resolve(name)
    except BrainError:
        return False
    return True


def _report_receipt(app: App, found: ReceiptVerified) -> None:
    emit(app, found, _receipt_lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        hint = "do not rely on it; `brain verify` checks the brain itself"
        if any(one.code == "not_carried" for one in found.findings):
            hint = "write the receipt of a snapshot to a file with `brain show --run REV -o FILE`"
        raise VerificationFailed(f"the receipt is invalid: {pluralize(errors, 'error')}", hint=hint)


def _receipt_lines(found: ReceiptVerified) -> Iterator[str]:
    yield from map(finding_line, found.findings)
    if found.ok:
        yield (
            f"Verified {pluralize(found.steps, 'step')} and {pluralize(found.writes, 'write')} in"
            f" {pluralize(len(found.snapshots), 'snapshot')} of run {short_id(found.run)}"
        )


def _check_evidence(
    app: App,
    file: str,
    data: bytes,
    *,
    content: str | None,
    witnesses: tuple[str, ...],
    **known: str | None,
) -> None:
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


def _verify_verdict(app: App, file: str, data: bytes, *, run: bool) -> None:
    from brain.digest import blob_id

    from .evolve.recheck import recheck_decision

    try:
        recheck_decision(app, blob_id(data).hex(), run=run)
    except NotFound as error:
        if error.code != "no_revision":
            raise
        raise NotFound(
            f"this brain does not hold the verdict in {printable_text(file)}, nor its cases",
            code="no_verdict",
            hint="name the brain that has it with -C; `brain why SKILL` lists its decisions",
        ) from error


def _has_format(data: bytes, kind: str) -> bool:
    return re.search(rb'"format"\s*:\s*"brain v1 %s"' % kind.encode(), data) is not None


def _require_options(what: str, options: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of `what`. Raises `click.UsageError` if another is given.

    Raises `InvalidInput` (`bad_id`) for a shortened id.
    """
    for name in options.keys() - set(known):
        if options[name]:
            shown = {"roots": "root", "witnesses": "witness"}.get(name, name).replace("_", "-")
            article = {"the brain": "", "evidence": ""}.get(what, "a ")
            raise click.UsageError(f"--{shown} does not apply to {article}{what}.")
    for name in ("snapshot", "brain", "ancestor"):
        if (id := options[name]) and not is_hex_digest(id):
            raise InvalidInput(
                f"--{name} needs a whole id of 64 lower-case hex digits, not {printable_text(id)}",
                code="bad_id",
                hint="others can make an id with the same first digits; --json shows whole ones",
            )
    return {name: options[name] for name in known}


def _verify_brain(
    app: App,
    *,
    deep: bool,
    require_signatures: bool,
    roots: tuple[str, ...],
    ledger: str | None,
    compare: str | None,
    snapshot: str | None,
    brain: str | None,
) -> None:
    from brain import Brain

    if compare is not None and ledger != LOCAL_LEDGER:
        raise click.UsageError("--compare needs --ledger local.")
    kept = [] if compare is None else [read_input(compare, MAX_NOTE_BYTES, "the checkpoint")]

    root_keys = [user_keys.resolve_root_key(root, lambda: app.brain) for root in roots]
    with ProgressBar(app) as bar:
        found = Brain.verify_folder(
            app.brain_folder(),
            deep,
            bar,
            require_signatures=require_signatures,
            roots=root_keys,
            pinned_roots=app.pinned_roots,
        )
    found = _require_known(app, found, snapshot, brain)
    if found.ok and roots:
        pin_and_report_roots(app, app.brain, root_keys)
    hint = "" if found.ok else _verification_advice(app, found.findings)
    if ledger and found.head:
        ledgers = open_ledgers(app, ledger)
        if kept:
            ledgers = [open_local_log([note.decode("utf-8", "replace") for note in kept])]
        found = app.brain.ledger.extend(found, ledgers)
        hint = hint or ledger_advice(found.findings)
    lines = list(_verification_lines(found))
    if snapshot and found.ok:
        how = "is" if found.head == snapshot else "descends from"
        lines.append(f"The head {how} the snapshot that you named.")
    emit(app, found, lines)
    if {one.code for one in found.findings if one.severity == "error"} == {NotVouched.code}:
        raise NotVouched(
            "no root key is pinned, and nothing that you know vouches for the signatures",
            hint="name a root key that you know from elsewhere, as in `brain verify --root KEY`",
        )
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"verification found {pluralize(errors, 'error')}", hint=f"nothing was changed; {hint}"
        )


def _require_known(app: App, found: Verified, snapshot: str | None, brain: str | None) -> Verified:
    """Add the errors that the head does not have `snapshot` behind it, or is not of `brain`."""
    from brain.results import Finding

    wrong = []
    if brain and found.head and found.brain != brain:
        wrong.append(("not_this_brain", f"this is the brain {found.brain}, not {brain}"))
    if snapshot and found.head:
        try:
            descends = app.brain.history.check_ancestry(snapshot, found.head).descends
            problem = f"the head {found.head} does not descend from {snapshot}"
        except BrainError as error:
            descends, problem = False, error.message
        if not descends:
            wrong.append(("not_this_snapshot", problem))
    findings = [Finding(code, "error", "", "", message) for code, message in wrong]
    return found._replace(ok=found.ok and not wrong, findings=[*found.findings, *findings])


def _verification_advice(app: App, findings: list[Finding]) -> str:
    wrong = {one.code for one in findings if one.severity == "error"}
    if wrong <= {"not_this_brain", "not_this_snapshot"}:
        return "compare the id, or name another brain with -C"
    if wrong <= {"other_roots", "before_trust", "bad_trust"} | _SIGNATURE_CODES:
        if "other_roots" in wrong:
            return f"see which keys are pinned with `{app.command_prefix} key roots`"
        if "before_trust" in wrong:
            return "switch to the branch that has the trust file, or merge it"
        if "bad_trust" in wrong:
            return f"restore the last valid trust file with `{app.command_prefix} key repair`"
    if "bad_roots" in wrong:
        return "repair the file of pinned root keys, or delete it and pin the keys again"
    if wrong == {"wrong_cache"}:
        return f"rebuild the cache with `{app.command_prefix} doctor --repair`"
    if not wrong <= _SIGNATURE_CODES:
        return "restore the folder .brain from a copy that `brain verify` finds whole"
    if "forged_author" in wrong:
        return (
            f"do not trust it, or have the authors it names run `{app.command_prefix} sign --all`"
        )
    if not app.brain.trust.show().keys:
        return (
            "name the keys that may sign with `brain key trust KEY --as NAME`, or do not trust it"
        )
    head = app.brain.trust.show()
    is_head = {one.snapshot for one in findings if one.severity == "error"} == {head.snapshot}
    signed = [one.key for one in app.brain.signatures.list()] if is_head else []
    advice = signing_advice(head, f"{app.command_prefix} sign --all", signed)
    return f"do not trust it, or, after a review, {advice}"


def _is_edit_note(finding: Finding) -> bool:
    """Tell whether a finding is about a manual edit, which need not raise the version."""
    return (finding.code, finding.severity) == ("version_not_raised", "note")


def _verification_lines(found: Verified) -> Iterator[str]:
    stale = [one for one in found.findings if _is_edit_note(one)]
    for one in found.findings:
        if not _is_edit_note(one):
            yield finding_line(one)
    if stale:
        skills = pluralize(len({one.path for one in stale}), "skill")
        yield (
            f"note: {pluralize(len(stale), 'edit')} of {skills} did not raise the version;"
            " --json lists them"
        )
    if found.ok:
        yield (
            f"Verified {pluralize(found.snapshots, 'snapshot')} and"
            f" {pluralize(found.objects, 'object')} from {short_id(found.head)}"
            f" back to {short_id(found.brain)}"
        )
    yield from verified_ledger_lines(found.ledgers)
    if found.ok:
        yield f"Trust level {found.trust_level}"
    yield from map(escape, coverage_lines(found))


@brain_command(
    "prove",
    examples=(
        "brain prove skills/oracle-manipulation/SKILL.md -o proof.json",
        "brain prove skills/ --rev @~3 -o proof.json",
        "brain prove --ancestor 1f0c2a -o proof.json",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("path", metavar="[PATH]", required=False, type=TextType("bad_path"))
@option("--ancestor", metavar="REV", help="Prove that the snapshot descends from this one.")
@revision_option("The snapshot the proof is about.")
@no_record_option
@output_option("the proof")
def prove_command(
    app: App,
    path: str | None,
    ancestor: str | None,
    rev: str | None,
    output: str | None,
) -> None:
    """Write a proof for others.

    The proof is one file that `brain verify FILE` verifies without the brain. A PATH that
    ends with / is a top-level folder, proven as a whole (./ means the files at the top).
    The proof of a path names no other file; docs/SECURITY.md says what it reveals. Edits of
    the folder are recorded first.
    """
    if (path is None) == (ancestor is None):
        raise click.UsageError("Give either PATH or --ancestor.")
    app.record_edits(rev=rev)
    from brain import check_proof

    proofs, at = app.brain.proofs, rev or "@"
    if path is None:
        data = proofs.prove_descent(ancestor or "", at)
    elif path.endswith("/"):
        data = proofs.prove_section(path.removesuffix("/"), at)
    else:
        data = proofs.prove_file(path, at)

    found = check_proof(data, in_store=app.brain.history.has)
    note = (
        f"Proof in {escape(output or '')}, {format_size(len(data))}: {claim_text(found)}\n"
        f"Snapshot {found.snapshot}\n"
        "To verify it, one must know that id: from you, a signature or a ledger."
    )
    emit_file(app, found, "proof", data, output, note)


def check_proof_file(
    app: App,
    file: str,
    data: bytes,
    *,
    content: str | None,
    snapshot: str | None,
    brain: str | None,
    ancestor: str | None,
) -> None:
    """Verify the proof `data` of a file, with what the user knows, and report it."""
    from brain import check_proof

    ids = {"snapshot": snapshot or "", "brain": brain or "", "ancestor": ancestor or ""}
    with open_content(content) as source, named_in_errors(file):
        found = check_proof(data, content=source, in_store=app.has_snapshot, **ids)
    emit(app, found, _checked_proof_lines(found, content is not None))
    if not found.ok:
        raise NotVouched(
            "nothing that you know vouches for it",
            hint="name the snapshot that you know, from a signature, a ledger or a person you"
            " trust, with --snapshot, or a brain of yours that has it, as in"
            " `brain -C DIR verify FILE`",
        )


def _checked_proof_lines(found: Proof, compared: bool) -> Iterator[str]:
    if not found.ok:
        yield NotVouched.SENTENCE
    yield f"{'Proven' if found.ok else 'It says'}: {claim_text(found)}"
    if compared:
        yield "The content is the one proven."
    yield from proof_id_lines(found)
    yield from proof_caveat_lines(found)


@brain_command(
    "sign",
    examples=("brain sign", "brain sign @~1 --key work", "brain sign --all --key work"),
    exits=OVERWRITE_EXITS,
)
@revision_argument
@flag("--all", "every", help="Sign REV and its ancestors that lack signatures.")
@signing_options
@no_record_option
def sign_command(
    app: App, rev: str | None, every: bool, own: str | None, passphrase_file: str | None
) -> None:
    """Sign snapshots.

    With one of your keys. REV is by default the head. --all signs every snapshot of the lineage
    that has fewer signatures than the trust file requires, if your key may sign it; review
    'brain log' first. With BRAIN_SIGN_KEY or 'brain config sign', every new snapshot is signed
    when it is recorded.
    """
    seed = user_keys.load_private_key(user_keys.require_signing_key(own), passphrase_file)
    app.sign_with = lambda: seed
    app.record_edits(rev=rev)
    if every:
        signed = app.brain.signatures.sign_missing(rev or "@", key=seed)
        emit(app, {"signatures": signed}, _signature_lines(signed))
    else:
        made = app.brain.signatures.sign(rev or "@", key=seed)
        emit(app, made, _signature_lines([made]))


def _signature_lines(made: list[Signature]) -> Iterator[str]:
    for one in made:
        yield f"{short_id(one.snapshot)} signed by {one.key}"
    if not made:
        yield "No snapshot lacks a signature of this key"


_SEVERITY_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def finding_line(found: Finding) -> str:
    """Return a finding as one line."""
    parts = [
        colorize(found.severity, _SEVERITY_COLORS[found.severity]),
        found.code,
        *([f"snapshot {short_id(found.snapshot)}"] if found.snapshot else []),
        *([escape(found.path)] if found.path else []),
    ]
    return f"{': '.join(parts)}: {escape(found.message)}"


_ID_FIELDS = ("blob", "root", "ancestor", "ancestor_brain", "bundle", "snapshot", "brain")


def claim_text(proof: Proof) -> str:
    """Describe what the proof shows."""
    if proof.kind == "path":
        kind = FILE_TYPE_NAMES[proof.type or "file"]
        claim = f"{proof.path} is in the snapshot, {kind} of {format_size(proof.size or 0)}"
    elif proof.kind == "section":
        name = "the section ." if proof.section == "." else f"{proof.section}/"
        files = pluralize(proof.files or 0, "file")
        claim = f"{name} is in the snapshot, {files}, {format_size(proof.size or 0)}"
    elif proof.ancestor_brain != proof.brain:
        claim = "the snapshot descends from the ancestor, which is of another brain"
    elif proof.ancestor != proof.snapshot:
        claim = "the snapshot descends from the ancestor"
    else:
        claim = "the snapshot is the ancestor itself"
    return escape(claim)


def proof_id_lines(proof: Proof) -> list[str]:
    """Return the ids in the proof, complete."""
    rows = ((name.replace("_", "'s "), getattr(proof, name)) for name in _ID_FIELDS)
    return align_columns((name, value) for name, value in rows if value)


def proof_caveat_lines(proof: Proof) -> Iterator[str]:
    """Say from where the reader knows the snapshot, and what that does not show."""
    if "snapshot" in proof.vouched_by:
        yield "It is about the snapshot you named."
    elif "brain" in proof.vouched_by and proof.snapshot != proof.brain:
        yield "The brain you named does; nothing that you know vouches for this snapshot of it."
    elif "own_store" in proof.vouched_by:
        yield "The brain you named with -C has the snapshot, which counts if it is yours."
