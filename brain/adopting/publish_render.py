"""Render the files of a publication for the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..errors import InvalidInput
from ..objects.link_targets import is_safe_link_target
from ..objects.tree_entry import LINK
from ..results import Notice
from ..skills.spec_export import export_to_spec
from ..util.progress import Progress, no_progress
from .brain_protocol import AdoptionBrain
from .publish_manifest import PublishedFile, file_state
from .publish_plan import PlannedFile, PublishPlan
from .source_protocol import SourceFile

RENDER_VERSION = "1"
"""Part of the form of a file; raise it whenever `export_to_spec` changes its output."""

EXTENDED_FORM, STRICT_FORM = "kept", "strict"
"""Forms with and without the fields that the client reads and the specification lacks."""


class RenderForm(NamedTuple):
    """The form of skills: for which kind of home, and with which extra fields."""

    kind: str
    extra_fields: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the form in the record."""
        return f"{RENDER_VERSION}:{self.kind}:{EXTENDED_FORM if self.extra_fields else STRICT_FORM}"


class RenderedFile(NamedTuple):
    """A file to publish: its entry in the record, and the content unless it is unchanged."""

    entry: PublishedFile
    file: SourceFile | None


def render_files(
    brain: AdoptionBrain,
    snapshot: str,
    plan: PublishPlan,
    form: RenderForm,
    previous: Mapping[str, PublishedFile],
    progress: Progress = no_progress,
) -> dict[str, RenderedFile]:
    """Return the files to publish by path; those published before in this form are not rendered.

    A skill that cannot be rendered is skipped with all its files, and added to
    `plan.skipped`.
    """
    rendered: dict[str, RenderedFile] = {}
    broken: set[str] = set()
    for done, (home, planned) in enumerate(plan.files.items()):
        progress("files read", done, len(plan.files))
        path, blob = planned.info.path, planned.info.blob
        before = previous.get(home)
        if before and before[:3] == (path, blob, form.name):
            rendered[home] = RenderedFile(before._replace(was=""), None)
            continue
        try:
            file = render_file(brain, snapshot, planned, form)
        except InvalidInput as error:
            plan.skipped.append(Notice(error.code, path, error.message))
            broken.add(planned.slug if planned.is_skill_text else "")
            continue
        rendered[home] = RenderedFile(PublishedFile(path, blob, form.name, file_state(file)), file)
    broken.discard("")
    return {
        home: rendered_file
        for home, rendered_file in rendered.items()
        if plan.files[home].slug not in broken
    }


def render_file(
    brain: AdoptionBrain, snapshot: str, planned: PlannedFile, form: RenderForm
) -> SourceFile:
    """Return a file rendered for the client. Raises `InvalidInput` if that is impossible."""
    content = brain.files.read(planned.info.path, snapshot)
    if planned.is_skill_text:
        content = export_to_spec(content, planned.slug, form.extra_fields)
    if planned.kind == LINK:
        inner = planned.skill_path.partition("/")[2]
        if not inner or not is_safe_link_target(inner, content):
            raise InvalidInput("the link points outside of its skill", code="link_outside")
    return SourceFile(planned.kind, content)
