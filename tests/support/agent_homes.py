"""Home folders of other agent programs, shaped as the programs make them.

Read off homes made by Hermes 0.19.0, Claude Code 2.1.197, Codex 0.169.0 and OpenClaw
2026.9.6, each after one prompt answered by a model on loopback; texts are our own. What a
brain must not take says SECRET, so that a test can look for it everywhere.
"""

from collections.abc import Callable
from pathlib import Path

SECRET_MARKER = "NOT-FOR-A-BRAIN"
"""Stands in every file that must stay out."""


def write_files(root: Path, files: dict[str, str]) -> Path:
    """Write files; what ends in `/` is an empty folder."""
    for name, text in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def skill_text(name: str, about: str, extra: str = "", body: str = "Do it step by step.") -> str:
    """Return the text of a skill."""
    return f"---\nname: {name}\ndescription: {about}\n{extra}---\n\n# {name}\n\n{body}\n"


def make_hermes_home(root: Path) -> Path:
    """Make a Hermes home in which an agent wrote skills and memory."""
    write_files(
        root,
        {
            "SOUL.md": "You are a careful assistant.",
            "memories/MEMORY.md": "The build runs on two cores.\n§\nReleases are on Tuesdays.",
            "memories/USER.md": "Prefers short answers.",
            "memories/MEMORY.md.lock": SECRET_MARKER,
            "memories/USER.md.lock": SECRET_MARKER,
            "skills/writing/release-notes/SKILL.md": skill_text(
                "release-notes",
                "Write release notes from merged changes.",
                "version: 1.0.0\nmetadata:\n  hermes:\n    tags: [writing]\n",
            ),
            "skills/writing/release-notes/references/style.md": "# Style\nPlain words.\n",
            "skills/writing/release-notes/config.yaml": "tone: plain\n",
            "skills/triage/SKILL.md": skill_text("triage", "Sort new reports by what they break."),
            "skills/.usage.json": f'{{"triage": "{SECRET_MARKER}"}}',
            "skills/.usage.json.lock": SECRET_MARKER,
            "skills/.hub/lock.json": SECRET_MARKER,
            "skills/.hub/quarantine/": "",
            "skills/.archive/old/SKILL.md": skill_text("old", SECRET_MARKER),
            "skills/.curator_backups/2026-11-21T09-11-27Z/manifest.json": SECRET_MARKER,
            "state.db": SECRET_MARKER,
            "state.db-wal": SECRET_MARKER,
            ".env": f"API_KEY={SECRET_MARKER}\n",
            "auth.json": f'{{"token": "{SECRET_MARKER}"}}',
            "auth.lock": SECRET_MARKER,
            "config.yaml": f"model: {SECRET_MARKER}\n",
            ".update_check": SECRET_MARKER,
            ".skills_prompt_snapshot.json": SECRET_MARKER,
            "sessions/20261121.json": SECRET_MARKER,
            "logs/agent.log": SECRET_MARKER,
            "audio_cache/": "",
            "cron/": "",
            "hooks/": "",
            "pairing/": "",
            "sandboxes/singularity/": "",
        },
    )
    return root


def make_claude_home(root: Path) -> Path:
    """Make a Claude Code home, usually `~/.claude`."""
    return write_files(
        root,
        {
            "CLAUDE.md": "Always answer in plain words.\n",
            "skills/greet/SKILL.md": skill_text(
                "greet", "Say hello.", "argument-hint: NAME\ndisable-model-invocation: true\n"
            ),
            "rules/tests.md": "Run the tests first.\n",
            "agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews.\n---\nLook twice.\n",
            "commands/ship.md": "Ship it.\n",
            "projects/-work-app/memory/MEMORY.md": "- The app listens on 8080.\n",
            "projects/-work-app/memory/debugging.md": "- Look at the log first.\n",
            "projects/-work-app/a7c53aec.jsonl": SECRET_MARKER,
            "projects/-work-app/a7c53aec/tool-results/1.txt": SECRET_MARKER,
            "sessions/1.json": SECRET_MARKER,
            "backups/.claude.json.backup.1": SECRET_MARKER,
            ".credentials.json": SECRET_MARKER,
            "settings.json": SECRET_MARKER,
            "history.jsonl": SECRET_MARKER,
            "todos/1.json": SECRET_MARKER,
            "plugins/installed.json": SECRET_MARKER,
        },
    )


def make_claude_project(root: Path) -> Path:
    """Make a project in which Claude Code is used."""
    return write_files(
        root,
        {
            "CLAUDE.md": "# Notes\nThe service is in src.\n",
            "AGENTS.md": "Use make.\n",
            "CLAUDE.local.md": SECRET_MARKER,
            ".claude/skills/fmt/SKILL.md": skill_text("fmt", "Format the code."),
            ".claude/skills/fmt/scripts/run.sh": "#!/bin/sh\nmake fmt\n",
            ".claude/rules/style.md": "Short functions.\n",
            ".claude/settings.local.json": SECRET_MARKER,
            "src/main.py": f"# {SECRET_MARKER}\n",
            "plugins/db/skills/migrate/SKILL.md": skill_text("migrate", "Migrate the tables."),
            "plugins/db/README.md": SECRET_MARKER,
        },
    )


def make_codex_home(root: Path) -> Path:
    """Make a Codex home, usually `~/.codex`."""
    return write_files(
        root,
        {
            "AGENTS.md": "Keep changes small.\n",
            "prompts/review.md": "Review the diff.\n",
            "skills/bisect/SKILL.md": skill_text("bisect", "Find the change that broke it."),
            "skills/.system/skill-creator/SKILL.md": skill_text("skill-creator", SECRET_MARKER),
            "skills/.system/.codex-system-skills.marker": SECRET_MARKER,
            "memories/MEMORY.md": "# Registry\n- Tests need node.\n",
            "memories/memory_summary.md": "v1\nTests need node.\n",
            "memories/rollout_summaries/2026-11-21-a.md": "Fixed the tests.\n",
            "config.toml": SECRET_MARKER,
            "auth.json": SECRET_MARKER,
            "installation_id": SECRET_MARKER,
            "memories_1.sqlite": SECRET_MARKER,
            "state_5.sqlite": SECRET_MARKER,
            "sessions/2026/11/21/rollout.jsonl": SECRET_MARKER,
            "shell_snapshots/1.sh": SECRET_MARKER,
            ".tmp/plugins.sync.lock": SECRET_MARKER,
            "thread-writer-locks/.coordination.lock": SECRET_MARKER,
        },
    )


def make_codex_project(root: Path) -> Path:
    """Make a project in which Codex is used."""
    return write_files(
        root,
        {
            "AGENTS.md": "Use make.\n",
            ".agents/skills/lint/SKILL.md": skill_text("lint", "Run the linters."),
            ".codex/config.toml": SECRET_MARKER,
            "src/main.rs": f"// {SECRET_MARKER}\n",
        },
    )


def make_openclaw_workspace(root: Path) -> Path:
    """Make an OpenClaw workspace; the program makes it a repository of git as well."""
    return write_files(
        root,
        {
            ".git/HEAD": f"ref: refs/heads/{SECRET_MARKER}\n",
            "AGENTS.md": "Read the memory first.\n",
            "SOUL.md": "Be kind.\n",
            "IDENTITY.md": "Name: Crab\n",
            "USER.md": "- Likes tea.\n",
            "MEMORY.md": "- The cat is called Ada.\n",
            "HEARTBEAT.md": "Check the mail.\n",
            "memory/2026-11-20.md": "Set up.\n",
            "memory/2026-11-21.md": "First day.\n",
            "skills/tea/SKILL.md": skill_text("tea", "Make tea."),
            "BOOTSTRAP.md": SECRET_MARKER,
            "canvas/index.html": SECRET_MARKER,
            "credentials/oauth.json": SECRET_MARKER,
        },
    )


def make_openclaw_state(root: Path) -> Path:
    """Make the folder `~/.openclaw`, with the workspace in it."""
    make_openclaw_workspace(root / "workspace")
    return write_files(
        root,
        {
            "openclaw.json": SECRET_MARKER,
            "openclaw.json.bak": SECRET_MARKER,
            "config-journal-fingerprint.key": SECRET_MARKER,
            "state/openclaw.sqlite": SECRET_MARKER,
            "agents/main/sessions/1.jsonl": SECRET_MARKER,
            "skills/managed/SKILL.md": skill_text("managed", "Installed for all agents."),
            "skills/tea/SKILL.md": skill_text("tea", SECRET_MARKER),
        },
    )


def make_skill_collection(root: Path) -> Path:
    """Make a folder that holds `skills/`."""
    return write_files(
        root,
        {
            "README.md": f"{SECRET_MARKER}\n",
            "skills/pdf/SKILL.md": skill_text("pdf", "Work with PDF files.", "license: MIT\n"),
            "skills/pdf/scripts/fill.py": "print()\n",
            "skills/notes.md": skill_text("notes", "Take notes."),
        },
    )


def make_bare_skill_folder(root: Path) -> Path:
    """Make a folder of which each folder is a skill, or a category of them."""
    return write_files(
        root,
        {
            "README.md": f"{SECRET_MARKER}\n",
            "docs/guide.md": f"{SECRET_MARKER}\n",
            "xlsx/SKILL.md": skill_text("xlsx", "Work with sheets."),
            "media/gif/SKILL.md": skill_text("gif", "Make pictures that move."),
        },
    )


HOME_MAKERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "hermes": ("hermes", make_hermes_home),
    "claude-home": ("claude-home", make_claude_home),
    "claude-project": ("claude", make_claude_project),
    "codex-home": ("codex-home", make_codex_home),
    "codex-project": ("codex", make_codex_project),
    "openclaw": ("openclaw", make_openclaw_workspace),
    "openclaw-state": ("openclaw-state", make_openclaw_state),
    "collection": ("agentskills", make_skill_collection),
    "bare": ("agentskills", make_bare_skill_folder),
}
"""Name of a shape to the kind it is and what makes it."""
