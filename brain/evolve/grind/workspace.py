"""A brain as the workspace that an evolver edits, and what it left as a change of the brain.

The brain is the truth; a workspace lives as long as one step. Drafts and skills for one task lie in
memory/grind/ of the brain, and where the page has them in the workspace. What an evolver may edit
is decided here, by path, whatever else it did: the manifest, the trust file, cases, tasks, tests
and the skill of another task are never taken back.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from binascii import a2b_base64
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import IO, Any, NamedTuple, cast

from ... import limits
from ...errors import InvalidInput, printable_text
from ...gating.case_paths import may_change
from ...merging.lines import join_if_clean
from ...merging.skill_merge import merge_skill
from ...objects.paths import check_path
from ...programs.program import is_program_file
from ...repo.learning.change import SCORING_FOLDERS, FileEdit, ProposedChange, SkillEdit
from ...skills import frontmatter, skill_layout
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import is_slug
from .settings import GrindSettings

EVOLVER = "grind"
OWN_FOLDER = "memory/grind/"
DRAFTS, TASK_SKILLS = f"{OWN_FOLDER}drafts/", f"{OWN_FOLDER}task_skills/"
MAX_TASK_SKILL_LINES = 100
DISTILL_LINES, DISTILL_BYTES = 200, 6000
"""Above these a skill is distilled."""
_MAX_FILES, _MAX_BYTES = 2000, 32 << 20
_SHOWN_STEPS = 10
_ANSWER = "it holds an answer of a task"
BILL = "evolution/bill.json"
"""Where an archive of what an evolver left says what it cost."""
_SKILL_FILE = skill_layout.SKILL_FILES[0]
_PLACES = {"pre_generate": "task_skills/", "success": "skills/_drafts/", "distill": "skills/"}
"""What a step may edit at most."""


class Refused(NamedTuple):
    """A file that the evolver left and that is not taken back, and why."""

    path: str
    reason: str


def export(
    files: Mapping[str, bytes], settings: GrindSettings, observation: str, steps: Sequence[Any]
) -> dict[str, bytes]:
    """Return the files of a workspace: those of the brain in their places, and evolution/."""
    history = [
        {
            **{name: step[name] for name in ("number", "kind", "tasks", "changed")},
            # Which text is an answer, people alone see.
            "refused": [
                {**one, "reason": _ANSWER} if one["reason"].startswith(_ANSWER) else one
                for one in step["refused"]
            ],
        }
        for step in steps[-_SHOWN_STEPS:]
    ]
    return {
        **{_outside(path): content for path, content in files.items()},
        "manifest.yaml": _make_manifest(settings),
        "evolution/current_observation.md": observation.encode(),
        "evolution/history.jsonl": "".join(json.dumps(one) + "\n" for one in history).encode(),
    }


def _make_manifest(settings: GrindSettings) -> bytes:
    names = ("skills", "memory", "prompts", "tools")
    layers = {name: getattr(settings, f"evolve_{name}") for name in names}
    manifest = {"name": "workspace", "contract_version": "1.0", "evolvable_layers": layers}
    return (json.dumps(manifest, indent=2) + "\n").encode()


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if content[:2] == b"#!" else 0o644
            tar.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the files of an archive that `pack` made."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        return {one.name: cast("IO[bytes]", tar.extractfile(one)).read() for one in tar}


READ_FILES = """\
import base64, os
for folder, _, names in os.walk("."):
    for name in names:
        path = os.path.join(folder, name)[2:]
        is_readable = os.path.isfile(path) and os.access(path, os.R_OK)
        if is_readable and not os.path.islink(path):
            with open(path, "rb") as file:
                parts = os.fsencode(path), file.read()
            print(*(base64.b64encode(part).decode() for part in parts))
print(".")
"""
"""A program that prints what `parse_files` reads, since an archive of a session is not to be
unpacked outside."""


def room_for(files: Mapping[str, bytes]) -> tuple[int, int]:
    """Return how many files an evolver may leave of a workspace, and how many bytes in base64."""
    return len(files) + _MAX_FILES, 2 * (sum(map(len, files.values())) + _MAX_BYTES)


def parse_files(listed: bytes, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a workspace as READ_FILES lists them; nothing in it is trusted.

    `files` are those that were there before. Raises `InvalidInput` (`too_large`).
    """
    found = dict[str, bytes]()
    most = room_for(files)[0]
    for line in io.BytesIO(listed):
        path, _, content = line.partition(b" ")
        if path == b".\n":
            return found
        if len(found) == most:
            break
        with suppress(ValueError):
            found[os.fsdecode(a2b_base64(path))] = a2b_base64(content)
    raise InvalidInput(
        f"the evolver left more than {_MAX_FILES} files or {_MAX_BYTES} bytes, or none can be read",
        code="too_large",
        hint="nothing of this step was taken over",
    )


def take_back(
    before: Mapping[str, bytes],
    left: Mapping[str, bytes],
    settings: GrindSettings,
    tasks: Collection[str],
    find_answers: Callable[[str, str], Sequence[str]],
    kind: str = "",
) -> tuple[dict[str, bytes], list[Refused]]:
    """Return the files of the brain with what an evolver may change, and what is refused.

    `before` are those of the brain, `left` those of the workspace. `tasks` are those it was asked
    about. `find_answers` returns the answers of tasks that a new text has and the old one has not.
    `kind` is that of the step.
    """
    place = _PLACES.get(kind, "")
    after, refused = dict(before), list[Refused]()
    there = {_outside(path): content for path, content in before.items()}
    there["manifest.yaml"] = _make_manifest(settings)
    for path, content in sorted(left.items()):
        if there.get(path) == content or path.startswith("evolution/"):
            continue
        reason = _find_reason(path, content, settings, tasks)
        if not path.startswith(place):
            reason = f"this step may edit {place} alone"
        if not reason and settings.no_direct_answers:
            old = there.get(path, b"").decode(errors="replace")
            if answers := find_answers(content.decode(errors="replace"), old):
                reason = f"{_ANSWER}: {printable_text(answers[0], 40)}"
        if reason:
            refused.append(Refused(path, reason))
        else:
            after[_inside(path)] = content
    for path in sorted(there.keys() - left.keys()):
        is_draft = path.startswith("skills/_drafts/")
        if is_draft and settings.evolve_skills and path.startswith(place):
            del after[_inside(path)]
        else:
            refused.append(Refused(path, "what is there is improved; a person removes it"))
    for path in split_by_skill(after)[""]:
        if path.startswith("skills/") and after[path] != before.get(path):
            refused.append(Refused(path, "it is in the folder of no skill"))
            del after[path]
            after.update({path: before[path]} if path in before else {})
    return after, refused


def _find_reason(path: str, content: bytes, settings: GrindSettings, tasks: Collection[str]) -> str:
    """Return why a new content of a path is not taken back, "" if it is."""
    section = path.partition("/")[0]
    if len(content) > limits.MAX_SKILL_BYTES:
        return f"it has {len(content)} bytes"
    try:
        inside = check_path(_inside(path))
    except InvalidInput as error:
        return error.message
    if section == "task_skills":
        if settings.task_skills == "off" or path not in map(_task_skill_path, tasks):
            return "it belongs to another task"
        lines = content.count(b"\n")
        return f"it has {lines} lines" if lines > MAX_TASK_SKILL_LINES else ""
    if path.casefold().startswith(OWN_FOLDER):
        return "the grind itself writes it"
    is_scoring = not SCORING_FOLDERS.isdisjoint(path.casefold().split("/"))
    if section not in ("skills", "memory", "prompts") or is_scoring or not may_change(inside):
        return "only skills, memory and prompts are evolved"
    if not getattr(settings, f"evolve_{section}"):
        return f"{section} are not evolved"
    if section == "skills":
        folder, _, name = path.rpartition("/")
        inner = path.split("/", 2)[-1]
        if is_program_file(name) or is_program_file(inner):
            return "" if settings.evolve_tools else "tools are not evolved"
        if path.startswith("skills/_drafts/"):
            is_draft = folder == "skills/_drafts" and path.endswith(".md")
            return "" if is_draft and is_slug(name[:-3]) else "no name of a draft"
    return "" if b"\0" not in content else "it is no text"


def _outside(path: str) -> str:
    if path.startswith(DRAFTS):
        return f"skills/_drafts/{path.removeprefix(DRAFTS)}"
    if path.startswith(TASK_SKILLS):
        return _task_skill_path(path.removeprefix(TASK_SKILLS).removesuffix(".md"))
    return path


def _inside(path: str) -> str:
    if path.startswith("skills/_drafts/"):
        return DRAFTS + path.removeprefix("skills/_drafts/")
    if path.startswith("task_skills/"):
        return task_skill_file(path.split("/")[1])
    return path


def _task_skill_path(task: str) -> str:
    return f"task_skills/{skill_layout.slug_from_name(task)}/{_SKILL_FILE}"


def task_skill_file(task: str) -> str:
    """Return where the skill of one task lies in the brain."""
    return f"{TASK_SKILLS}{skill_layout.slug_from_name(task)}.md"


# Skills of a workspace


class WorkspaceSkill(NamedTuple):
    """A skill by its path, with what its front matter says and its files by path inside."""

    path: str
    slug: str
    name: str
    description: str
    category: str
    files: dict[str, bytes]
    is_user_only: bool


def list_skills(files: Mapping[str, bytes]) -> list[WorkspaceSkill]:
    """Return the skills of a workspace or a brain, by path."""
    found = []
    for path, own in sorted(split_by_skill(files).items()):
        if not path:
            continue
        slug = skill_layout.slug_from_path(path)
        card = read_skill_metadata(files[path], slug)
        head = frontmatter.load_leniently(files[path])[0] or {}
        inner = {inner_path(path, one): files[one] for one in own if one != path}
        inner[_SKILL_FILE] = files[path]
        category = str(head.get("category") or "")
        shown = path, slug, card.name, card.description, category, inner
        found.append(WorkspaceSkill(*shown, card.is_user_only))
    return found


def list_slugs(files: Iterable[str]) -> list[str]:
    """Return the slugs of the skills among files, by path."""
    return [
        skill_layout.slug_from_path(one) for one in sorted(skill_layout.find_skill_paths(files))
    ]


def split_by_skill(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of each skill by its text, those of none by ""; the innermost has a file."""
    found: dict[str, list[str]] = {path: [] for path in skill_layout.find_skill_paths(files)}
    homes = {_home_of(path): path for path in found}
    found[""] = []
    for path in files:
        home = path
        while home and home not in homes:
            home = home.rpartition("/")[0]
        found[homes.get(home, "")].append(path)
    return found


def _home_of(text: str) -> str:
    """Return the folder of a skill, of a flat one its text."""
    return text.rpartition("/")[0] if text.endswith(skill_layout.FOLDER_SUFFIXES) else text


def inner_path(text: str, path: str) -> str:
    """Return the path of a file in the folder of a skill, "" for a flat one."""
    return path[len(_home_of(text)) + 1 :]


def make_change(
    before: Mapping[str, bytes], after: Mapping[str, bytes], message: str
) -> tuple[ProposedChange | None, dict[str, bytes | None]]:
    """Return the skills that differ as one change, None without one, and the other files.

    The first skill by path decides about the change in the gate. A file that belongs to no skill,
    such as one whose SKILL.md is missing, is left out.
    """
    paths = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    edits: dict[str, SkillEdit] = {}
    for text, own in sorted(split_by_skill(after).items()):
        inner = {inner_path(text, path): after[path] for path in own if path in paths - {text}}
        if not text or paths.isdisjoint(own):
            continue
        is_program_new = any(map(is_program_file, inner))  # a change has the whole program
        whole = {inner_path(text, path): after[path] for path in own if is_program_new}
        is_known = text in before
        edits[text] = SkillEdit(
            name=text if is_known else skill_layout.slug_from_path(text),
            body=after[text],
            files={name: data for name, data in whole.items() if is_program_file(name)},
            resources={name: data for name, data in inner.items() if not is_program_file(name)},
            category="" if is_known else skill_layout.category_from_path(text),
            base=read_skill_metadata(before[text], "").version if is_known else "",
        )
    others = {
        path: after.get(path) for path in sorted(paths) if "skills" not in path.split("/")[:-1]
    }
    if not edits:
        return None, others
    main, *rest = edits.values()
    change = ProposedChange(
        **{one.name: getattr(main, one.name) for one in fields(SkillEdit)},
        evolver=EVOLVER,
        also=(*rest, *(FileEdit(path=path, content=data) for path, data in others.items())),
        message=message,
    )
    return change, others


def make_promotion(
    origin: Mapping[str, bytes],
    head: Mapping[str, bytes],
    branch: Mapping[str, bytes],
    message: str,
) -> ProposedChange | None:
    """Return what a branch changed since its origin as a change of the head; None without a skill.

    Texts of skills that changed on both sides are merged; where lines conflict, and of another file
    that both changed, the head's stays. Drafts and skills for one task stay on the branch.
    """
    before, after = without_own(origin), without_own(branch)
    texts = skill_layout.find_skill_paths(after)
    for path in list(after):
        ours, base = head.get(path), before.get(path)
        if ours == base:
            continue
        before[path] = after[path]  # as if it had not changed
        if ours and base and ours != after[path] != base and path in texts:
            slug, merged = skill_layout.slug_from_path(path), None
            with suppress(InvalidInput):  # a person may have broken its front matter
                merged = join_if_clean(merge_skill(base, ours, after[path], slug).pieces)
            if merged is not None:
                before[path], after[path] = ours, merged
    change, _ = make_change(before, after, message)
    return change


def split_change(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """Return the new contents of each changed skill apart, then those of no skill."""
    parts = [
        {path: after[path] for path in own if before.get(path) != after[path]}
        for own in split_by_skill(after).values()
    ]
    return [part for part in parts if part]


def without_own(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a brain without drafts and skills for one task."""
    return {path: data for path, data in files.items() if not path.startswith(OWN_FOLDER)}


def find_bloated(files: Mapping[str, bytes]) -> list[str]:
    """Return the texts of skills that are to be distilled."""
    return [
        path
        for path in sorted(skill_layout.find_skill_paths(files))
        if len(files[path]) > DISTILL_BYTES or files[path].count(b"\n") > DISTILL_LINES
    ]
