"""Proposals: what an agent changed beside the current branch, until a person takes it over.

A proposal is a branch `proposed/NAME`. It is written without touching the folder or the
head, merged by the id of a snapshot, so that what was looked at is what comes in, and
rejected by removing its branch. What is written to it after a look is not part of that
look: it stays open and is asked about again.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import Conflict, InvalidInput, NotFound, printable
from ..objects import ancestry
from ..objects.lineage import first_parents
from ..results import Merged, Proposal, SnapshotInfo
from ..session import Session, head_ref
from ..store.protocol import Store
from . import branches, diffs, lineage_cache, merging, midst, unshown
from .files import Progress, no_progress
from .history import info
from .revisions import resolve
from .turn import locked, log_operation, transaction
from .within import Within

PREFIX = branches.PROPOSALS.removeprefix(head_ref(""))


class Proposing(Session):
    """A session that reads and writes a proposal, and has no folder.

    Until the proposal holds what the current branch lacks, it stands where that stands.
    """

    has_folder = False

    def __init__(self, root: Path, store: Store, name: str, author: str = "") -> None:
        super().__init__(root, store, author)
        self._name = branches.check_name(PREFIX + name)
        self._judged: tuple[bytes, bytes] = (b"", b"")
        self._open = False

    def branch(self) -> str:
        """Return the branch of the proposal."""
        return self._name

    def head(self) -> bytes:
        """Return where the proposal stands.

        Raises `Conflict` (`proposal_is_current`) while somebody works on its branch.
        """
        current = super().branch()
        if current == self._name:
            raise Conflict(
                f"{self._name} is the current branch, so nothing is proposed to it now",
                code="proposal_is_current",
                hint="somebody looks at it: wait for `brain switch` to another branch",
            )
        base = self._standing(current)
        tip = self.reader.ref(head_ref(self._name))
        return tip if tip is not None and self._is_open(tip, base) else base

    def base(self) -> bytes:
        """Return the last snapshot that the proposal and the current branch have in common."""
        return _shared(self, self._standing(super().branch()), self.head())

    def _is_open(self, tip: bytes, base: bytes) -> bool:
        if self._judged != (tip, base):
            self._open = tip not in Within(self, base)
            self._judged = tip, base
        return self._open


def proposals(session: Session) -> list[Proposal]:
    """Return the proposals that hold what the current branch lacks, by name."""
    inside = Within(session, session.head())
    return [
        _described(session, name.removeprefix(branches.PROPOSALS), tip)
        for name, tip in session.reader.refs().items()
        if _is_proposal(name) and name != head_ref(session.branch()) and tip not in inside
    ]


def proposal(session: Session, text: str) -> Proposal:
    """Return the open proposal of a name, or up to the snapshot of an id, which `accept` takes.

    An id comes before a name: a client may have named itself after one. Raises `NotFound`.
    """
    found = _named(session, text)
    asked = text.removeprefix(PREFIX) != found
    return _described(session, found, resolve(session, text) if asked else _tip(session, found))


def accept(
    session: Session,
    text: str,
    message: str = "",
    progress: Progress = no_progress,
    also_unshown: bool = False,
) -> Merged:
    """Merge a snapshot of a proposal, given by its id, into the current branch.

    If the session has a key, the snapshots that come in, and no others, are signed where
    too few have; after conflicts by `go_on`. Content that no patch shows comes in only if
    it is `also_unshown`. Raises `InvalidInput` (`not_an_id`, `not_shown`), `NotFound`
    (`no_proposal`), or as `merging.merge`.
    """
    if session.reader.ref(head_ref(text)) is not None or not set(text) <= _HEX:
        raise InvalidInput(
            f"{printable(text, 80)} is not the id of a snapshot",
            code="not_an_id",
            hint="give the id that was looked at: a name may lead elsewhere by now",
        )
    try:
        at = resolve(session, text)
    except NotFound as error:
        error.hint = "see `brain proposal list`"
        raise
    _named(session, at.hex())
    head = session.head()
    if not also_unshown:
        unshown.refuse(session, diffs.between(session, _shared(session, head, at).hex(), at.hex()))
    done = merging.merge(session, at.hex(), None, message, progress, _ACCEPT)
    _sign(session, at, Within(session, head))
    return done


def go_on(session: Session, progress: Progress = no_progress) -> Merged:
    """Finish the merge that waits; if it accepts a proposal, as `accept` does.

    Raises `NotFound` (`no_proposal`) if that was rejected since, or as `merging.go_on`.
    """
    waiting = midst.load(session)
    if waiting is None or waiting.by != _ACCEPT:
        return merging.go_on(session, progress)
    if _holding(session, waiting.theirs) is None:
        raise NotFound(
            "what waits to be accepted is proposed no more",
            code="no_proposal",
            hint="give it up with `brain merge --abort`",
        )
    head = session.head()
    done = merging.go_on(session, progress)
    _sign(session, waiting.theirs, Within(session, head))
    return done


def _sign(session: Session, accepted: bytes, before: Within) -> None:
    """Sign what came in with a snapshot, if it did and there is a key."""
    if session.sign_with is not None and accepted in Within(session, session.head()):
        from .unsigned import sign_all

        sign_all(session, accepted.hex(), session.sign_with(), before)


def reject(session: Session, text: str) -> Proposal:
    """Remove the branch of a proposal; `undo` brings it back. Raises `NotFound`."""
    with locked(session), transaction(session) as tx:
        named = _named(session, text)
        found = _described(session, named, _tip(session, named))
        ref, tip = branches.PROPOSALS + found.name, bytes.fromhex(found.snapshot)
        tx.set_ref(ref, tip, None)
        log_operation(session, tx, "branch", f"reject {PREFIX}{found.name}", [(ref, tip, b"")])
    return found


_HEX = frozenset("0123456789abcdef")
_ACCEPT = "accept"


def _is_proposal(ref: str) -> bool:
    return ref.startswith(branches.PROPOSALS)


def _tip(session: Session, name: str) -> bytes:
    tip = session.reader.ref(branches.PROPOSALS + name)
    if tip is None:
        raise _unknown(name)
    return tip


def _named(session: Session, text: str) -> str:
    """Return the name of the open proposal that `text` names, or that holds that snapshot."""
    inside = Within(session, session.head())
    name = "" if _is_snapshot(session, text) else text.removeprefix(PREFIX)
    tip = session.reader.ref(branches.PROPOSALS + name) if name else None
    if tip is not None and tip not in inside:
        return name
    at = resolve(session, text) if text and set(text) <= _HEX else None
    found = _holding(session, at) if at and at not in inside else None
    if found is None:
        raise _unknown(text)
    return found


def _holding(session: Session, at: bytes) -> str | None:
    """Return the name of a proposal that holds a snapshot, None if none does."""
    held = (
        ref.removeprefix(branches.PROPOSALS)
        for ref, tip in session.reader.refs().items()
        if _is_proposal(ref) and at in Within(session, tip)
    )
    return next(held, None)


def _is_snapshot(session: Session, text: str) -> bool:
    """Tell whether a text is the id of a snapshot, after which a client may have named itself."""
    if not text or not set(text) <= _HEX:
        return False
    try:
        return bool(resolve(session, text))
    except (InvalidInput, NotFound):
        return False


def _unknown(text: str) -> NotFound:
    return NotFound(
        f"no open proposal {printable(text, 80)}",
        code="no_proposal",
        hint="see `brain proposal list`",
    )


def _described(session: Session, name: str, tip: bytes) -> Proposal:
    base = _shared(session, session.head(), tip)
    made = _since(session, base, tip)
    changed = diffs.between(session, base.hex(), tip.hex())
    return Proposal(name, tip.hex(), base.hex(), made, changed.changes, changed.skills)


def _shared(session: Session, head: bytes, tip: bytes) -> bytes:
    bases = ancestry.merge_bases(session.load, lineage_cache.merges(session), head, tip)
    return bases[0] if bases else session.brain_id()


def _since(session: Session, base: bytes, tip: bytes) -> list[SnapshotInfo]:
    """Return the snapshots of a proposal, newest first."""
    inside = Within(session, base)
    found = []
    for snapshot_id, snapshot in first_parents(session.load, tip):
        if snapshot_id in inside:
            break
        found.append(info(snapshot_id, snapshot))
    return found
