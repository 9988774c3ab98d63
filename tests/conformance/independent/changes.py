"""What an operation may change, in the second implementation, from docs/FORMAT.md alone."""

import re
from typing import Any

from tests.conformance.independent.objects import blob_id, require

TRUST_FILE = "trust.json"
_SKILL_TEXT_NAMES = ("SKILL.md", "skill.md", "Skill.md", "SKILL.MD")
_ONE_SKILL_OPERATIONS = ("upsert", "delete", "absorb", "admit", "reject", "retire", "reinstate")
_DEVICE_NAME = re.compile("con|prn|aux|nul|(?:com|lpt)[0-9]")

FilesByPath = dict[str, tuple[int, str, int]]
"""Path to kind, blob in hex, size."""


def check_changes(
    operation: list[Any], before: FilesByPath, after: FilesByPath, source: FilesByPath | None
) -> None:
    """Require that only what the operation says was changed."""
    kind = operation[0]
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if kind in ("task", "bind", "unbind"):
        require(not changed, "changed anything")
    elif kind == "restore" and source is not None:
        require(all(after.get(path) == source.get(path) for path in changed), "not as it was")
    elif kind == "redact":
        blob = operation[2].hex()
        held = {path for path, (_, one, _) in before.items() if one == blob}
        require(TRUST_FILE not in held, "who may sign")
        require(changed == held and not held & set(after), "not what held the blob")
    elif kind in _ONE_SKILL_OPERATIONS:
        _check_skills(operation, before, after, changed)


def _check_skills(
    operation: list[Any], before: FilesByPath, after: FilesByPath, changed: set[str]
) -> None:
    kind, slug = operation[:2]
    there = {*before, *after}
    absorbed = operation[4] if kind == "absorb" else ""
    fine = False
    for own in _possible_skill_files(slug, changed, there):
        others = changed - own
        taken = _possible_skill_files(absorbed, others, there) if absorbed else [set()]
        fine = fine or any(others <= {path for path in one if path not in after} for one in taken)
    require(fine, "changed what is of another")
    if absorbed:
        gone = changed - set(after)
        require(gone != changed, "nothing written")
        require(
            any(_may_be_skill(_skill_text_name(path), absorbed) for path in gone),
            "nothing absorbed",
        )
    if kind == "delete":
        require(not changed & set(after), "wrote something")
        texts = [path for path in changed if _may_be_skill(_skill_text_name(path), slug)]
        require(texts, "nothing deleted")
        text = min(texts, key=len)
        folder, file = text.rpartition("/")[0] + "/", text.rpartition("/")[2]
        if file in _SKILL_TEXT_NAMES and folder != "skills/":
            require(all(path.startswith(folder) for path in changed), "of another skill")
            require(not any(path.startswith(folder) for path in after), "left something")
        else:
            require(changed == {text}, "of another skill")


def _possible_skill_files(slug: str, changed: set[str], there: set[str]) -> list[set[str]]:
    """Return what may be the files of one skill with a slug."""
    names = {path: _skill_names(path, there) for path in changed}
    sure = {
        path
        for path, own in names.items()
        if any(name.isascii() and make_slug(name) == slug for name in own)
    }
    unsure = {name for path in changed for name in names[path] if not name.isascii()}
    if sure or not unsure:
        return [sure]
    return [{path for path, own in names.items() if name in own} for name in unsure]


def _skill_names(path: str, there: set[str]) -> list[str]:
    """Return the names of the skills that a path is a file of."""
    folders = path.split("/")[:-1]
    names = [_skill_text_name(path)] if _skill_text_name(path) else []
    for depth in range(1, len(folders) + 1):
        folder = "/".join(folders[:depth])
        if folder != "skills" and any(f"{folder}/{text}" in there for text in _SKILL_TEXT_NAMES):
            names.append(folders[depth - 1])
    return names


def _skill_text_name(path: str) -> str:
    """Return the name of the skill that a path is the text of, empty for none."""
    *folders, file = path.split("/")
    if file in _SKILL_TEXT_NAMES and folders not in ([], ["skills"]):
        return folders[-1]
    if folders[:1] == ["skills"] and len(folders) < 3 and file[-3:].lower() == ".md":
        return file[:-3]
    return ""


def _may_be_skill(name: str, slug: str) -> bool:
    return name != "" and (not name.isascii() or make_slug(name) == slug)


def make_slug(name: str) -> str:
    """Return the slug of a name in ASCII."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:64].rstrip("-")
    if slug and not _DEVICE_NAME.fullmatch(slug):
        return slug
    return "skill-" + blob_id(name.encode()).hex()[:8]
