"""Adoption: the home of another program becomes a brain, or comes into one.

In place, the brain is made around the home, and program and brain share the files. Into
another folder, the home is copied, each file where a brain has it; the copy is a branch of
its own, merged into the current one, so that adopting again brings in what changed since,
and what was learned in the brain meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..actions.importing import Source
from ..brain import Brain
from ..digest import blob_id
from ..errors import InvalidInput, printable
from ..results import Adopted, MergeConflict, Placed
from ..session import CONTROL
from ..skills.slug import fold
from . import around
from .ignoring import outside_rules
from .manifests import with_manifest
from .protocol import Found, Taker, Taking
from .returning import as_recorded, go_on_from, record_of
from .takers import detect

if TYPE_CHECKING:
    from ..actions.duty import Open as OpenLedger
    from ..session import SignWith


class Owner(NamedTuple):
    """Whose brain it is or becomes: as for `Brain.init` and `Brain.open`."""

    name: str = ""
    author: str = ""
    sign_with: SignWith | None = None
    ledgers: OpenLedger | None = None


NOBODY = Owner()


def adopt(
    path: Path,
    into: Path | None = None,
    kind: str | None = None,
    allow: Collection[str] = (),
    owner: Owner = NOBODY,
) -> Adopted:
    """Take in what is at `path`: in place, or into the brain at `into`, new or not.

    `kind` says what it is, where that is not clear. Files with secrets are left out, but for
    findings whose ids `allow` has. Raises `InvalidInput` (`no_source`, `unknown_source`,
    `ambiguous_source`, `not_in_place`, `into_source`) or what recording and merging raise.
    """
    taker, found = _found(path, into, kind)
    if into is None:
        return _in_place(taker, found, allow, owner)
    with _opened(into.absolute(), owner) as brain:
        return _copied(brain, taker, found, allow)


def look(
    path: Path, into: Path | None = None, kind: str | None = None, allow: Collection[str] = ()
) -> Adopted:
    """Return what `adopt` would take and leave out; nothing is written. Raises as it does."""
    taker, found = _found(path, into, kind)
    taking = taker.take(found, None, allow)
    steps = 0
    for step in taking.steps:
        steps += 1
        for _ in step.files:
            pass
    return _told(found, into, taking, steps)


def source_of(found: Found) -> Source:
    """Return the name of a source, and its branch, which no other folder has."""
    name = fold(found.path.name) or found.kind
    place = blob_id(str(found.path.resolve()).encode("utf-8", "surrogateescape")).hex()[:8]
    return Source(found.kind, name, f"adopted/{found.kind}-{name[:64]}-{place}")


def _found(path: Path, into: Path | None, kind: str | None) -> tuple[Taker, Found]:
    path = path.absolute()
    taker, found = detect(path, kind)
    if into is None and found.home is None:
        raise InvalidInput(
            f"no brain can be made around {printable(path)}, as {found.kind}",
            code="not_in_place",
            hint="name a folder for a brain of its own, after the first one",
        )
    if into is not None and into.resolve().is_relative_to(path.resolve()):
        raise InvalidInput(
            f"{printable(into)} lies in what is to be adopted",
            code="into_source",
            hint="name a folder outside of it, or none to make the brain around it",
        )
    return taker, found


def _opened(folder: Path, owner: Owner) -> Brain:
    """Open the brain in a folder, or make one of it if it is empty or not there."""
    if (folder / CONTROL / "store.db").is_file():
        return Brain.open(
            folder, author=owner.author, sign_with=owner.sign_with, ledgers=owner.ledgers
        )
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidInput(
            f"{printable(folder)} holds files and is no brain",
            code="not_empty",
            hint="name a new folder, or make a brain of this one first with `brain init`",
        )
    return Brain.init(folder, name=owner.name, author=owner.author, sign_with=owner.sign_with)


def _copied(brain: Brain, taker: Taker, found: Found, allow: Collection[str]) -> Adopted:
    source = source_of(found)
    record = record_of(brain, found)
    if record is not None:
        go_on_from(brain, source.branch, record)
    is_new = next(brain.log(limit=1)).operation["kind"] == "genesis"
    taking = taker.take(found, brain.last_import(source.branch), allow)
    steps = outside_rules(brain.root, taking)
    if record is not None:
        steps = as_recorded(brain, found.path, record, steps, taking)
    if is_new:
        steps = with_manifest(brain, found.kind, steps)
    done = brain.import_steps(source, steps)
    taking.left.extend(done.left)
    head = brain.head
    merged = brain.merge(done.branch, message=f"Adopt {source.name}")
    return _told(
        found,
        brain.root,
        taking,
        done.steps,
        brain,
        done.branch,
        brain.head != head,
        merged.conflicts,
    )


def _in_place(taker: Taker, found: Found, allow: Collection[str], owner: Owner) -> Adopted:
    taking = taker.take(found, None, allow)
    for step in taking.steps:
        for _ in step.files:
            pass
    home = found.home or found.path
    taking = taking._replace(placed={path: path for path in taking.placed.values()})
    around.prepare(home, found.kind, taking, owner.name)
    is_new = not (home / CONTROL / "store.db").is_file()
    maker = Brain.init if is_new else Brain.open
    with maker(home, author=owner.author, sign_with=owner.sign_with) as brain:
        done = brain.import_folder(source_of(found), f"Adopt {found.kind} in place")
        return _told(found, None, taking, done.steps, brain, None, bool(done.steps))


def _told(
    found: Found,
    into: Path | None,
    taking: Taking,
    steps: int,
    brain: Brain | None = None,
    branch: str | None = None,
    changed: bool = False,
    conflicts: list[MergeConflict] | None = None,
) -> Adopted:
    return Adopted(
        brain.id if brain else None,
        brain.head if brain else None,
        str(brain.root if brain else into or found.path),
        found.kind,
        str(found.path),
        into is None,
        branch,
        steps,
        changed,
        [Placed(path, source) for path, source in sorted(taking.placed.items())],
        taking.left,
        conflicts or [],
    )
