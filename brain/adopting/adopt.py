"""Adoption: the home of another program becomes a brain, or comes into one.

In place, the brain is made around the home, and program and brain share the files. Into
another folder, the home is copied, each file where a brain has it; the copy is a branch of
its own, merged into the current one, so that adopting again brings in what changed since,
and what was learned in the brain meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from ..actions.importing import Source
from ..brain import Brain
from ..digest import blob_id
from ..errors import InvalidInput, printable
from ..results import Adopted, Imported, MergeConflict, Placed
from ..skills.slug import fold
from . import around, ignoring
from .ignoring import admitted, leaves_out
from .making import NOBODY, Owner, all_or_nothing, is_brain, opened_or_made, refuse_others
from .manifests import with_manifest
from .protocol import File, Found, Notice, Step, Taker, Taking
from .returning import as_recorded, go_on_from, returning
from .takers import detect


def adopt(
    path: Path,
    into: Path | None = None,
    kind: str | None = None,
    allow: Collection[str] = (),
    owner: Owner = NOBODY,
) -> Adopted:
    """Take in what is at `path`: in place, or into the brain at `into`, new or not.

    `kind` says what it is, where that is not clear. Files with secrets are left out, but for
    findings whose ids `allow` has. If that fails, no brain is where none was. Raises
    `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`, `nothing_to_take`,
    `not_in_place`, `into_source`, `not_empty`) or what recording and merging raise.
    """
    taker, found = _found(path, into, kind)
    if into is None:
        return _in_place(taker, found, allow, owner)
    folder = into.absolute()
    if is_brain(folder):
        with opened_or_made(folder, owner) as brain:
            since = brain.last_import(source_of(found).branch)
            return _copied(brain, found, _taking(taker, found, since, allow, folder))
    taking = _begun(found, _taking(taker, found, None, allow, folder))
    with all_or_nothing(folder), opened_or_made(folder, owner) as brain:
        return _copied(brain, found, taking)


def look(
    path: Path, into: Path | None = None, kind: str | None = None, allow: Collection[str] = ()
) -> Adopted:
    """Return what `adopt` would take and leave out; nothing is written.

    Raises as it does, but for `nothing_to_take`.
    """
    taker, found = _found(path, into, kind)
    if into is None:
        taking = taker.take(found, None, allow)
        steps = _read_through(taking.steps)
        _, taking = _around(found, taking)
        return _told(found, None, taking, steps)
    taking = _taking(taker, found, None, allow, into.absolute())
    return _told(found, into, taking, _read_through(taking.steps))


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
    if into is not None:
        refuse_others(into.absolute())
    return taker, found


def _taking(
    taker: Taker, found: Found, since: str | None, allow: Collection[str], into: Path
) -> Taking:
    """Read a source for the brain at `into`, there or not."""
    taking = taker.take(found, since, allow)
    return taking._replace(steps=admitted(into, taking))


def _begun(found: Found, taking: Taking) -> Taking:
    """Read on to the first file; what a source refuses or lacks at once is found out by that."""
    passed: list[Step] = []
    for step in taking.steps:
        files = iter(step.files)
        seen: list[tuple[str, File | None]] = []
        for path, file in files:
            seen.append((path, file))
            if file is not None:
                first = step._replace(files=chain(seen, files))
                return taking._replace(steps=chain(passed, (first,), taking.steps))
        passed.append(step._replace(files=seen))
    raise _nothing(found)


def _nothing(found: Found) -> InvalidInput:
    return InvalidInput(
        f"there is nothing to take from {found.kind} at {printable(found.path)}",
        code="nothing_to_take",
        hint="see with --dry-run what is left out, and why",
    )


def _read_through(steps: Iterator[Step]) -> int:
    """Go through all states; return how many there are."""
    count = 0
    for step in steps:
        count += 1
        for _ in step.files:
            pass
    return count


def _copied(brain: Brain, found: Found, taking: Taking) -> Adopted:
    source = source_of(found)
    known = returning(brain, found)
    if known is not None:
        go_on_from(brain, source.branch, known.snapshot)
    is_new = next(brain.log(limit=1)).operation["kind"] == "genesis"
    steps = taking.steps
    if known is not None:
        steps = as_recorded(brain, found.path, known, steps, taking)
    if is_new:
        steps = with_manifest(brain, found.kind, steps)
    done = brain.import_steps(source, steps)
    taking.left.extend(done.left)
    head = brain.head
    merged = brain.merge(done.branch, message=f"Adopt {source.name}")
    there = {info.path for info in brain.files(done.branch)}
    placed = {path: home for path, home in taking.placed.items() if path in there}
    changed = brain.head != head
    taking = taking._replace(placed=placed)
    return _told(found, brain.root, taking, done.steps, brain, done, changed, merged.conflicts)


def _in_place(taker: Taker, found: Found, allow: Collection[str], owner: Owner) -> Adopted:
    home = found.home or found.path
    taking = taker.take(found, None, allow)
    _read_through(taking.steps)
    rules, expected = _around(found, taking)
    if not expected.placed and not is_brain(home):
        raise _nothing(found)
    with all_or_nothing(home, partial(around.put_back, home, rules)):
        around.prepare(home, found.kind, rules, owner.name)
        with opened_or_made(home, owner) as brain:
            done = brain.import_folder(source_of(found), f"Adopt {found.kind} in place")
            taking = _as_in_place(taking, rules, {info.path for info in brain.files()})
            return _told(found, None, taking, done.steps, brain, None, bool(done.steps))


def _around(found: Found, taking: Taking) -> tuple[around.Rules, Taking]:
    """Return the rules for a brain around a home, and what it would hold by them."""
    home = found.home or found.path
    rules = around.rules_of(home, found.kind, taking)
    return rules, _as_in_place(taking, rules, around.files_of(home, rules))


def _as_in_place(taking: Taking, rules: around.Rules, there: set[str]) -> Taking:
    """Return what was taken as what is there, and what was left out as what is not."""
    homes = taking.placed.values()
    ignored = [path for path in homes if path not in there and leaves_out(rules.ignore, path)]
    left = [row for row in taking.left if row.path not in there | around.OWN]
    left += [Notice(ignoring.CODE, path, ignoring.WHY) for path in sorted(ignored)]
    placed = {path: path for path in there - around.OWN}
    return taking._replace(left=left, placed=placed)


def _told(
    found: Found,
    into: Path | None,
    taking: Taking,
    steps: int,
    brain: Brain | None = None,
    done: Imported | None = None,
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
        done.branch if done else None,
        steps,
        changed,
        [Placed(path, source) for path, source in sorted(taking.placed.items())],
        taking.left,
        conflicts or [],
        brain.doubtful_names(sorted(taking.placed)) if brain and not conflicts else [],
    )
