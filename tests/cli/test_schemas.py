"""Every command's JSON has a schema, and what the commands really print keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from brain_cli import schemas

from brain import Brain
from tests.cli.conftest import Call, validate
from tests.cli.test_help import LEAVES
from tests.support import agent_transcripts, gate_decisions
from tests.support.acquired import creation
from tests.support.agent_homes import make_hermes_home
from tests.support.decisions import admit_new
from tests.support.task_folders import HARBOR, make_task
from tests.support.user_settings import configure

ON_A_CHAIN = {"chain deploy", "chain owner", "chain record"}
"""What takes a node: `test_on_chain` calls these."""
FILES = {"error", "manifest", "frontmatter", "frontmatter-strict", "trust"}
FILES |= {"proof", "evidence", "receipt", "verdict"}


def test_every_command_has_a_schema_and_every_schema_is_of_a_command_or_a_file():
    assert set(schemas.file_names()) == FILES
    assert set(schemas.COMMANDS) == {" ".join(path) for path in LEAVES}


@pytest.mark.parametrize("name", [*schemas.file_names(), *schemas.COMMANDS])
def test_a_schema_is_one_of_draft_2020_12_in_one_piece(name):
    schema = schemas.load(name)
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema)
    assert schema["title"]


def test_every_field_with_a_few_words_is_one_of_a_type():
    types = {name: fields for name, _, fields in schemas.list_types()}
    for field in schemas._WORDS:
        name, _, part = field.partition(".")
        assert "Literal" in types[name][part], field


def test_all_schemas_of_commands_are_written_as_one_document(tmp_path):
    schemas.main([str(tmp_path / "commands.json")])
    written = json.loads((tmp_path / "commands.json").read_text())
    jsonschema_rs.meta.validate(written)
    assert written["$defs"].keys() > set(schemas.COMMANDS)
    registry = jsonschema_rs.Registry([(written["$id"], written)])
    pointer = {"$ref": f"{written['$id']}#/$defs/skill%20list"}
    found = jsonschema_rs.validator_for(pointer, registry=registry)
    assert found.is_valid({"skills": []}) and not found.is_valid({"skills": [], "more": 1})


def test_an_unknown_schema_is_a_key_error():
    with pytest.raises(KeyError):
        schemas.load("../pyproject")


def upsert(cli: Call) -> None:
    Path("body.md").write_text("# Oracles\n\nBetter.\n")
    assert cli("skill", "upsert", "oracle-manipulation", "-f", "body.md").status == 0


def diverge(cli: Call) -> None:
    """Change a skill and a prompt on two branches; end on main."""
    cli("branch", "idea")
    for name in ("main", "idea"):
        cli("switch", name)
        Path("body.md").write_text(f"# Oracles\n\nBetter on {name}.\n")
        cli("skill", "upsert", f"only-{name}", "-d", "x")
        cli("skill", "upsert", "oracle-manipulation", "-f", "body.md")
        Path("body.md").unlink()
    cli("switch", "main")


def proven(*what: str) -> Prepare:
    """Return what writes a proof to the file proof.json."""
    return lambda cli: cli("prove", *what, "-o", "proof.json")


def trust(cli: Call) -> None:
    """Trust two own keys."""
    for name in ("ada", "bob"):
        cli("key", "new", name)
        assert cli("key", "trust", name, "--as", name, "--key", "ada").status == 0


def commit(cli: Call) -> None:
    """Commit, and go on."""
    assert cli("chain", "commit").status == 0
    upsert(cli)


def evidence(cli: Call) -> None:
    """Write evidence of a file to e.json."""
    cli("chain", "commit")
    assert cli("chain", "evidence", "--path", "memory/notes.md", "-o", "e.json").status == 0


def configured(cli: Call) -> None:
    """Add a ledger."""
    assert configure(cli, "ledger.base", "--rpc", "http://localhost:1").status == 0


def propose(cli: Call) -> str:
    """Propose a skill, as an agent does; return the snapshot."""
    with Brain.open(".") as brain, brain.proposals.open("claude", author="claude") as agent:
        return agent.skills.upsert("Proposed", "P.\n").snapshot


def fail_goal(cli: Call) -> None:
    with Brain.open(".") as opened:
        opened.gaps.report("Count the words", "ImportError: words")
        opened.gaps.wait()


def easy_run(cli: Call) -> None:
    """Configure a model, and record a run that is not hard."""
    configure(cli, "model", "openai:x", "--base-url", "http://localhost:1/v1")
    with Brain.open(Path.cwd(), author="ada") as brain, brain.task("Look around") as task:
        task.record_tool_call("terminal", "ls", "a file")


def decided(cli: Call) -> None:
    """Admit a program."""
    with Brain.open(".") as brain:
        admit_new(brain)


def work(cli: Call) -> None:
    """Improve a skill in a task."""
    with Brain.open(".") as brain, brain.task("Improve", agent="a", model="m") as task:
        task.record_skill_load("reentrancy")
        task.record_tool_call("bash", {"cmd": "ls"}, "a b", took=3)
        task.record_model_call(input="Go", error="timeout")
        task.upsert_skill("oracle-manipulation", "# Oracles\n\nBetter.\n")
        task.write_file("memory/more.md", "more\n")


def use_and_retire(cli: Call) -> None:
    """Use skills in runs that succeed and fail, and retire one."""
    with Brain.open(".") as brain:
        for outcome in ("success", "failure", "failure", "failure"):
            with brain.task("Audit") as task:
                task.record_skill_load("oracle-manipulation")
                task.record_skill_load("reentrancy")
                task.set_outcome(outcome, "the tests fail")
    assert cli("evolve", "retire", "reentrancy", "--reason", "old").status == 0


CASE_ADD = "evolve case add reentrancy --contains guard --input".split()


def add_cases(cli: Call) -> None:
    """Add cases, five or more of them held out."""
    for number in range(16):
        assert cli(*CASE_ADD, f"Audit vault {number}", "--name", f"vault-{number}").status == 0


def decide_change(_: Call) -> None:
    """Record a change of a skill that a gate admits."""
    with Brain.open(Path(), author="ada") as brain:
        gate_decisions.add_cases(brain)
        gate_decisions.decide_by_gate(brain, gate_decisions.gate_admission())


def pin(cli: Call) -> None:
    assert cli("evolve", "pin", "reentrancy").status == 0


def transcript(cli: Call) -> None:
    """Write the transcript of a story to session.jsonl."""
    Path("session.jsonl").write_bytes(
        agent_transcripts.claude_transcript(agent_transcripts.EXAMPLE_RUN)
    )


def program(cli: Call) -> None:
    """Write a program with its tests to the folder words."""
    given = creation("words")
    Path("words/tests").mkdir(parents=True)
    Path("words/skill.py").write_text(given["python_code"])
    Path("words/tests/check.py").write_text(given["check"])
    Path("words/tests/cases.json").write_text(json.dumps([{"payload": given["test_payload"]}]))
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    Path("words/schema.json").write_text(json.dumps(schema))


def tasks(cli: Call) -> None:
    """Write a task to a folder beside the brain."""
    make_task(Path("../tasks/hello"), HARBOR)


def tasks_to_grind(cli: Call) -> None:
    """Write tasks to a folder beside the brain, some for practice, some held out."""
    for name in "abcdef":
        make_task(Path(f"../tasks/{name}"), HARBOR)


def acquired(cli: Call) -> None:
    """Acquire the skill words."""
    program(cli)
    assert cli("evolve", "acquire", "words", "-f", "words", "-d", "Words").status == 0


def registry(cli: Call) -> None:
    """Write the registry of another assistant to the folder registry."""
    Path("registry").mkdir()
    index = {"greet": {"description": "Greets"}, "../x": {"description": "Bad"}}
    Path("registry/skills_registry.json").write_text(json.dumps(index))
    Path("registry/greet.py").write_text("print('hi')\n")


REDACT = ("redact", "memory/notes.md", "--reason", "Holds a key", "--yes")


Prepare = Callable[[Call], Any]
CALLS: list[tuple[str, list[str], Prepare | None]] = [
    ("init", ["init", "other"], None),
    ("status", ["status"], None),
    ("status", ["status"], lambda cli: Path("memory/notes.md").write_text("other\n")),
    ("snapshot", ["snapshot"], None),
    ("snapshot", ["snapshot"], lambda cli: Path("memory/more.md").write_text("more\n")),
    ("skill upsert", ["skill", "upsert", "New skill", "-d", "x"], None),
    ("skill upsert", ["skill", "upsert", "reentrancy", "-d", "x"], None),
    ("skill list", ["skill", "list"], None),
    ("skill view", ["skill", "view", "reentrancy"], None),
    ("log", ["log", "oracle-manipulation"], upsert),
    ("restore", ["restore", "oracle-manipulation@1"], upsert),
    ("memory show", ["memory"], lambda cli: cli("memory", "add", "x")),
    ("memory add", ["memory", "add", "x"], None),
    ("memory remove", ["memory", "remove", "1"], lambda cli: cli("memory", "add", "x")),
    ("tag", ["tag"], lambda cli: cli("tag", "first")),
    ("tag", ["tag", "first"], None),
    ("tag", ["tag", "--delete", "first"], lambda cli: cli("tag", "first")),
    ("grep", ["grep", "-i", "BODY"], None),
    ("skill rename", ["skill", "rename", "reentrancy", "re-entry"], None),
    ("skill delete", ["skill", "delete", "reentrancy"], None),
    ("skill merge", ["skill", "merge", "reentrancy", "oracle-manipulation"], upsert),
    ("skill check", ["skill", "check", "reentrancy"], upsert),
    ("skill check", ["skill", "check"], None),
    ("log", ["log"], upsert),
    ("log", ["log", "oracle-manipulation", "-n", "1"], upsert),
    ("show", ["show"], upsert),
    ("show", ["show", "@~1"], None),
    ("diff", ["diff", "@~1", "@"], upsert),
    ("diff", ["diff", "@~1", "@", "--stat", "--patch"], upsert),
    ("diff", ["diff"], lambda cli: Path("memory/notes.md").write_bytes(b"\x00\xff")),
    ("restore", ["restore", "@~1", "skills"], upsert),
    ("undo", ["undo"], upsert),
    ("redo", ["redo"], lambda cli: (upsert(cli), cli("undo"))),
    ("log", ["log", "--ops"], upsert),
    ("branch", ["branch"], None),
    ("branch", ["branch", "idea", "@~1"], None),
    ("switch", ["switch", "idea"], diverge),
    ("merge", ["merge", "idea", "--both"], diverge),
    ("merge", ["merge", "--abort"], lambda cli: (diverge(cli), cli("merge", "idea"))),
    ("resolve", ["resolve"], lambda cli: (diverge(cli), cli("merge", "idea"))),
    ("status", ["status"], lambda cli: (diverge(cli), cli("merge", "idea"))),
    ("log", ["log"], lambda cli: (diverge(cli), cli("merge", "idea", "--ours"))),
    ("proposal list", ["proposal", "list"], propose),
    ("proposal show", ["proposal", "show", "claude"], propose),
    ("proposal reject", ["proposal", "reject", "claude"], propose),
    ("mcp install", ["mcp", "install", "claude"], None),
    ("mcp install", ["mcp", "install", "codex", "--scope", "project", "--dry-run"], None),
    ("mcp install", ["mcp", "install", "hermes", "--print"], None),
    ("fork", ["fork", "../child"], None),
    ("prove", ["prove", "memory/notes.md"], None),
    ("prove", ["prove", "memory/", "-o", "proof.json"], None),
    ("verify", ["-C", ".", "verify", "proof.json"], proven("memory/notes.md")),
    ("verify", ["-C", ".", "verify", "proof.json"], proven("skills/")),
    ("verify", ["-C", ".", "verify", "proof.json"], proven("--ancestor", "@~1")),
    ("verify", ["-C", ".", "verify", "proof.json"], proven("memory/notes.md")),
    ("show", ["show", "--run"], work),
    ("show", ["show", "@~1", "-o", "r.json"], work),
    ("verify", ["verify", "@"], work),
    ("adopt", ["adopt", "session.jsonl"], transcript),
    ("adopt", ["adopt", "session.jsonl", "r.json"], transcript),
    ("why", ["why", "oracle-manipulation"], work),
    ("why", ["why", "oracle-manipulation@1"], None),
    ("why", ["why", "count-words"], decided),
    ("show", ["show"], decided),
    ("log", ["log"], decided),
    ("log", ["log"], work),
    ("blame", ["blame", "oracle-manipulation"], upsert),
    ("sign", ["sign", "@~1"], lambda cli: cli("key", "new")),
    ("sign", ["sign", "--all", "--key", "bob"], lambda cli: (trust(cli), upsert(cli))),
    ("show", ["show"], trust),
    ("key new", ["key", "new", "work"], None),
    ("key list", ["key", "list"], trust),
    ("key trust", ["key", "trust", "default", "--as", "Ada"], lambda cli: cli("key", "new")),
    ("key revoke", ["key", "revoke", "bob", "--keep-signatures", "--key", "ada"], trust),
    ("key revoke", ["key", "revoke", "bob", "--reason", "lost", "--key", "ada"], trust),
    ("key trust", ["key", "trust", "--threshold", "2", "--key", "bob"], trust),
    ("key list", ["key", "list"], None),
    ("key roots", ["key", "roots"], None),
    ("key roots", ["key", "roots", "--add", "mallory"], lambda cli: cli("key", "new", "mallory")),
    ("key roots", ["key", "roots", "--remove", "ada"], trust),
    ("key repair", ["key", "repair", "--key", "ada"], trust),
    ("verify", ["verify", "--require-signatures"], trust),
    ("redact", [*REDACT], None),
    ("restore", ["restore", "@~1"], lambda cli: cli(*REDACT)),
    ("verify", ["verify"], lambda cli: cli(*REDACT)),
    ("gc", ["gc", "--grace", "0"], lambda cli: (upsert(cli), cli("undo"))),
    ("index", ["index"], None),
    ("prompt", ["prompt"], None),
    ("verify", ["verify", "--deep"], upsert),
    ("doctor", ["doctor"], None),
    ("secrets", ["secrets"], None),
    ("secrets", ["secrets", "@", "skills", "--history"], upsert),
    ("chain open", ["chain", "open"], None),
    ("chain open", ["chain", "open", "--dry-run"], None),
    ("chain commit", ["chain", "commit"], commit),
    ("chain commit", ["chain", "commit", "--dry-run"], None),
    ("chain batch", ["chain", "batch", "."], None),
    ("chain status", ["chain", "status"], None),
    ("chain status", ["chain", "status"], commit),
    ("verify", ["verify", "--ledger", "local"], commit),
    ("verify", ["verify", "--ledger", "all"], commit),
    ("chain status", ["chain", "status", "-o", "c.txt"], commit),
    ("chain evidence", ["chain", "evidence", "@~1"], commit),
    ("chain evidence", ["chain", "evidence", "@~1", "-o", "e.json"], commit),
    ("verify", ["-C", ".", "verify", "e.json"], evidence),
    ("config", ["config"], configured),
    ("config", ["config", "ledger.base"], configured),
    ("config", ["config", "experience", "postgresql://h/db"], None),
    ("config", ["config", "--unset", "ledger.base"], configured),
    ("publish", ["publish", "--to", "claude", "../project"], None),
    ("evolve synthesize", ["evolve", "synthesize"], easy_run),
    ("evolve run", ["evolve", "run", "--print-unit", "systemd"], None),
    ("evolve status", ["evolve", "status"], easy_run),
    ("evolve acquire", ["evolve", "acquire", "words", "-f", "words", "-d", "Words"], program),
    ("evolve admit", ["evolve", "admit", "--all"], None),
    ("evolve try", ["evolve", "try", "words", "-f", "skills/words"], acquired),
    ("evolve case add", [*CASE_ADD, "Audit the vault"], None),
    ("evolve case list", ["evolve", "case", "list"], add_cases),
    ("evolve case show", ["evolve", "case", "show", "reentrancy", "vault-3"], add_cases),
    ("evolve task add", ["evolve", "task", "add", "reentrancy", "../tasks"], tasks),
    ("evolve task list", ["evolve", "task", "list", "../tasks"], tasks),
    ("evolve task check", ["evolve", "task", "check", "../tasks"], tasks),
    ("evolve task run", ["evolve", "task", "run", "../tasks", "--solver", "oracle"], tasks),
    (
        "evolve grind",
        [
            *("evolve", "grind", "../tasks", "--solver", "echo hello >out.txt", "--compare"),
            *("--evolver", "echo x >task_skills/a", "--batch-size", "6", "--deterministic"),
            *("--report", "grind.html"),
        ],
        tasks_to_grind,
    ),
    ("evolve recheck", ["evolve", "recheck", "greet"], decide_change),
    ("evolve attempts", ["evolve", "attempts"], None),
    ("evolve allow", ["evolve", "allow", "words"], acquired),
    ("evolve import-registry", ["evolve", "import-registry", "registry"], registry),
    ("skill run", ["skill", "run", "words", '{"text": "a b"}'], acquired),
    ("evolve stats", ["evolve", "stats"], use_and_retire),
    ("evolve gaps", ["evolve", "gaps"], fail_goal),
    ("evolve patterns", ["evolve", "patterns"], None),
    ("evolve count", ["evolve", "count", "session.jsonl"], transcript),
    ("evolve pin", ["evolve", "pin", "reentrancy"], None),
    ("evolve unpin", ["evolve", "unpin", "reentrancy"], pin),
    ("evolve retire", ["evolve", "retire", "reentrancy", "--reason", "old"], None),
    ("evolve reinstate", ["evolve", "reinstate", "reentrancy"], use_and_retire),
    ("evolve reinstate", ["evolve", "reinstate", "oracle-manipulation@1"], upsert),
    ("adopt", ["adopt", "../home", "../copy"], lambda cli: make_hermes_home(Path("../home"))),
    ("adopt", ["adopt", "../home", "--dry-run"], lambda cli: make_hermes_home(Path("../home"))),
    ("snapshot", ["snapshot"], lambda cli: Path("manifest.yaml").write_text("commit: {}\n")),
    ("tools list", ["tools", "list"], None),
    ("tools list", ["tools", "list", "--for", "openai"], None),
    ("tools call", ["tools", "call", "skills_list"], None),
    ("tools call", ["tools", "call", "skill_view", '{"name": "reentrancy"}'], None),
    ("completion", ["completion", "zsh"], None),
]


@pytest.mark.parametrize(
    ("schema", "call", "prepare"), CALLS, ids=[" ".join(call) for _, call, _ in CALLS]
)
def test_what_a_command_prints_keeps_its_schema(agent, cli, schema, call, prepare):
    if prepare is not None:
        prepare(cli)
    told = cli(*call, "--json")
    assert (told.status, told.err) == (0, "")
    assert told.out.isascii() and told.out.count("\n") == 1
    validate(schema, told.document)


def test_what_accepting_prints_keeps_its_schema(agent, cli):
    told = cli("proposal", "accept", propose(cli), "--json")
    assert (told.status, told.err) == (0, "")
    validate("proposal accept", told.document)


def test_every_command_with_json_is_among_the_calls():
    called = {schema for schema, _, _ in CALLS} | ON_A_CHAIN
    called |= {"demo", "evolve accept", "mcp serve", "proposal accept", "watch"}
    assert called == {" ".join(path) for path in LEAVES}


@pytest.mark.parametrize("call", [["skill", "view", "none"], ["show", "abcdef"], ["redo"]])
def test_an_error_keeps_its_schema(agent, cli, call):
    told = cli("--json", *call)
    assert told.status == 1 and told.out == ""
    validate("error", {"error": told.error})


def test_the_example_keeps_the_schemas_of_manifest_and_front_matter(project):
    auditor = project / "examples/auditor"
    validate("manifest", yaml.safe_load((auditor / "manifest.yaml").read_text()))
    skills = sorted(auditor.glob("skills/*/SKILL.md"))
    assert len(skills) >= 5
    for skill in skills:
        head = yaml.safe_load(skill.read_text().split("---\n")[1])
        validate("frontmatter", head)
        validate("frontmatter-strict", head)


@pytest.mark.parametrize(
    "manifest",
    [{"layout": "tree"}, {"prompt": {"memory": [{"limit": 5}]}}, {"name": 3}, {"prompt": []}],
)
def test_a_wrong_manifest_does_not_keep_the_schema(manifest):
    with pytest.raises(jsonschema_rs.ValidationError):
        validate("manifest", manifest)


def test_a_manifest_may_say_more():
    validate("manifest", {"name": "a", "owner": "b", "prompt": {"memory": ["MEMORY.md"], "x": 1}})
