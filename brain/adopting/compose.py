"""What each published file says: as the brain has it, skills in the form a client wants."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..brain import Brain
from ..errors import InvalidInput
from ..objects.entry import LINK
from ..objects.links import stays_inside
from ..results import Notice
from ..skills.strict import conforming
from .plan import Plan, Planned
from .protocol import File
from .published import Written, state_of
from .unsafe import first_secret, told

VERSION = "1"
"""Enters the form of what is written; raised whenever `conforming` makes something else."""


KEPT, STRICT = "kept", "strict"
"""What becomes of fields that the client reads and the specification does not know."""


class Form(NamedTuple):
    """How skills are put: with the fields that the client reads, or strictly."""

    kind: str
    keeps: frozenset[str]

    @property
    def name(self) -> str:
        """What the record says of it."""
        return f"{VERSION}:{self.kind}:{KEPT if self.keeps else STRICT}"


class Composed(NamedTuple):
    """What is to lie there: its state, and the file where it had to be made."""

    written: Written
    file: File | None


def compose(
    brain: Brain,
    snapshot: str,
    made: Plan,
    form: Form,
    known: Mapping[str, Written],
    allow: Collection[str],
) -> dict[str, Composed]:
    """Return what is to lie at each path; what was written in this form before is not made anew.

    A skill that cannot be put in form is left out, with all its files, and `made.left` says
    why. Raises `InvalidInput` (`secrets_found`) that names every file with a secret.
    """
    out: dict[str, Composed] = {}
    secrets: list[str] = []
    broken: set[str] = set()
    for home, planned in made.files.items():
        path, blob = planned.info.path, planned.info.blob
        before = known.get(home)
        if before and before[:3] == (path, blob, form.name):
            out[home] = Composed(before._replace(was=""), None)
            continue
        try:
            file = make(brain, snapshot, planned, form)
        except InvalidInput as error:
            made.left.append(Notice(error.code, path, error.message))
            broken.add(planned.slug if planned.is_main else "")
            continue
        found = first_secret(file.content, allow) if file.kind != LINK else None
        if found:
            secrets.append(f"{path}: {told(found)}")
        out[home] = Composed(Written(path, blob, form.name, state_of(file)), file)
    if secrets:
        raise _secrets(secrets)
    broken.discard("")
    return {home: row for home, row in out.items() if made.files[home].slug not in broken}


def make(brain: Brain, snapshot: str, planned: Planned, form: Form) -> File:
    """Return a file as it is to lie there. Raises `InvalidInput` where it cannot."""
    content = brain.read_file(planned.info.path, snapshot)
    if planned.is_main:
        content = conforming(content, planned.slug, form.keeps)
    if planned.kind == LINK:
        inner = planned.inside.partition("/")[2]
        if not inner or not stays_inside(inner, content):
            raise InvalidInput("a link that leads out of its skill", code="link_outside")
    return File(planned.kind, content)


def _secrets(found: list[str]) -> InvalidInput:
    return InvalidInput(
        f"nothing was published, for there are secrets: {'; '.join(found[:5])}",
        code="secrets_found",
        hint="take them out; what is none is allowed by its id, with --allow ID",
    )
