"""JSON Schemas (draft 2020-12) of files, and of what commands print with `--json`.

Those of commands are made from the types of their results; `python -m brain_cli.schemas FILE`
writes all of them as one document. Those of files, such as proofs and receipts, and of errors
are the files of the package `brain._schemas`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

_MODULES = (
    *("brain.solving.check", "brain.serve.tools.definitions", "brain_cli.commands.demo"),
    *(f"brain.results.{name}" for name in ("skills", "changes", "trust", "runs", "learning")),
)
"""Where the types are that the tables name; of one name, the last counts."""

_ON_CHAIN = ("Committed", "CostQuote", "Unsigned")

COMMANDS: dict[str, str | tuple[str, ...]] = {
    "adopt": ("Adopted", "runs: list[ImportedRun]"),
    "blame": "lines: list[BlameLine]",
    "branch": "Branches",
    "chain batch": ("Batch", "CostQuote", "Unsigned"),
    "chain commit": _ON_CHAIN,
    "chain deploy": ("Deployment", "CostQuote", "Unsigned"),
    "chain evidence": "*: Evidence; file: str | None; evidence: EvidenceFile | None",
    "chain open": _ON_CHAIN,
    "chain owner": ("Transaction", "Superseded", "Unsigned"),
    "chain record": ("Committed", "ledger identity: str; cosigned: list[str]"),
    "chain status": "*: LedgerStatus; key checkpoint file: str | None",
    "completion": "shell script: str",
    "config": "file: str; settings: list[SettingRow]",
    "demo": "ok: bool; steps: list[DemoStep]",
    "diff": "*: Diff; stat?: list[DiffStat]; patch?: str",
    "doctor": "ok: bool; checks repaired: list[DoctorCheck]",
    "evolve accept": "Decided",
    "evolve acquire": "Decided",
    "evolve admit": ("Decided", "decided: list[Decided]"),
    "evolve allow": "skill: str; folders write: dict[str, str]; hosts secrets missing: list[str];"
    " minutes: float; memory_mb: int",
    "evolve attempts": (
        "attempts: list[Attempt]",
        "attempt slug snapshot author reason: str; time: datetime; verdict: VerdictFields;"
        " files: dict[str, str]",
    ),
    "evolve case add": "CaseAdded",
    "evolve case list": "cases: list[SkillCase]",
    "evolve case show": "SkillCase",
    "evolve count": "runs: list[RunCounted]",
    "evolve gaps": ("OpenGaps", "GapEvent"),
    "evolve grind": "name branch solver evolver result reason: str; settings: dict[str, Any];"
    " tasks: list[GrindTask]; steps: list[GrindStep]; batches: list[GrindBatch]; egl: float;"
    " converged: bool; final_score: float | None; compare: Comparison | None;"
    " transfer: list[Transfer]; cost: GrindCost",
    "evolve import-registry": "ImportedRegistry",
    "evolve patterns": "SkillPatterns",
    "evolve pin": "Pinned",
    "evolve recheck": "Recheck",
    "evolve reinstate": "Decided",
    "evolve retire": "Decided",
    "evolve run": ("ScheduledStep", "kind text: str"),
    "evolve stats": "UsageStats",
    "evolve status": "EvolutionStatus",
    "evolve synthesize": "Synthesized",
    "evolve task add": "cases: list[CaseAdded]; left_out: list[LeftOut]",
    "evolve task check": "TaskCheck",
    "evolve task list": "tasks: list[TaskRow]; broken: list[LeftOut]",
    "evolve task run": "name solver reason: str; score: float | None; parts?: dict[str, float];"
    " unjudged?: list[str]; judged_by?: str; is_shared?: bool; was_read?: bool | None;"
    " requests? tokens_in? tokens_out?: int",
    "evolve try": "*: GateOutcome; model: str; requests tokens_in tokens_out: int",
    "evolve unpin": "Pinned",
    "fork": "Forked",
    "gc": "Collected",
    "grep": "matches: list[GrepMatch]",
    "index": "Index",
    "init": "Init",
    "key list": "keys: list[OwnKey]; trusted: Trusted | None",
    "key new": "name key path: str; encrypted: bool",
    "key repair": "TrustChanged",
    "key revoke": "TrustChanged",
    "key roots": "brain path: str; roots: list[str]",
    "key trust": "TrustChanged",
    "log": (
        "snapshots: list[LogEntry]; slug?: str; versions?: list[SkillVersion]",
        "operations: list[Operation]",
    ),
    "mcp install": "client scope path: str; changed: bool; entry: dict[str, Any];"
    " command: list[str] | None; text problem: str | None",
    "mcp serve": "url mode token_file: str",
    "memory add": "MemoryChanged",
    "memory remove": "MemoryChanged",
    "memory show": "*: MemoryRead; names: list[str]",
    "merge": "Merged",
    "prompt": "Prompt",
    "proposal accept": "Merged",
    "proposal list": "proposals: list[Proposal]; more: int",
    "proposal reject": "Proposal",
    "proposal show": "*: Proposal; programs: list[ProposedProgram]; patch: str;"
    " unshown: list[UndiffableFile]; hunks: list[Hunk]",
    "prove": "*: Proof; file: str | None; proof: ProofFile | None",
    "publish": "Published",
    "redact": "Redacted",
    "redo": "Undone",
    "resolve": "conflicts: list[MergeConflict]",
    "restore": ("Restored", "Upserted"),
    "secrets": "SecretScan",
    "show": (
        "*: SnapshotInfo; counts: dict[str, int]; sections: dict[str, SectionInfo];"
        " signatures: list[Signature]; changes: list[PathChange]; skills: list[SkillChange];"
        " verdict: VerdictFields | None; stat?: list[DiffStat]; patch?: str",
        "RunInfo",
    ),
    "sign": ("Signature", "signatures: list[Signature]"),
    "skill check": "ok: bool; skills: int; problems: list[SkillProblem];"
    " similar: dict[str, list[Similar]]",
    "skill delete": "Upserted",
    "skill list": "skills: list[Skill]",
    "skill merge": "SkillMergeResult",
    "skill rename": "Upserted",
    "skill run": "ProgramRun",
    "skill upsert": "*: Upserted; similar: list[Similar]",
    "skill view": "SkillView",
    "snapshot": "Recorded",
    "status": "Status",
    "switch": "Switched",
    "tag": ("Tag", "tags: list[Tag]"),
    "tools call": "ToolResult",
    "tools list": "form: str; tools: list[dict[str, Any]]",
    "undo": "Undone",
    "verify": ("Verified", "Proof", "Evidence", "ReceiptVerified", "Recheck"),
    "watch": "Watched",
    "why": "SkillReasons",
}
"""Command to what it prints: a type, the fields of an object, or several of which it is one.

A field with `?` may be missing; `*` are all fields of a type. A command that prints several
lines prints such an object on each.
"""

_SHAPES = {
    "Comparison": "split: str; tasks: list[ComparedTask]; wins losses ties: int",
    "ComparedTask": "name category: str; before after: float | None",
    "Deployment": "ledger identity contract status: str; since: int; transaction: str | None;"
    " gas: int | None; fee: Wei | None",
    "GrindBatch": "number passed first_passed skills: int; tasks: list[str]; egl: float;"
    " went_back_to: str; gate: Promotion | None",
    "GrindCost": "requests tokens_in tokens_out: int; seconds: float",
    "GrindCycle": "cycle tests_passed tests requests tokens_in tokens_out: int; seconds: float;"
    " score: float | None; passed: bool; was_read: bool | None; failure snapshot: str;"
    " skills: list[str]",
    "GrindStep": "number batch skills_before skills_after requests tokens_in tokens_out: int;"
    " kind before snapshot error: str; tasks added changed: list[str]; refused: list[RefusedEdit]",
    "GrindTask": "name category split result reason: str; cycles: list[GrindCycle]",
    "ImportedRun": "receipt run task outcome: str; started steps: int; source: ReceiptSource;"
    " file: str | None",
    "LeftOut": "name reason: str",
    "LogEntry": "*: SnapshotInfo; changes?: list[PathChange]; skills?: list[SkillChange];"
    " stat?: list[DiffStat]; patch?: str",
    "OwnKey": "name key: str; encrypted signs: bool; time: datetime",
    "Promotion": "done reason slug snapshot proposal attempt: str; version: Version | None;"
    " wins losses ties: int | None; e_value: str | None",
    "RefusedEdit": "path reason: str",
    "SettingRow": "key: str; value: str | int | float | list[str] | None;"
    " source variable: str | None",
    "TaskRow": "name format source scored_by base python: str;"
    " needs_judge is_shared has_oracle: bool; packages wheels missing notes: list[str]",
    "Transaction": "ledger identity brain status: str; transaction: str | None;"
    " block gas: int | None; fee: Wei | None",
    "Transfer": "skill born_at category: str; tasks first_passed: int",
    "Unsigned": "sender: str; chain_id: int; file: str | None; unsigned: dict[str, Any] | None",
    "Warning": "code snapshot message: str",
}
"""Objects without a type, by a name for the schemas."""

_NAMED: dict[str, dict[str, Any]] = {
    "EvidenceFile": {"$ref": "evidence.json"},
    "OperationFields": {"$ref": "defs.json#/$defs/operation"},
    "ProofFile": {"$ref": "proof.json"},
    "ReceiptSource": {"$ref": "defs.json#/$defs/receiptSource"},
    "ReceiptStep": {"$ref": "defs.json#/$defs/receiptStep"},
    "VerdictFields": {"$ref": "defs.json#/$defs/verdict"},
    "Wei": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^0x[0-9a-f]+$"}]},
}
"""Types that are an alias in annotations: objects whose shape a format fixes, large numbers."""

_CHANGES = "added|renamed|upgraded|changed|removed"
_DECISIONS = "admit|reject|retire|reinstate"
_GATE_WORDS = "|admit|reject|undecided"
_OUTCOMES = "|success|failure|cancelled|unknown"
_SELECTORS = "keyword|bm25|embedding|hybrid"
_STATUSES = "none|unknown|pending|included|safe|finalized|replaced|failed"

_WORDS = {
    "Committed.status": _STATUSES,
    "Decided.decision": _DECISIONS,
    "EvolutionStatus.mode": "propose|gated|off",
    "FileState.type": "file|executable|link",
    "Finding.severity": "error|warning|note",
    "GateNumbers.provisional": "|yes|no",
    "GateOutcome.gate": _GATE_WORDS,
    "GateOutcome.done": "admitted|provisional|proposed|rejected|kept|taken back|nothing",
    "HealthChange.action": "roll_back|retire|degraded",
    "Index.selected_by": _SELECTORS,
    "LedgerStatus.status": _STATUSES,
    "LedgerVerdict.status": _STATUSES,
    "LeftOutSkills.reason": "link_outside|ignored|hidden_folder|in_skill|link|top",
    "MergeConflict.choice": "ours|theirs|both|content",
    "OpenGaps.mode": "propose|gated|off",
    "PathChange.change": "added|removed|modified|renamed",
    "ProgramCall.kind": "call|fetch",
    "Prompt.selected_by": _SELECTORS,
    "Proof.kind": "path|section|descent",
    "ProposedProgram.status": "runnable|not_admitted|changed|not_tried|unusable",
    "Recheck.found_gate": _GATE_WORDS,
    "Recheck.gate": _GATE_WORDS,
    "RecheckedCase.kind": "held_out|guard",
    "RecheckedCase.state": "same|differs|unknown",
    "RecordedSecret.grade": "certain|doubtful",
    "RunInfo.outcome": _OUTCOMES,
    "RunSummary.outcome": _OUTCOMES,
    "ScheduledStep.result": "done|failed|waiting|busy",
    "SkillCase.split": "held-out|practice|",
    "SkillChange.change": _CHANGES,
    "SkillDecision.decision": _DECISIONS,
    "SkillDecision.state": "kept|missing|redacted|foreign",
    "SkillProblem.severity": "error|warning",
    "SkillUsage.state": "ok|degraded|retired|not_admitted|not_tried|changed|unusable",
    "SkillVersion.change": _CHANGES,
    "Synthesized.decision": "created|improved|nothing|not_hard",
    "Synthesized.trigger": "|tool_calls|recovery|asked",
    "UndiffableFile.reason": "binary|too_large|redacted",
    "VersionReason.change": _CHANGES,
    "VersionReason.state": "kept|none|missing|redacted|foreign",
    "Waiting.kind": "merge|proposals|provisional|unsigned",
}
"""Fields of types whose text is one of a few words."""

_IDS = frozenset(
    "snapshot snapshots bundle brain head parents bases blob blobs receipt ancestor descendant"
    " snapshot_before bundle_before bundle_after committed".split()
)
"""Fields whose text is an id, or empty."""

_TEXT = {"type": "string"}
_ID = {"type": "string", "pattern": "^([0-9a-f]{64})?$"}
_PLAIN: dict[Any, dict[str, Any]] = {
    Any: {},
    str: _TEXT,
    bytes: _TEXT,
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    dict: {"type": "object"},
    datetime: {
        "type": "string",
        "pattern": r"^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\.[0-9]{3}Z$",
    },
}
DRAFT = "https://json-schema.org/draft/2020-12/schema"
_URL = "https://brain.invalid/schemas/1/commands.json"
_REFERENCE = re.compile(r'"\$ref": "(?:#/\$defs/(\w+)|(\w+)\.json)')


def file_names() -> list[str]:
    """Return the names of the schemas of files, sorted."""
    found = (Path(file.name) for file in files("brain._schemas").iterdir())
    return sorted(one.stem for one in found if one.suffix == ".json" and one.stem != "defs")


def load(name: str) -> dict[str, Any]:
    """Return the schema of a file, such as "proof", or a command, as "skill list", in one piece.

    Raises `KeyError` if there is none of that name.
    """
    found = _read_file(name) if name in file_names() else _command_schema(name)
    return {"$schema": DRAFT, "$id": _URL, **found, "$defs": _definitions(found)}


def _read_file(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("brain._schemas") / f"{name}.json").read_text("utf-8")
    )
    return found


def render() -> str:
    """Return the schemas of all commands as one document: `#/$defs/skill list` is that of one."""
    commands = {command: _command_schema(command) for command in COMMANDS}
    shared = _definitions(commands)
    title = "What the commands of brain print with --json"
    document = {"$schema": DRAFT, "$id": _URL, "title": title, "$defs": {**commands, **shared}}
    return json.dumps(document, indent=1) + "\n"


def list_types() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the types of what commands print: name, description, fields."""
    shapes = [shape for command in COMMANDS for shape in _shapes(command)]
    printed = {name for shape in shapes for name in re.findall(r"^\w+$|(?<=\*: )\w+", shape)}
    shared = _definitions([_command_schema(command) for command in COMMANDS])
    for name in sorted(printed | {name for name in shared if name[0].isupper()}):
        yield name, _description(name), _fields(name)


def _shapes(command: str) -> tuple[str, ...]:
    shapes = COMMANDS[command]
    return (shapes,) if isinstance(shapes, str) else shapes


def _command_schema(command: str) -> dict[str, Any]:
    """Return the schema of a command; emit adds warnings about a snapshot to any object."""
    found = [
        _object_schema({**_fields(shape), "warnings?": "list[Warning]"})
        for shape in _shapes(command)
    ]
    head = {"title": f"brain {command}"}
    return {**head, **(found[0] if len(found) == 1 else {"anyOf": found})}


def _definitions(schema: Any) -> dict[str, Any]:
    """Return what a schema refers to, also within that: types, and formats of files."""
    found: dict[str, Any] = {}
    wanted = [schema]
    for one in wanted:
        for name, file in sorted(set(_REFERENCE.findall(json.dumps(one)))):
            key = name or file
            if key not in found:
                found[key] = _type_schema(name) if name else _read_file(file)
                wanted.append(found[key])
    return found


def _type_schema(name: str) -> dict[str, Any]:
    text = " ".join(_description(name).split())
    return {**({"description": text} if text else {}), **_object_schema(_fields(name))}


def _description(name: str) -> str:
    text = inspect.getdoc(_names()[name]) or ""
    return "" if name in _SHAPES or text.startswith(f"{name}(") else text


def _fields(shape: str) -> dict[str, str]:
    """Return the fields of a type, or of an object as the tables write it, with their types."""
    shape = _SHAPES.get(shape, shape)
    if ":" not in shape:
        annotations = _names()[shape].__annotations__  # typing.NamedTuple wraps the text of them
        found = {name: getattr(kind, "__forward_arg__", kind) for name, kind in annotations.items()}
        for name, kind in found.items():
            if (words := _WORDS.get(f"{shape}.{name}")) is not None:
                found[name] = kind.replace("str", f"Literal{words.split('|')}")
        return {name.rstrip("_"): kind for name, kind in found.items()}
    found = {}
    for part in shape.split("; "):
        names, _, kind = part.partition(": ")
        found |= _fields(kind) if names == "*" else dict.fromkeys(names.split(), kind)
    return found


def _object_schema(fields: dict[str, str]) -> dict[str, Any]:
    properties = {name.rstrip("?"): (name, kind) for name, kind in fields.items()}
    return {
        "type": "object",
        "properties": {
            name: _schema(eval(kind, {**_names()}), _ID if name in _IDS else _TEXT)
            for name, (_, kind) in properties.items()
        },
        "required": [name for name in properties if name in fields],
        "additionalProperties": False,
    }


def _schema(kind: Any, text: dict[str, Any] = _TEXT) -> dict[str, Any]:
    """Return the schema of a type; `text` is that of a str in it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is str:
        return text
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(arguments[0], text) if arguments else {}}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], text)}
    if arguments:
        sides = [_schema(one, text) for one in arguments]
        if all(one.keys() == {"type"} for one in sides):
            return {"type": [one["type"] for one in sides]}
        return {"anyOf": sides}
    if kind in _PLAIN:
        return _PLAIN[kind]
    return _NAMED.get(kind.__name__, {"$ref": f"#/$defs/{kind.__name__}"})


@cache
def _names() -> dict[str, Any]:
    """Return the types by name."""
    found: dict[str, Any] = {}
    for module in _MODULES:
        found |= {k: v for k, v in vars(import_module(module)).items() if not k.startswith("_")}
    found |= {name: type(name, (), {}) for name in (*_SHAPES, *_NAMED)}
    return {**found, "Sequence": list, "Mapping": dict, "datetime": datetime, "Literal": Literal}


def main(arguments: list[str]) -> None:
    """Write the schemas of all commands to the file named."""
    Path(arguments[0]).write_text(render(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
