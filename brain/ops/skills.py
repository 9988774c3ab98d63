"""List skills, view one with its text or its files, and check those of the folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from .. import limits
from ..digest import blob_id
from ..errors import NotFound, printable_text
from ..gating.case_paths import is_case_path, is_hidden_case
from ..objects.collisions import find_file, follow_link, resolve_links
from ..objects.tree_node import LINK, TreeEntry
from ..repo import derive
from ..repo.find_skill import FoundSkill, Skills
from ..repo.session import BrainState, Session
from ..results import Skill, SkillFile, SkillProblem, SkillView
from ..skills import frontmatter
from ..skills.skill_layout import address_group, split_version
from ..skills.skill_metadata import encode_skill_metadata, read_skill_metadata

_MAX_NAMED_FILES = 20
_MAX_LINKED_FILES = 200


def list_skills(session: Session, rev: str = "@") -> list[Skill]:
    """Return all skills at a revision, by slug and path, without reading bodies."""
    every = Skills(session.at(rev)).all()
    addresses = derive.address_all(found.path for found in every)
    lines = [
        Skill(*found.summary, addresses[found.path], found.card.is_user_only) for found in every
    ]
    return sorted(lines, key=lambda line: (line.slug, line.path))


def find_addresses(session: Session, slug: str, rev: str = "@") -> list[str]:
    """Return the addresses of the skills that share a slug, sorted."""
    return sorted(address_group(slug, Skills(session.at(rev)).paths_with_slug(slug)).values())


def _find_skill_version(session: Session, text: str, revision: str) -> tuple[bytes, FoundSkill]:
    skill, wanted = split_version(text)
    start = session.resolve(revision)
    if wanted:
        from .log import find_skill_at_version

        return find_skill_at_version(session, start, skill, wanted)
    return start, Skills(session.state_of(start)).find(text)


def view_skill(session: Session, slug: str, rev: str = "@") -> SkillView:
    """Return a skill with its text; `slug` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    snapshot_id, found = _find_skill_version(session, slug, rev)
    files = Skills(session.state_of(snapshot_id)).entries(found)
    main = next(entry for entry in files if entry.path == found.path)
    content = session.reader.read_blob(main.blob, main.size)
    fields, body = frontmatter.load_leniently(content)
    return SkillView(
        *found.summary, snapshot_id.hex(), fields, body, [entry.path for entry in files]
    )


def read_skill_file(session: Session, slug: str, file: str = "", rev: str = "@") -> SkillFile:
    """Return a file of a skill, by default its own text; `slug` may be SLUG@VERSION.

    A link is followed within the brain, but to no held-out case. Raises `NotFound` (`no_skill`,
    `no_version`, `no_file`, `dead_link`) or `InvalidInput` (`too_large`).
    """
    from . import files as file_edits

    snapshot_id, found = _find_skill_version(session, slug, rev)
    state = session.state_of(snapshot_id)
    entries = Skills(state).entries(found)
    home = found.folder or ""
    main = next(entry for entry in entries if entry.path == found.path)
    others = {e.path.removeprefix(home): e for e in entries if e.path != found.path}
    files = list(_list_files(state, others))
    reader, path = session.reader, f"{home}{file}" if file else found.path
    if file and file not in others:
        entry = find_file(state, reader, path)  # in a folder that is a link
    else:
        entry = follow_link(state, reader, others[file]) if file else main
    content = b"" if entry is None else file_edits.read_editable_content(session, entry)
    if entry is None or (entry.path != path and is_hidden_case(entry.path, content)):
        raise missing_file_error(found.slug, file, files)
    return SkillFile(*found.summary, snapshot_id.hex(), file, content, files)


def _list_files(state: BrainState, others: Mapping[str, TreeEntry]) -> Iterator[str]:
    """Yield the files of a skill; in the place of a link to a folder, those in it but cases."""
    for inner, entry in others.items():
        folder = ""
        if entry.kind == LINK:
            folder = resolve_links(state, state.session.reader, entry.path)
        below = state.walk_below(folder) if folder else iter(())
        linked = [one.path for one in islice(below, _MAX_LINKED_FILES)]
        shown = (path.removeprefix(folder) for path in linked if not is_case_path(path))
        yield from (f"{inner}{rest}" for rest in shown) if linked else [inner]


def find_hidden_files(session: Session, slug: str, rev: str = "@") -> set[str]:
    """Return the files of a skill that agents never see, by path in its folder: held-out cases.

    `slug` may name a version, as in SKILL@VERSION. Raises as `skills.view`.
    """
    snapshot_id, found = _find_skill_version(session, slug, rev)
    home = found.folder or ""
    return {
        entry.path.removeprefix(home)
        for entry in Skills(session.state_of(snapshot_id)).entries(found)
        if is_case_path(entry.path)
        and is_hidden_case(entry.path, session.reader.read_blob(entry.blob, entry.size))
    }


def missing_file_error(slug: str, inner: str, files: list[str]) -> NotFound:
    """Return the error for a missing file of a skill, with names of its files."""
    from ..util.text import suggest_names

    near = suggest_names(inner, files) or files[:_MAX_NAMED_FILES]
    names = ", ".join(map(printable_text, near))
    return NotFound(
        f"{slug} has no file {inner}",
        code="no_file",
        hint=f"it has {names}" if near else "it has no files",
    )


def check_skills(
    session: Session, slugs: Sequence[str] = (), *, strict: bool = False
) -> list[SkillProblem]:
    """Check skills of the folder, by default all, against the rules of agentskills.io.

    Without `strict`, only the rules that clients depend on. Nothing is stored. Raises as a
    snapshot does.
    """
    staged: set[bytes] = set()
    try:
        state, changed = _read_folder_skills(session, staged)
        return _check_state(session, state, changed, slugs, strict)
    finally:
        session.nodes.drop_unstored()
        for blob in staged:
            session.new_cards.pop(blob, None)


def _read_folder_skills(
    session: Session, staged: set[bytes]
) -> tuple[BrainState, dict[bytes, bytes | None]]:
    """Return the state that a snapshot would record, and the changed skills by blob id.

    None stands for the content of one of more than MAX_SKILL_BYTES. Their cards are `staged`.
    """
    from ..folder import read
    from ..repo import working_copy

    head, contents = session.at(), dict[bytes, bytes | None]()
    if not session.has_folder:
        return head, contents
    edits = working_copy.scan_folder(session).diff(head)
    for path, entry in edits.items():
        if entry is None or entry.kind == LINK or not derive.may_be_skill(path):
            continue
        content = read.read_bounded_file(session.root, path, limits.MAX_SKILL_BYTES)
        # The file may have changed since it was hashed, so that it gets the id of this content.
        blob = entry.blob if content is None else blob_id(content)
        edits[path] = entry._replace(blob=blob)
        contents[blob] = content
        if blob not in session.new_cards:
            card = read_skill_metadata(content or b"", "")
            session.new_cards[blob] = encode_skill_metadata(card)
            staged.add(blob)
    return head.edit(edits), contents


def _check_state(
    session: Session,
    state: BrainState,
    changed: Mapping[bytes, bytes | None],
    texts: Sequence[str],
    strict: bool,
) -> list[SkillProblem]:
    from ..repo import lookalikes
    from ..skills import slug as deceptive_names
    from ..skills.skill_lint import WARNING, check_skill

    every = Skills(state).all()
    chosen = []
    for text in texts:  # one that is in the folder only is found by slug or path
        exact = [found for found in every if text in (found.slug, found.path)]
        one = exact[0] if len(exact) == 1 else None
        chosen.append(one or Skills(state).find(text))
    chosen = chosen or every
    shared: dict[str, list[str]] = {}
    called: dict[str, list[str]] = {}
    for found in every:
        shared.setdefault(found.slug, []).append(found.path)
        skeleton = deceptive_names.name_skeleton(found.card.name or found.slug)
        called.setdefault(skeleton, []).append(found.path)
    stored = list({found.blob for found in chosen} - changed.keys())
    content = dict(derive.read_skill_contents(session, stored))
    content |= {blob: text for blob, text in changed.items() if text is not None}
    out: list[SkillProblem] = []
    for found in chosen:
        report = partial(SkillProblem, found.slug, found.path)
        folder = found.path.split("/")[-2] if found.folder else None
        if found.blob not in content:
            size = f"more than {limits.MAX_SKILL_BYTES} bytes"
            out.append(report("too_large", "error", 0, size))
            continue
        out += [
            report(*row) for row in check_skill(found.path, content[found.blob], folder, strict)
        ]
        others = [path for path in shared[found.slug] if path != found.path]
        if others:
            message = f"shares its slug with {', '.join(map(printable_text, others))}"
            out.append(report("duplicate_slug", "error", 0, message))
        name = found.card.name or found.slug
        namesakes = called[deceptive_names.name_skeleton(name)]
        alike = [path for path in namesakes if path != found.path]
        if alike:
            message = lookalikes.describe_same_name(name, alike[:_MAX_NAMED_FILES])
            out.append(report(lookalikes.SAME_NAME_CODE, WARNING, 0, message))
    return out
