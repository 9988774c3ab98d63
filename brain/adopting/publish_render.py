"""Render the files of a publication for the client.

A file that was adopted from the client's folder keeps the bytes that the brain has; another
skill is rendered for the client. A file that was published in some form keeps that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..errors import InvalidInput, printable_text
from ..objects.collisions import is_safe_link_target
from ..objects.tree_node import FILE, LINK
from ..ops.import_states import SourceFile
from ..results import Notice
from ..skills.skill_document import set_name
from ..skills.slug import normalize_name
from ..skills.spec_export import export_to_spec
from ..util.progress import Progress, no_progress
from .brain_protocol import AdoptionBrain
from .home_origins import ADOPTED_FORM, RENAMED_FORM, AdoptedOrigin
from .publish_manifest import (
    PublishedFile,
    file_state,
    form_mode,
    info_state,
)
from .publish_plan import PlannedFile, PublishPlan, content_refusal

RENDER_VERSION = "2"
"""Part of the form of a file; raise it whenever `export_to_spec` changes its output."""

EXTENDED_FORM, STRICT_FORM = "kept", "strict"
"""Forms with and without the fields that the client reads and the specification lacks."""

_REQUIRES_FOLDER_NAME = frozenset(("agentskills", "opencode"))
"""Clients whose documentation requires the name of its folder as the name of a skill."""


class RenderForm(NamedTuple):
    """The form of a publication.

    `kind`: the kind of home; `extra_fields`: those that the client reads and the specification
    lacks; `is_strict`: without these; `renames`: adopted skills get the names of their folders.
    """

    kind: str
    extra_fields: frozenset[str]
    is_strict: bool = False
    renames: bool = False

    @property
    def adopted_name(self) -> str:
        """The name of the form of a file that is as it was adopted."""
        return f"{RENDER_VERSION}:{self.kind}:{ADOPTED_FORM}"

    def name(self, planned: PlannedFile, before: PublishedFile | None) -> str:
        """Return the name of the form of a file in the record; `before` is its last row."""
        return f"{RENDER_VERSION}:{self.kind}:{self._mode(planned, before)}"

    def _mode(self, planned: PlannedFile, before: PublishedFile | None) -> str:
        usual = EXTENDED_FORM if self.extra_fields and not self.is_strict else STRICT_FORM
        if self.is_strict or not planned.is_adopted:
            return usual
        mode = form_mode(before.form) if before else ADOPTED_FORM
        if mode not in (usual, RENAMED_FORM):
            mode = ADOPTED_FORM
        return RENAMED_FORM if self.renames and mode == ADOPTED_FORM else mode


class RenderedFile(NamedTuple):
    """A file to publish: its entry in the record, and the content unless it can be read later."""

    entry: PublishedFile
    file: SourceFile | None


def render_files(
    brain: AdoptionBrain,
    snapshot: str,
    plan: PublishPlan,
    form: RenderForm,
    previous: Mapping[str, PublishedFile],
    adopted: Mapping[str, AdoptedOrigin],
    progress: Progress = no_progress,
) -> dict[str, RenderedFile]:
    """Return the files to publish by path; those that are not to be rendered are not read.

    These are files published before in this form, and files in the bytes of the brain. A
    skill that cannot be rendered is skipped with all its files, and added to `plan.skipped`.
    """
    rendered: dict[str, RenderedFile] = {}
    broken: set[str] = set()
    for done, (home, planned) in enumerate(plan.files.items()):
        progress("files read", done, len(plan.files))
        path, blob = planned.info.path, planned.info.blob
        before = previous.get(home)
        name = form.name(planned, before)
        state = info_state(planned.info)
        is_copy = form_mode(name) == ADOPTED_FORM or not planned.is_skill_text
        is_same_kind = before is not None and (before.state == state or not is_copy)
        if before and before[:3] == (path, blob, name) and is_same_kind:
            rendered[home] = RenderedFile(before._replace(was=""), None)
            continue
        is_as_adopted = home in adopted and adopted[home].state == state
        can_be_copied = planned.kind != LINK and not content_refusal(planned)
        if form_mode(name) == ADOPTED_FORM and (is_as_adopted or can_be_copied):
            rendered[home] = RenderedFile(PublishedFile(path, blob, name, state), None)
            continue
        try:
            file = render_file(brain, snapshot, planned, form, name)
        except InvalidInput as error:
            plan.skipped.append(Notice(error.code, path, error.message))
            broken.add(planned.skill_path if planned.is_skill_text else "")
            continue
        rendered[home] = RenderedFile(PublishedFile(path, blob, name, file_state(file)), file)
    broken.discard("")
    return {
        home: rendered_file
        for home, rendered_file in rendered.items()
        if plan.files[home].skill_path not in broken
    }


def render_file(
    brain: AdoptionBrain, snapshot: str, planned: PlannedFile, form: RenderForm, name: str
) -> SourceFile:
    """Return a file in the form called `name`. Raises `InvalidInput` if that is impossible."""
    refusal = content_refusal(planned)
    if refusal:
        raise InvalidInput(refusal, code="not_published")
    read = brain.files.read_stored if planned.kind == LINK else brain.files.read
    content = read(planned.info.path, snapshot)
    place = planned.inner or planned.client_path
    if planned.kind == LINK and not is_safe_link_target(place, content):
        raise InvalidInput(
            "the link points outside of its skill",
            code="link_outside",
            hint="replace the link with the file, or move the file into the skill",
        )
    if not planned.is_skill_text:
        return SourceFile(planned.kind, content)
    return render_skill_text(content, planned, form, name)


def render_skill_text(
    content: bytes, planned: PlannedFile, form: RenderForm, name: str
) -> SourceFile:
    """Return the text of a skill in the form called `name`. Raises `InvalidInput`."""
    mode = form_mode(name)
    if mode == ADOPTED_FORM:
        return SourceFile(planned.kind, content)
    if mode == RENAMED_FORM:
        return SourceFile(planned.kind, set_name(content, planned.folder_name, add=True))
    extra_fields = frozenset[str]() if mode == STRICT_FORM else form.extra_fields
    return SourceFile(FILE, export_to_spec(content, planned.folder_name, extra_fields))


def find_other_names(
    plan: PublishPlan, rendered: Mapping[str, RenderedFile], client: str
) -> list[Notice]:
    """Return notices of adopted skills whose names the client does not accept."""
    if client not in _REQUIRES_FOLDER_NAME:
        return []
    return [
        Notice(
            "name_not_folder",
            planned.client_path,
            f"its name is {printable_text(planned.skill.name)}; {client} requires that of its "
            f"folder, which --rename writes",
        )
        for home, file in rendered.items()
        if form_mode(file.entry.form) == ADOPTED_FORM
        and (planned := plan.files[home]).skill is not None
        and planned.is_skill_text
        and normalize_name(planned.skill.name) != normalize_name(planned.folder_name)
    ]
