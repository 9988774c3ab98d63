"""Adopts the skills of a folder, changes one of them, publishes it back, and compares the bytes.

The skills of a collection are copied into homes of each layout, each home is adopted, one skill
is saved with another text, and the home is published back. Only the text of that skill may change,
no later adoption may find a change, and a second publication may write nothing.
"""

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from brain import Brain
from brain.adopting.publish_manifest import RECORD_NAME
from brain.clients.client_table import load_clients
from brain.errors import BrainError
from brain.skills.skill_layout import SKILL_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A home to make: its folder, the client, where its skills lie, and other files.

    `kind` is told to the adoption; without it the home must be recognised.
    With `has_categories` each skill lies in a folder called as the one above it in the
    collection. Without `skills` the home is the collection as it is.
    """

    home: str
    client: str
    skills: str
    other_files: tuple[str, ...] = ()
    has_categories: bool = False
    in_place: bool = False
    kind: str | None = None


KNOWN_LAYOUTS = {
    "claude-home": Layout(
        home=".claude", client="claude", skills="skills", other_files=("CLAUDE.md", "rules/a.md")
    ),
    "claude-project": Layout(
        home="project", client="claude", skills=".claude/skills", other_files=("CLAUDE.md",)
    ),
    "codex-home": Layout(
        home=".codex", client="codex", skills="skills", other_files=("AGENTS.md", "prompts/a.md")
    ),
    "codex-project": Layout(
        home="project", client="codex", skills=".agents/skills", other_files=("AGENTS.md",)
    ),
    "hermes": Layout(
        home=".hermes",
        client="hermes",
        skills="skills",
        other_files=("SOUL.md", "memories/MEMORY.md", "state.db"),
        has_categories=True,
    ),
    "agentskills": Layout(home="collection", client="agentskills", skills=""),
    "in-place": Layout(
        home=".hermes",
        client="hermes",
        skills="skills",
        other_files=("SOUL.md", "state.db"),
        in_place=True,
    ),
}


def layouts_of_table() -> Iterator[tuple[str, Layout]]:
    """Yield a layout for the home and the project of each client in the table."""
    for client, row in load_clients().items():
        for name, folder in ((f"{client}-home", row.home), (f"{client}-project", row.project)):
            if folder is not None and folder.skills:
                places = [place.partition("=")[0] for place in folder.instructions + folder.prompts]
                others = [f"{place}a.md" if place.endswith("/") else place for place in places]
                yield (
                    name,
                    Layout(
                        home=folder.name or "project",
                        client=client,
                        skills=folder.skills[0].rstrip("/"),
                        other_files=tuple(others),
                        has_categories=row.has_categories,
                        kind=folder.kind,
                    ),
                )


LAYOUTS = {**dict(layouts_of_table()), **KNOWN_LAYOUTS}


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What happened to one home; empty lists and zeros are as wanted."""

    skills: int = 0
    files: int = 0
    moved: list[str]
    bytes_moved: int = 0
    problems: list[str]


def find_skills(folder: Path, limit: int | None, seed: int = 7) -> list[Path]:
    """Return the outermost folders of skills, at most `limit` drawn ones."""
    found: list[Path] = []
    for base, folders, names in os.walk(folder):
        folders.sort()
        if not set(SKILL_FILES).isdisjoint(names) and base != str(folder):
            found.append(Path(base))
            folders.clear()
    if limit is not None and len(found) > limit:
        found = sorted(random.Random(seed).sample(found, limit))
    return found


def make_home(root: Path, layout: Layout, collection: Path, skills: list[Path]) -> Path:
    """Make a home of a layout with copies of the skills."""
    home = root / layout.home
    if not layout.skills:
        shutil.copytree(collection, home, symlinks=True)
        return home
    taken: set[Path] = set()
    for skill in skills:
        place = home / layout.skills
        if layout.has_categories:
            place /= skill.parent.name.lstrip("._") or "other"
        target, number = place / skill.name, 2
        while Path(str(target).casefold()) in taken:
            target, number = place / f"{skill.name}-{number}", number + 1
        taken.add(Path(str(target).casefold()))
        shutil.copytree(skill, target, symlinks=True)
    for name in layout.other_files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name}\n")
    return home


FileState = tuple[int, bytes]


def read_home(home: Path) -> dict[str, FileState]:
    """Return mode and content of each file and link, except what the brain itself keeps."""
    found: dict[str, FileState] = {}
    for path in _walk(home):
        name = path.relative_to(home).as_posix()
        if name in (RECORD_NAME, "manifest.yaml", ".brainignore") or name.startswith(".brain/"):
            continue
        if path.is_symlink():
            found[name] = (0, os.fsencode(os.readlink(path)))
        else:
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


def _walk(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        links = [name for name in folders if Path(base, name).is_symlink()]
        yield from (Path(base, name) for name in (*names, *links))


def change_one_skill(brain: Brain, chosen: random.Random) -> str:
    """Save one skill with another text, and return its path."""
    skills = brain.skills.list()
    count = Counter(skill.slug for skill in skills)
    named_once = [skill for skill in skills if count[skill.slug] == 1]
    for skill in chosen.sample(named_once, len(named_once)):
        content = brain.files.read(skill.path)
        try:
            brain.skills.upsert(skill.slug, content + b"\nOne more line.\n")
        except BrainError:  # a skill that cannot be saved is not the question here
            continue
        return skill.path
    raise SystemExit("no skill could be saved")


def run_layout(
    root: Path, layout: Layout, collection: Path, skills: list[Path], seed: int
) -> Outcome:
    """Adopt, change, publish back and compare, in one layout."""
    outcome = Outcome(moved=[], problems=[])
    home = make_home(root, layout, collection, skills)
    before = read_home(home)
    place = None if layout.in_place else root / "brain"
    adopted = Brain.adopt(home, place, layout.kind)
    source_paths = {taken.path: taken.source for taken in adopted.taken}
    with Brain.open(place or home) as brain:
        outcome.skills, outcome.files = len(brain.skills.list()), len(adopted.taken)
        changed = change_one_skill(brain, random.Random(seed))
        if not layout.in_place:
            publish_back(brain, layout, home, outcome)
        after = read_home(home)
        compare(before, after, source_paths[changed], outcome)
    if place is not None:
        check_again(layout, home, place, after, outcome)
    return outcome


def publish_back(brain: Brain, layout: Layout, home: Path, outcome: Outcome) -> None:
    """Publish into the home; conflicts and files held back are problems."""
    done = brain.publish(layout.client, home)
    outcome.problems += [f"conflict: {row.path}: {row.message}" for row in done.conflicts]
    outcome.problems += [f"held back: {row.path}: {row.message}" for row in done.held_back]
    outcome.problems += [f"removed: {path}" for path in done.removed]


def compare(
    before: dict[str, FileState], after: dict[str, FileState], changed: str, outcome: Outcome
) -> None:
    """Count the bytes of files that differ, other than the changed one."""
    for name in sorted(before.keys() | after.keys()):
        if name != changed and before.get(name) != after.get(name):
            outcome.moved.append(name)
            outcome.bytes_moved += len((after.get(name) or before[name])[1])
    if before[changed] == after.get(changed):
        outcome.problems.append(f"was not written: {changed}")


def check_again(
    layout: Layout, home: Path, place: Path, after: dict[str, FileState], outcome: Outcome
) -> None:
    """Adopt and publish once more; both must find nothing to do."""
    with Brain.open(place) as brain:
        head = brain.head
    Brain.adopt(home, place, layout.kind)
    with Brain.open(place) as brain:
        changes = brain.history.diff(head, "@").changes
        outcome.problems += [f"adopting again changed {change.path}" for change in changes]
        again = brain.publish(layout.client, home)
    if again.written or again.removed or again.conflicts:
        outcome.problems.append(f"publishing again wrote {again.written} {again.conflicts}")
    if read_home(home) != after:
        outcome.problems.append("publishing again changed the home")
