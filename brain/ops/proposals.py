"""Proposals: branches `proposed/NAME` that a person reviews and accepts or rejects.

A proposal is written without changing the folder or the head. It is accepted by the id of
the reviewed snapshot, so that only what was reviewed is merged; later snapshots of the
proposal stay open. It is rejected by deleting its branch; the operation log has the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from pathlib import Path

from ..digest import is_hex
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..limits import MAX_EDIT_BYTES, MAX_MESSAGE_BYTES
from ..merging import lines
from ..named_tuple import NamedTuple
from ..objects.bundle import Edits
from ..objects.lineage import walk_first_parents
from ..objects.operation import merge_operation
from ..objects.tree_node import LINK, TreeEntry
from ..repo import lineage_cache
from ..repo.derive import may_be_skill
from ..repo.find_skill import Skills
from ..repo.lineage_cache import AncestorSet
from ..repo.log_entry import ACCEPT_COMMAND, MergeState, decode_log_entry
from ..repo.secrets import mask_recorded_message, scan_edits
from ..repo.session import BrainState, Session, head_ref, validate_text
from ..repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    log_operation,
    store_transaction,
)
from ..repo.working_copy import BlobBatch
from ..results import Hunk, Merged, Proposal, Rejection
from ..skills.slug import slugify
from ..store.reader import StoreReader
from ..store.writer import open_store_or_readonly
from ..util.progress import Progress
from ..util.utc_time import utc_time
from . import branches, merge_state

_SESSION_SUFFIX = re.compile("-[0-9a-f]{6}$")
"""The suffix that a session adds to the name of its client in its branch."""
PROPOSAL_BRANCH_PREFIX = branches.PROPOSAL_REF_PREFIX.removeprefix(head_ref(""))
_REJECT, _REASON = f"reject {PROPOSAL_BRANCH_PREFIX}", ": "
"""What comes before the name, and the reason, in the description of a rejection."""
_MAX_READ_OPERATIONS = 200

Edit = Callable[[dict[str, bytes]], Mapping[str, bytes]]
"""Gets the proposed texts by path, and returns those that are accepted instead."""


class ProposalSession(Session):
    """A session that works on a proposal, without a folder.

    Its head is the head of the folder until the proposal has a snapshot that this lacks.
    """

    has_folder = False

    def __init__(self, root: Path, store: StoreReader, name: str, author: str = "") -> None:
        super().__init__(root, store, author)
        self.proposal = name
        self._branch_name = branches.check_branch_name(PROPOSAL_BRANCH_PREFIX + name)
        self._checked_refs: tuple[bytes, bytes] = (b"", b"")
        self._was_open = False

    def current_branch(self) -> str:
        """Return the branch of the proposal."""
        return self._branch_name

    def head(self) -> bytes:
        """Return the tip of the proposal, or the head of the folder if that has all of it.

        Raises `Conflict` (`proposal_is_current`) while the folder is on its branch.
        """
        if super().current_branch() == self._branch_name:
            raise Conflict(
                f"{self._branch_name} is the current branch, so nothing can be proposed on it",
                code="proposal_is_current",
                hint="wait until somebody switches to another branch with `brain switch`",
            )
        folder_head = self.folder_head()
        tip = self.reader.read_ref(head_ref(self._branch_name))
        return tip if tip is not None and self._is_open(tip, folder_head) else folder_head

    def base(self) -> bytes:
        """Return the last snapshot that the proposal and the current branch have in common."""
        return _find_merge_base(self, self.folder_head(), self.head())

    def _is_open(self, tip: bytes, base: bytes) -> bool:
        if self._checked_refs != (tip, base):
            self._was_open = tip not in AncestorSet(self, base)
            self._checked_refs = tip, base
        return self._was_open


def open_proposal(
    here: Session,
    name: str,
    author: str = "",
    own_programs: set[bytes] | frozenset[bytes] | None = None,
) -> ProposalSession:
    """Open the brain of a session again, as it reads and changes within a proposal.

    `own_programs` gets the ids of the programs that are admitted there. Raises `InvalidInput`
    (`bad_branch`) or `StoreError`.
    """
    store = open_store_or_readonly(here.control_folder)
    try:
        session = ProposalSession(here.root, store, name, author)
        session.pinned_roots_provider = here.pinned_roots_provider
        session.own_programs = set() if own_programs is None else own_programs
        return session
    except BaseException:
        store.close()
        raise


def list_proposals(
    session: Session, limit: int | None = None, *, newest_first: bool = False
) -> list[Proposal]:
    """Return the proposals with changes that the current branch lacks, at most `limit`.

    They are sorted by name, or by the time of their last snapshot.
    """
    tips = list(list_reviewable_tips(session).items())
    if newest_first:
        tips.sort(key=lambda one: -session.load_snapshot(one[1]).time)
    return [_describe_proposal(session, *one) for one in tips[:limit]]


def list_names(session: Session) -> list[str]:
    """Return the names of all that `list_proposals` describes, which takes longer."""
    return list(list_reviewable_tips(session))


def list_reviewable_tips(session: Session) -> dict[str, bytes]:
    """Return the open tips by name, without that of the current branch."""
    current = session.current_branch().removeprefix(PROPOSAL_BRANCH_PREFIX)
    return {name: tip for name, tip in list_open_tips(session).items() if name != current}


def list_open_tips(session: Session) -> dict[str, bytes]:
    """Return the tips of proposals that the head lacks, by name."""
    merged = AncestorSet(session, session.head())
    return {
        name: tip for name, tip in branches.list_proposal_tips(session).items() if tip not in merged
    }


def find_proposal(session: Session, name: str) -> Proposal:
    """Return an open proposal: all of it by its name, or up to the snapshot of an id.

    An id comes before a name. Raises `NotFound` (`no_proposal`).
    """
    found, _, wanted = _resolve_proposal(session, name)
    return _describe_proposal(session, found, wanted)


def list_hunks(session: Session, name: str) -> Iterator[Hunk]:
    """Yield the changes of an open proposal as `accept` takes them one by one; `name` as `find`.

    Their numbers hold for that snapshot until an earlier one of the proposal is accepted. Raises
    `NotFound` (`no_proposal`).
    """
    from . import diff

    _, _, tip = _resolve_proposal(session, name)
    base = _find_merge_base(session, session.head(), tip)
    return diff.list_hunks(session, diff.diff(session, base.hex(), tip.hex()))


def accept_proposal(
    session: Session,
    snapshot: str,
    message: str = "",
    progress: Progress | None = None,
    *,
    include_undiffable: bool = False,
    skills: Sequence[str] = (),
    hunks: Sequence[int] = (),
    edit: Edit | None = None,
) -> Merged:
    """Merge a proposal up to one snapshot, given by its full id: the one that was reviewed.

    With `skills` or `hunks` (numbers of `list_hunks`), only these changes are merged; the others
    stay proposed. `edit` gets the proposed texts by path, and returns those that are accepted
    instead; they are a snapshot of the session's author after those of the proposer.
    With conflicts, nothing is merged: they are in the result, and in the status until
    `merge.resume` or `merge.abort`.

    If the session has a key, the accepted snapshots are signed where signatures are missing;
    after conflicts, `merge.resume` signs. Files that `history.find_undiffable` names need
    `include_undiffable`. Raises `InvalidInput` (`not_an_id`, `not_shown`, and as `upsert` for an
    edited skill), `NotFound` (`no_proposal`, `no_skill`, `no_hunk`, `not_proposed`), or as
    `merge.start`.
    """
    from . import diff
    from .merge import begin_merge, find_approver

    is_branch = session.reader.read_ref(head_ref(snapshot)) is not None
    if is_branch or (snapshot and not is_hex(snapshot)):
        raise InvalidInput(
            f"{printable_text(snapshot, 80)} is not the id of a snapshot",
            code="not_an_id",
            hint="give the id that was reviewed: the proposal of a name may have changed since",
        )
    try:
        tip = session.resolve(snapshot)
    except NotFound as error:
        error.hint = "see `brain proposal list`"
        raise
    name, _, _ = _resolve_proposal(session, tip.hex())
    merge_state.refuse_during_merge(session)
    base = _find_merge_base(session, session.head(), tip)
    whole = diff.diff(session, base.hex(), tip.hex())
    edits, texts = diff.choose_hunks(session, whole, hunks) if hunks else ({}, {})
    edits.update(_list_edits_of(session, base, tip, skills))
    if not skills and not hunks:
        edits = {path: now for path, _, now in session.state_of(base).diff(session.state_of(tip))}
    texts = {path: text for path, text in texts.items() if path not in edits}
    if not include_undiffable:
        paths = {*edits, *texts}
        shown = [one for one in whole.changes if one.path in paths or one.from_path in paths]
        diff.refuse_undiffable(session, whole._replace(changes=shown))
    number = len(set(hunks))
    parts = [*skills, *([f"{number} hunk{'s' * (number > 1)}"] if hunks else [])]
    what = f"{', '.join(parts)} of the proposal {name}" if parts else f"the proposal {name}"
    request = MergeState(tip, snapshot, session.current_branch(), message, (), ACCEPT_COMMAND)
    approver = find_approver(session, request)  # who made any of it accepts no part of it
    last = session.reader.read_ref(branches.PROPOSAL_REF_PREFIX + name) or tip
    known = _find_merge_base(session, session.head(), last)  # has the parts accepted before
    if known != base:
        wanted, settled = session.state_of(last), session.state_of(known)
        for path in {*edits, *texts}:
            if wanted.get(path) == settled.get(path):  # nothing of it is still proposed
                edits.pop(path, None)
                texts.pop(path, None)
        if not edits and not texts and wanted.id != settled.id:
            raise NotFound(
                "all of this was accepted before",
                code="not_proposed",
                hint=f"`brain proposal show {name}` shows what is still proposed",
            )
        edits, texts = _add_to_accepted(session, base, known, edits, texts)
        rest = {path: wanted.get(path) for path in texts}
        is_all = settled.edit({**edits, **rest}).id == wanted.id and all(
            entry is not None and session.reader.read_blob(entry.blob) == texts[path]
            for path, entry in rest.items()
        )
        if is_all:  # nothing stays proposed
            tip, edits, texts = last, {**edits, **rest}, {}
    accepted = session.state_of(known).edit(edits).id
    is_whole = not texts and accepted == session.state_of(tip).id
    part = _Part(name, what, known, tip, is_whole, edits, texts, {}, approver)
    if edit is not None:
        part = part._replace(edited=_edit_texts(session, part, edit))
    prepare = None if is_whole and not part.edited else partial(_record_part, part)
    merged = begin_merge(
        *(session, tip.hex(), message or f"Accept {what}", ACCEPT_COMMAND, lambda _: None),
        progress,
        prepare,
    )
    after = session.at()
    typed = {path: after.get(path) for path in part.edited if merged.changed}
    return merged._replace(
        notices=[*merged.notices, *scan_edits(session, session.head(), typed, {})]
    )


class _Part(NamedTuple):
    """What is accepted of a proposal: all or some of its changes, maybe edited.

    `edits` are taken as they are; of the files of `texts` these are, which have some of their
    hunks. `edited` has the texts that the `approver` edited, as they were
    and are.
    """

    name: str
    what: str
    base: bytes
    tip: bytes
    is_whole: bool
    edits: Edits
    texts: dict[str, bytes]
    edited: dict[str, tuple[bytes, bytes]]
    approver: str


def _add_to_accepted(
    session: Session, base: bytes, known: bytes, edits: Edits, texts: dict[str, bytes]
) -> tuple[Edits, dict[str, bytes]]:
    """Return edits and texts on top of `known`, which has some, given those on top of `base`."""

    def read(entry: TreeEntry | None) -> bytes | None:
        if entry is None or entry.kind == LINK or entry.size > MAX_EDIT_BYTES:
            return None
        text = session.reader.read_blob(entry.blob, entry.size)
        return None if lines.is_binary(text) else text

    before, after = session.state_of(base), session.state_of(known)
    edits, texts = dict(edits), dict(texts)
    for path in [*edits, *texts]:
        had, has = before.get(path), after.get(path)
        ours, entry = read(has), edits.get(path)
        wanted = texts[path] if path in texts else read(entry)
        if had != has and ours is not None and wanted is not None:
            edits.pop(path, None)
            texts[path] = _follow_edit(ours, read(had) or b"", wanted)
            if entry is not None and texts[path] == wanted:
                edits[path] = entry
                del texts[path]
    return edits, texts


def _edit_texts(session: Session, part: _Part, edit: Edit) -> dict[str, tuple[bytes, bytes]]:
    """Return the texts that `edit` changed, each as it was and is."""
    from ..skills.skill_lint import find_refusal

    proposed = dict(part.texts)
    for path, entry in part.edits.items():
        if entry is not None and entry.kind != LINK and entry.size <= MAX_EDIT_BYTES:
            text = session.reader.read_blob(entry.blob, entry.size)
            if not lines.is_binary(text):
                proposed[path] = text
    if not proposed:
        raise InvalidInput(
            f"there is no text to edit in {part.what}",
            code="no_text",
            hint="accept it without an edit, or name another skill",
        )
    edited = {path: text for path, text in edit(proposed).items() if text != proposed.get(path)}
    for path in edited.keys() - proposed.keys():
        raise NotFound(
            f"{printable_text(path)} is no text of {part.what}",
            code="not_proposed",
            hint=f"these are: {', '.join(map(printable_text, sorted(proposed)))}",
        )
    for path in filter(may_be_skill, edited):
        if problem := find_refusal(path, edited[path]):
            raise InvalidInput(
                f"{printable_text(path)}, line {problem.line}: {problem.message}",
                code="bad_yaml",
                hint="edit the proposed text again, and keep its front matter valid",
            )
    return {path: (proposed[path], text) for path, text in edited.items()}


def _record_part(part: _Part, txn: WriteTransaction) -> bytes:
    """Record what is accepted as snapshots of its own; return the last, which is to be merged.

    The part is by the proposer, and descends from the base alone, so that nothing else is merged
    with it; what was edited is by the approver. The proposal merges both, so that the rest stays
    proposed. Nothing is signed before it is merged.
    """
    session, head, ref = txn.session, txn.head, branches.PROPOSAL_REF_PREFIX + part.name
    last = session.reader.read_ref(ref) or part.tip

    def record(parent: bytes, edits: Edits, verb: str, author: str, *merged: bytes) -> bytes:
        txn.move_head(parent)
        return txn.record_snapshot(
            edits,
            merge_operation([common], []) if merged else ("snapshot",),
            f"Keep the rest of the proposal {part.name}" if merged else f"{verb} {part.what}",
            merged=merged,
            author=author,
            is_external=True,
        )

    def store(texts: Mapping[str, bytes], state: BrainState) -> Edits:
        batch = BlobBatch(session)
        entries = {path: entry for path in texts if (entry := state.get(path))}
        edits: Edits = {
            path: entry._replace(blob=batch.add(path, texts[path]), size=len(texts[path]))
            for path, entry in entries.items()
        }
        batch.store(txn.store_tx)
        return edits

    sign_with, session.sign_with = session.sign_with, None
    try:
        proposed, rest = session.state_of(part.tip), session.state_of(last)
        common = accepted = part.tip
        if not part.is_whole:
            common, edits = part.base, {**part.edits, **store(part.texts, proposed)}
            accepted = record(common, edits, "Propose", _find_proposer(session, part))
        if part.edited:
            texts = {path: text for path, (_, text) in part.edited.items()}
            accepted = record(accepted, store(texts, proposed), "Edit", part.approver)
        tip = accepted
        if not part.is_whole or last != part.tip:
            followed = {
                path: _follow_edit(session.reader.read_blob(entry.blob), *both)
                for path, both in part.edited.items()
                if (entry := rest.get(path)) and entry.kind != LINK
            }
            tip = record(last, store(followed, rest), "", "", accepted)
    finally:
        session.sign_with = sign_with
        txn.move_head(head)
    txn.store_tx.update_ref(ref, last, tip)
    txn.other_refs.append((ref, last, tip))
    return accepted


def _follow_edit(rest: bytes, proposed: bytes, edited: bytes) -> bytes:
    """Return the text of a proposal with what was edited in the accepted part of it."""
    base, ours, theirs = map(lines.split_lines, (proposed, rest, edited))
    return lines.join_settled(lines.merge_lines(base, ours, theirs), lambda hunk: hunk.ours)


def _find_proposer(session: Session, part: _Part) -> str:
    before = AncestorSet(session, part.base)
    lineage = walk_first_parents(session.load_snapshot, part.tip)
    made = [one for _, one in takewhile(lambda pair: pair[0] not in before, lineage)]
    return next((one for one in made if one.receipt), made[-1]).author


def _list_edits_of(session: Session, base: bytes, tip: bytes, skills: Sequence[str]) -> Edits:
    """Return the edits from `base` to `tip` in some skills, also under their former names.

    The path of a changed file means that file.
    """
    from .diff import diff

    before, after = Skills(session.state_of(base)), Skills(session.state_of(tip))
    renamed = [row for row in diff(session, base.hex(), tip.hex()).skills if row.from_slug]
    changes = {path: now for path, _, now in before.state.diff(after.state)}
    edits: Edits = {}
    for text in skills:
        if text in changes:
            edits[text] = changes[text]
            continue
        names = {text}
        for row in renamed:
            if slugify(text) in (row.slug, row.from_slug):
                names |= {row.slug, row.from_slug or ""}
        found = [
            (side, skill) for side in (before, after) for one in names
            if (skill := side.find_or_none(one)) is not None
        ]  # fmt: skip
        if not found:
            raise after.missing_error(text)
        paths = {entry.path for side, skill in found for entry in side.entries(skill)}
        both = {path: (before.state.get(path), after.state.get(path)) for path in paths}
        changed = {path: now for path, (was, now) in both.items() if was != now}
        if not changed:
            raise NotFound(
                f"the proposal does not change {printable_text(text, 80)}",
                code="not_proposed",
                hint="`brain proposal show` lists what it changes",
            )
        edits.update(changed)
    return edits


def reject_proposal(session: Session, name: str, message: str = "") -> Proposal:
    """Delete a proposal for the reason `message`; `undo` restores it.

    Secrets in the reason are masked. Raises `NotFound` (`no_proposal`) or `InvalidInput`
    (`too_large`).
    """
    message = mask_recorded_message(session, validate_text(message, MAX_MESSAGE_BYTES, "message"))
    with lock_for_writing(session), store_transaction(session) as tx:
        name, tip, _ = _resolve_proposal(session, name)
        proposal = _describe_proposal(session, name, tip)
        ref = branches.PROPOSAL_REF_PREFIX + name
        tx.update_ref(ref, tip, None)
        description = f"{_REJECT}{name}{message and _REASON + message}"
        log_operation(session, tx, "branch", description, [(ref, tip, b"")])
    return proposal


def list_rejections(session: Session, name: str) -> list[Rejection]:
    """Return the last rejections of a proposal, or of all sessions of a client, newest first.

    There are none of a proposal that is there again, or that was rejected more than
    `_MAX_READ_OPERATIONS` operations ago.
    """
    refs = session.reader.list_refs()
    found: dict[str, Rejection] = {}
    if branches.PROPOSAL_REF_PREFIX + name in refs:
        return []
    for row in islice(session.reader.stream_operations(), _MAX_READ_OPERATIONS):
        entry = decode_log_entry(row)
        if entry.kind != "branch" or not entry.description.startswith(_REJECT):
            continue
        ((ref, tip, _),) = entry.refs
        its_name = ref.removeprefix(branches.PROPOSAL_REF_PREFIX)
        if name in (its_name, _SESSION_SUFFIX.sub("", its_name)) and ref not in refs:
            message = entry.description.removeprefix(_REJECT + its_name).removeprefix(_REASON)
            rejection = Rejection(its_name, tip.hex(), utc_time(entry.time), entry.author, message)
            found.setdefault(its_name, rejection)
    return list(found.values())


def _resolve_proposal(session: Session, name_or_id: str) -> tuple[str, bytes, bytes]:
    """Return the name and the tip of an open proposal, and the snapshot that is meant.

    That is the tip if it is named, else the one of an id. An id comes before a name, since a
    client may have named itself after an id. The name of a client means its only session with an
    open proposal. Raises `InvalidInput` (`ambiguous_proposal`) for several, or `NotFound`.
    """
    tips = list_open_tips(session)
    name = name_or_id.removeprefix(PROPOSAL_BRANCH_PREFIX)
    try:
        wanted = session.resolve(name_or_id) if is_hex(name_or_id) else None
    except (InvalidInput, NotFound):
        if name not in tips and all(_SESSION_SUFFIX.sub("", one) != name for one in tips):
            raise
        wanted = None
    if wanted is None:
        found = [one for one in tips if _SESSION_SUFFIX.sub("", one) == name]
        if name in tips:
            found = [name]
        if len(found) > 1:
            raise InvalidInput(
                f"{printable_text(name, 80)} may be any of: {', '.join(found)}",
                code="ambiguous_proposal",
                hint="name one of them, or an id",
            )
    else:
        known = AncestorSet(session, session.head())
        found = [one for one, tip in tips.items() if tip == wanted]
        if not found and wanted not in known:
            own = partial(_walk_own, session, known)
            found = [one for one, tip in tips.items() if wanted in own(tip)]
    if not found:
        raise NotFound(
            f"there is no open proposal {printable_text(name_or_id, 80)}",
            code="no_proposal",
            hint="`brain proposal list` lists them",
        )
    tip = tips[found[0]]
    return found[0], tip, wanted or tip


def _walk_own(session: Session, known: AncestorSet, tip: bytes) -> Iterator[bytes]:
    """Yield the snapshots of a proposal that are not known."""
    seen, waiting = {tip}, [tip]
    while waiting:
        here = waiting.pop()
        yield here
        for parent in session.load_snapshot(here).parents:
            if parent not in seen and parent not in known:
                seen.add(parent)
                waiting.append(parent)


def _describe_proposal(session: Session, name: str, tip: bytes) -> Proposal:
    from .diff import diff
    from .log import signer_finder, snapshot_info

    base = _find_merge_base(session, session.head(), tip)
    before = AncestorSet(session, base)
    snapshots = walk_first_parents(session.load_snapshot, tip)
    new = takewhile(lambda pair: pair[0] not in before, snapshots)
    find_signers = signer_finder(session)
    changed = diff(session, base.hex(), tip.hex())
    return Proposal(
        name=name,
        snapshot=tip.hex(),
        base=base.hex(),
        made=[snapshot_info(session, here, one, find_signers(here)) for here, one in new],
        changes=changed.changes,
        skills=changed.skills,
    )


def _find_merge_base(session: Session, head: bytes, tip: bytes) -> bytes:
    from ..objects import lineage

    bases = lineage.find_merge_bases(
        session.load_snapshot, lineage_cache.list_merges(session), head, tip
    )
    return bases[0] if bases else session.brain_id()
