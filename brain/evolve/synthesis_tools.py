"""The tools of a model that drafts a skill: read skills, and write files of one draft.

A draft is in memory; nothing is on disk before the gate has decided. The tools reach the skills
of the brain and the draft, no cases, no other file and no network. Lines that repeat the input
of a held-out case are left out of all that they show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, InvalidInput, printable_text
from ..programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..skills.slug import slugify
from ..util import strict_json
from .answer_check import UnfitAnswer
from .synthesis_prompt import ANSWER_SCHEMA, KnownSkill
from .tool_model import CallResult, ToolCall, ToolSpec
from .transcript import mask_text, quote_lines

if TYPE_CHECKING:
    from .related_material import RelatedMaterial

SKILL_FILE = "SKILL.md"
DRAFT_FILES = (SKILL_FILE, PROGRAM_FILE, SCHEMA_FILE, CASES_FILE, CHECK_FILE)
"""The files of a skill that a model may read and write; never its cases."""
MAX_DRAFT_BYTES = 256 << 10
"""Size of all files of a draft."""
MAX_SHOWN_BYTES = 256 << 10
"""Size of everything that the tools show in one conversation."""
_MAX_LISTED = 200
_MAX_ARGUMENT_BYTES = 512 << 10
_MAX_DEPTH, _MAX_VALUES = 8, 64

ANSWER_TOOL = "answer"
_TEXT = {"type": "string"}


def _spec(tool: str, description: str, **parameters: Mapping[str, Any]) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": parameters,
        "required": list(parameters),
        "additionalProperties": False,
    }
    return ToolSpec(tool, description, schema)


_FILE = {"enum": list(DRAFT_FILES), "description": "The file of the skill."}
TOOL_SPECS = (
    _spec("skills_list", "List all skills: name and description."),
    _spec("skill_view", "Show the text of a skill.", name=_TEXT),
    _spec("read_file", "Read a file of a skill, or of your draft of it.", skill=_TEXT, path=_FILE),
    _spec(
        "write_file",
        "Write a file of the one skill that you draft. SKILL.md has no front matter.",
        skill=_TEXT,
        path=_FILE,
        text=_TEXT,
    ),
    ToolSpec(
        ANSWER_TOOL,
        "Decide, and end the conversation. The body may be left out if you wrote SKILL.md.",
        ANSWER_SCHEMA,
    ),
)


@dataclass(slots=True)
class DraftTools:
    """The tools over one brain, with the draft that they have written so far.

    `shown` are the skills that the model has read, by slug: only these it may improve.
    """

    material: RelatedMaterial
    shown: dict[str, KnownSkill]
    slug: str = ""
    files: dict[str, str] = field(default_factory=dict)
    _shown_bytes: int = 0

    def call(self, call: ToolCall) -> CallResult:
        """Return the result of a call, or what was wrong with it, as a text for the model."""
        try:
            text = self.material.held_out.hide_in(self._run(call))
        except BrainError as error:
            text = f"Error: {error.message}"
        self._shown_bytes += len(text.encode("utf-8", "replace"))
        if self._shown_bytes > MAX_SHOWN_BYTES:
            text = "Error: you have read enough; answer now"
        return CallResult(call.id, call.name, text)

    def _run(self, call: ToolCall) -> str:
        tools: dict[str, Callable[..., str]] = {
            "skills_list": self._list_skills,
            "skill_view": self._view_skill,
            "read_file": self._read_file,
            "write_file": self._write_file,
        }
        if call.name not in tools:
            raise InvalidInput(f"there is no tool {printable_text(call.name, 40)}")
        spec = next(spec for spec in TOOL_SPECS if spec.name == call.name)
        return tools[call.name](**_parse_arguments(call, spec))

    def _list_skills(self) -> str:
        skills = self.material.brain.skills.list()
        lines = [f"{skill.slug}: {skill.description}" for skill in skills[:_MAX_LISTED]]
        if len(skills) > _MAX_LISTED:
            lines.append(f"({len(skills) - _MAX_LISTED} more are not shown)")
        return quote_lines(mask_text("\n".join(lines))) or "(none)"

    def _view_skill(self, name: str) -> str:
        skill = self._require_skill(name)
        self.shown[skill.slug] = skill
        text = mask_text(f"{skill.description}\n\n{skill.body}")
        return f"Skill {skill.slug}, version {skill.version}:\n{quote_lines(text)}"

    def _read_file(self, skill: str, path: str) -> str:
        slug = slugify(skill)
        _require_draft_file(path)
        if slug == self.slug and path in self.files:
            return quote_lines(self.files[path])
        if path == SKILL_FILE:
            return self._view_skill(skill)
        content = self.material.brain.skills.read_file(
            self._require_skill(skill).slug, path
        ).content
        return quote_lines(mask_text(content.decode("utf-8", "replace")))

    def _write_file(self, skill: str, path: str, text: str) -> str:
        slug = slugify(skill)
        _require_draft_file(path)
        if self.slug and slug != self.slug:
            raise InvalidInput(f"your draft is of {self.slug}; no other skill can be changed")
        others = sum(len(old.encode()) for name, old in self.files.items() if name != path)
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InvalidInput("the text is not valid Unicode") from None
        if others + size > MAX_DRAFT_BYTES:
            raise InvalidInput(f"the files of a draft have at most {MAX_DRAFT_BYTES} bytes")
        self.slug = slug
        self.files[path] = text
        return f"Drafted {path} of {slug}, {size} bytes."

    def _require_skill(self, name: str) -> KnownSkill:
        skill = self.material.find_skill(name)
        if skill is None:
            raise InvalidInput(f"no skill has the name {printable_text(name, 80)}")
        return skill


def _require_draft_file(path: str) -> None:
    if path not in DRAFT_FILES:
        raise InvalidInput(
            f"{printable_text(path, 80)} is none of the files {', '.join(DRAFT_FILES)}"
        )


def _parse_arguments(call: ToolCall, spec: ToolSpec) -> dict[str, str]:
    if len(call.arguments) > _MAX_ARGUMENT_BYTES:
        raise InvalidInput("the arguments are too long")
    data = call.arguments.encode("utf-8", "surrogatepass") or b"{}"
    value = strict_json.parse_json(
        data, _MAX_DEPTH, _MAX_VALUES, lambda message, _code: UnfitAnswer(message)
    )
    names = list(spec.parameters["properties"])
    if not isinstance(value, dict) or sorted(value) != sorted(names):
        raise InvalidInput(f"{spec.name} takes {', '.join(names) or 'no arguments'}")
    if not all(isinstance(text, str) for text in value.values()):
        raise InvalidInput(f"the arguments of {spec.name} are texts")
    return value
