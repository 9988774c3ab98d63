"""Render each file of a publication in the form of the client."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..errors import InvalidInput
from ..objects.link_targets import is_safe_link_target
from ..objects.tree_entry import LINK
from ..results import Notice
from ..skills.spec_export import export_to_spec
from .brain_protocol import AdoptionBrain
from .content_checks import describe_secret, find_first_secret
from .publish_manifest import PublishedFile, file_state
from .publish_plan import PlannedFile, PublishPlan
from .source_protocol import SourceFile

RENDER_VERSION = "1"
"""Enters the form of what is written; raised whenever `conforming` makes something else."""


KEPT_FIELDS, STRICT_FIELDS = "kept", "strict"
"""What becomes of fields that the client reads and the specification does not know."""


class RenderForm(NamedTuple):
    """How skills are put: with the fields that the client reads, or strictly."""

    kind: str
    kept_fields: frozenset[str]

    @property
    def name(self) -> str:
        """What the record says of it."""
        return f"{RENDER_VERSION}:{self.kind}:{KEPT_FIELDS if self.kept_fields else STRICT_FIELDS}"


class RenderedFile(NamedTuple):
    """What is to lie there: its state, and the file where it had to be made."""

    entry: PublishedFile
    file: SourceFile | None


def render_files(
    brain: AdoptionBrain,
    snapshot: str,
    plan: PublishPlan,
    form: RenderForm,
    previous: Mapping[str, PublishedFile],
    allow: Collection[str],
) -> dict[str, RenderedFile]:
    """Return what is to lie at each path; what was written in this form before is not made anew.

    A skill that cannot be put in form is left out, with all its files, and `made.left` says
    why. Raises `InvalidInput` (`secrets_found`) that names every file with a secret.
    """
    out: dict[str, RenderedFile] = {}
    secrets: list[str] = []
    broken: set[str] = set()
    for home, planned in plan.files.items():
        path, blob = planned.info.path, planned.info.blob
        before = previous.get(home)
        if before and before[:3] == (path, blob, form.name):
            out[home] = RenderedFile(before._replace(was=""), None)
            continue
        try:
            file = render_file(brain, snapshot, planned, form)
        except InvalidInput as error:
            plan.skipped.append(Notice(error.code, path, error.message))
            broken.add(planned.slug if planned.is_skill_text else "")
            continue
        found = find_first_secret(file.content, allow) if file.kind != LINK else None
        if found:
            secrets.append(f"{path}: {describe_secret(found)}")
        out[home] = RenderedFile(PublishedFile(path, blob, form.name, file_state(file)), file)
    if secrets:
        raise _secrets_error(secrets)
    broken.discard("")
    return {home: row for home, row in out.items() if plan.files[home].slug not in broken}


def render_file(
    brain: AdoptionBrain, snapshot: str, planned: PlannedFile, form: RenderForm
) -> SourceFile:
    """Return a file as it is to lie there. Raises `InvalidInput` where it cannot."""
    content = brain.files.read(planned.info.path, snapshot)
    if planned.is_skill_text:
        content = export_to_spec(content, planned.slug, form.kept_fields)
    if planned.kind == LINK:
        inner = planned.skill_path.partition("/")[2]
        if not inner or not is_safe_link_target(inner, content):
            raise InvalidInput("a link that leads out of its skill", code="link_outside")
    return SourceFile(planned.kind, content)


def _secrets_error(found: list[str]) -> InvalidInput:
    return InvalidInput(
        f"nothing was published, for there are secrets: {'; '.join(found[:5])}",
        code="secrets_found",
        hint="take them out; what is none is allowed by its id, with --allow ID",
    )
