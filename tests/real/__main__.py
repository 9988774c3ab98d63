"""Lets installed programs make their homes, adopts these, and has them read what is published.

    python -m tests.real [hermes claude codex openclaw gemini opencode qwen copilot cline goose
                          continue]

The programs are those on the PATH; nothing is installed, and the model they ask is one on
loopback. Each works in a folder of its own, so that nobody's real home is touched. Too
heavy for every run of the tests: tests/support/agent_homes.py has the shapes that came of it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from brain import Brain
from brain.adopting import publish
from brain.adopting.publish_manifest import RECORD_NAME
from brain.receipts.receipt import receipt_to_json
from brain.receipts.transcripts import read_transcript
from tests.real.endpoint import ANSWER, Model, listening
from tests.support.agent_homes import skill_text, write_files

SECONDS = 300
SLUG = "count-the-stars"
ABOUT = "Count the stars by night."


class Program:
    """A program in a folder of its own; `home` is what it makes.

    `shows` is what of a skill that was changed it shows to its user, or to the model.
    """

    def __init__(
        self, root: Path, model: Model, home: str, *, shows: str = ABOUT, **environment: str
    ) -> None:
        self.root, self.model, self.home, self.shows = root, model, root / home, shows
        self.project = root / "project"
        self.project.mkdir(parents=True)
        paths = {"HOME": str(root), "PATH": os.environ["PATH"], "TERM": "dumb"}
        keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
        self.environment = {**paths, **keys, **environment}

    def run(self, *command: str) -> str:
        """Run a command of the program, and return what it prints."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return done.stdout


def hermes(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Hermes."""
    made = Program(root, model, ".hermes", HERMES_HOME=str(root / ".hermes"))
    settings = f"model:\n  default: loopback\n  provider: custom\n  base_url: {model.url}/v1\n"
    write_files(made.home, {"config.yaml": settings})
    return made, lambda: made.run("hermes", "-z", "Say hello")


def claude(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Claude Code."""
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    made = Program(root, model, ".claude", ANTHROPIC_BASE_URL=model.url, **quiet)
    return made, lambda: made.run("claude", "-p", "Say hello")


def codex(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Codex."""
    made = Program(root, model, ".codex", CODEX_HOME=str(root / ".codex"))
    lines = ['model = "loopback"', 'model_provider = "loopback"', "[model_providers.loopback]"]
    lines += ['name = "loopback"', f'base_url = "{model.url}/v1"', 'wire_api = "responses"']
    write_files(made.home, {"config.toml": "\n".join((*lines, 'env_key = "OPENAI_API_KEY"', ""))})
    return made, lambda: made.run("codex", "exec", "--skip-git-repo-check", "Say hello")


def openclaw(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a workspace of OpenClaw, which lists its skills without a model."""
    made = Program(root, model, ".openclaw/workspace")
    made.run("openclaw", "setup", "--baseline")
    return made, lambda: made.run("openclaw", "skills", "list", "--json")


def gemini(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Gemini CLI, which lists its skills without a model."""
    access = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url}
    made = Program(root, model, ".gemini", GEMINI_CLI_TRUST_WORKSPACE="true", **access)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write_files(made.home, {"settings.json": json.dumps(settings)})
    return made, lambda: made.run("gemini", "skills", "list")


def opencode(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of opencode, which lists its skills without a model."""
    made = Program(root, model, ".config/opencode", OPENCODE_DISABLE_AUTOUPDATE="1")
    access = {"baseURL": f"{model.url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": access, "models": {"loopback": {}}}
    settings = {"model": "loopback/loopback", "provider": {"loopback": provider}}
    write_files(made.home, {"opencode.json": json.dumps(settings)})
    return made, lambda: made.run("opencode", "debug", "skill")


def copilot(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of GitHub Copilot CLI, which lists its skills without a model."""
    made = Program(root, model, ".copilot")
    return made, lambda: made.run("copilot", "skill", "list")


def qwen(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Qwen Code."""
    named = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "loopback"}
    made = Program(root, model, ".qwen", **named)
    return made, lambda: made.run("qwen", "--auth-type", "openai", "-p", "Say hello")


def cline(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Cline, which shows the model the names of skills alone."""
    made = Program(root, model, ".cline", shows=SLUG)
    access = ("-k", "none", "-m", "loopback", "-b", f"{model.url}/v1")
    made.run("cline", "auth", "-p", "openai", *access)
    return made, lambda: made.run("cline", "-t", "100", "Say hello")


def goose(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of Goose."""
    made = Program(root, model, ".config/goose", GOOSE_DISABLE_KEYRING="1")
    settings = f"GOOSE_PROVIDER: openai\nGOOSE_MODEL: loopback\nOPENAI_HOST: {model.url}\n"
    write_files(made.home, {"config.yaml": f"{settings}GOOSE_TELEMETRY_ENABLED: false\n"})
    return made, lambda: made.run("goose", "run", "--no-session", "-t", "Say hello")


def continue_cli(root: Path, model: Model) -> tuple[Program, Callable[[], str]]:
    """Make a home of the command line of Continue."""
    made = Program(root, model, ".continue", CONTINUE_TELEMETRY_ENABLED="0")
    access = f"provider: openai, model: loopback, apiKey: none, apiBase: {model.url}/v1"
    settings = f"name: test\nversion: 0.0.1\nschema: v1\nmodels: [{{name: loopback, {access}}}]\n"
    write_files(made.home, {"config.yaml": settings})
    return made, lambda: made.run("cn", "-p", "Say hello")


def gemini_transcript(program: Program) -> str:
    """Have Gemini CLI answer, and return the chat that it keeps."""
    program.run("gemini", "-m", "gemini-2.5-flash", "-p", "Say hello")
    (chat,) = program.home.glob("tmp/*/chats/session-*")
    return chat.read_text()


def opencode_transcript(program: Program) -> str:
    """Have opencode answer, and return the session that it exports."""
    program.run("opencode", "run", "Say hello")
    (session,) = json.loads(program.run("opencode", "session", "list", "--format", "json"))
    return program.run("opencode", "export", session["id"])


TRANSCRIPTS = {"gemini": gemini_transcript, "opencode": opencode_transcript}
PROGRAMS = {
    "hermes": hermes,
    "claude": claude,
    "codex": codex,
    "openclaw": openclaw,
    "gemini": gemini,
    "opencode": opencode,
    "qwen": qwen,
    "copilot": copilot,
    "cline": cline,
    "goose": goose,
    "continue": continue_cli,
}
COMMANDS = {"continue": "cn"}
ASKED_WITH_TOOLS = ("hermes", "qwen", "goose")


def main(names: list[str]) -> None:
    """Go through the programs that are installed, or those that are named."""
    for name in names or [name for name in PROGRAMS if shutil.which(COMMANDS.get(name, name))]:
        with tempfile.TemporaryDirectory() as folder, listening() as model:
            _go_through(name, Path(folder), model)


def _go_through(name: str, root: Path, model: Model) -> None:
    program, ask = PROGRAMS[name](root, model)
    ask()
    teacher = write_files(
        root / "teacher", {f"skills/{SLUG}/SKILL.md": skill_text(SLUG, "Count the stars.")}
    )
    with Brain.init(teacher) as brain:
        brain.snapshot()
        publish(brain, name, program.home)
    model.asked.clear()
    seen = ask() + "".join(model.asked)
    done = Brain.adopt(program.home, root / "brain")
    with Brain.open(root / "brain") as brain:
        taught = [row.slug for row in brain.skills.list()]
    again = Brain.adopt(program.home, root / "brain")
    assert SLUG in seen, f"{name} does not read what is published"
    assert SLUG in taught and not again.changed
    _write_back(name, program, root / "brain")
    model.asked.clear()
    assert program.shows in ask() + "".join(model.asked), (
        f"{name} does not read what was written back"
    )
    served = _serve(name, program, root / "brain", ask)
    print(f"{name}: read what was published and written back; is known as {done.kind}")
    print(f"  {served}")
    if transcript := TRANSCRIPTS.get(name):
        receipt = read_transcript(transcript(program).encode())
        assert receipt.source is not None and receipt.source.format == name
        assert ANSWER in str(receipt_to_json(receipt)), f"{name}: its answer is not in the steps"
        print(f"  its transcript is a receipt with {len(receipt.steps)} steps")
    print(f"  skills: {', '.join(taught)}")
    print(f"  taken: {', '.join(row.source for row in done.taken)}")
    print(f"  left out: {', '.join(row.path for row in done.left_out)}")


def _write_back(name: str, program: Program, folder: Path) -> None:
    """Change the skill in the brain, and publish; no other file of the home may change."""
    before = _read_files(program.home)
    with Brain.open(folder) as brain:
        brain.skills.upsert(SLUG, skill_text(SLUG, ABOUT))
        publish(brain, name, program.home)
    after = _read_files(program.home)
    moved = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    allowed = {path for path in moved if SLUG in path or path.endswith(RECORD_NAME)}
    assert moved == allowed, f"{name}: also changed were {moved - allowed}"


def _serve(name: str, program: Program, folder: Path, ask: Callable[[], str]) -> str:
    """Enter the brain in the settings; a program that asks a model offers it the tools."""
    if not program.model.asked or name not in ASKED_WITH_TOOLS:
        return "its model is not asked with the tools of servers"
    install = (sys.executable, "-m", "brain_cli", "-C", str(folder), "mcp", "install", name)
    if name == "qwen":
        program.run(*install)
    else:  # YAML is not edited: the entry is pasted
        with (program.home / "config.yaml").open("a") as settings:
            settings.write(program.run(*install, "--print"))
    program.model.asked.clear()
    ask()
    assert "skills_list" in "".join(program.model.asked), f"{name} does not start the server"
    return "offers its model the tools of the server that `brain mcp install` added"


def _read_files(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


if __name__ == "__main__":
    main(sys.argv[1:])
