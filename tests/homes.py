"""Homes of other programs, shaped as the programs make them.

Read off homes made by Hermes 0.19.0, Claude Code 2.1.197, Codex 0.169.0 and OpenClaw
2026.9.6, each after one prompt answered by a model on loopback; texts are our own. What a
brain must not take says SECRET, so that a test can look for it everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SECRET = "NOT-FOR-A-BRAIN"
"""Stands in every file that must stay out."""


def put(root: Path, files: dict[str, str]) -> Path:
    """Write files; what ends in `/` is an empty folder."""
    for name, text in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def skill(name: str, about: str, extra: str = "", body: str = "Do it step by step.") -> str:
    """Return the text of a skill."""
    return f"---\nname: {name}\ndescription: {about}\n{extra}---\n\n# {name}\n\n{body}\n"


def hermes(root: Path) -> Path:
    """Make a Hermes home in which an agent wrote skills and memory."""
    put(
        root,
        {
            "SOUL.md": "You are a careful assistant.",
            "memories/MEMORY.md": "The build runs on two cores.\n§\nReleases are on Tuesdays.",
            "memories/USER.md": "Prefers short answers.",
            "memories/MEMORY.md.lock": SECRET,
            "memories/USER.md.lock": SECRET,
            "skills/writing/release-notes/SKILL.md": skill(
                "release-notes",
                "Write release notes from merged changes.",
                "version: 1.0.0\nmetadata:\n  hermes:\n    tags: [writing]\n",
            ),
            "skills/writing/release-notes/references/style.md": "# Style\nPlain words.\n",
            "skills/writing/release-notes/config.yaml": "tone: plain\n",
            "skills/triage/SKILL.md": skill("triage", "Sort new reports by what they break."),
            "skills/.usage.json": f'{{"triage": "{SECRET}"}}',
            "skills/.usage.json.lock": SECRET,
            "skills/.hub/lock.json": SECRET,
            "skills/.hub/quarantine/": "",
            "skills/.archive/old/SKILL.md": skill("old", SECRET),
            "skills/.curator_backups/2026-11-21T09-11-27Z/manifest.json": SECRET,
            "state.db": SECRET,
            "state.db-wal": SECRET,
            ".env": f"API_KEY={SECRET}\n",
            "auth.json": f'{{"token": "{SECRET}"}}',
            "auth.lock": SECRET,
            "config.yaml": f"model: {SECRET}\n",
            ".update_check": SECRET,
            ".skills_prompt_snapshot.json": SECRET,
            "sessions/20261121.json": SECRET,
            "logs/agent.log": SECRET,
            "audio_cache/": "",
            "cron/": "",
            "hooks/": "",
            "pairing/": "",
            "sandboxes/singularity/": "",
        },
    )
    return root


def claude_home(root: Path) -> Path:
    """Make a Claude Code home, usually `~/.claude`."""
    return put(
        root,
        {
            "CLAUDE.md": "Always answer in plain words.\n",
            "skills/greet/SKILL.md": skill(
                "greet", "Say hello.", "argument-hint: NAME\ndisable-model-invocation: true\n"
            ),
            "rules/tests.md": "Run the tests first.\n",
            "agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews.\n---\nLook twice.\n",
            "commands/ship.md": "Ship it.\n",
            "projects/-work-app/memory/MEMORY.md": "- The app listens on 8080.\n",
            "projects/-work-app/memory/debugging.md": "- Look at the log first.\n",
            "projects/-work-app/a7c53aec.jsonl": SECRET,
            "projects/-work-app/a7c53aec/tool-results/1.txt": SECRET,
            "sessions/1.json": SECRET,
            "backups/.claude.json.backup.1": SECRET,
            ".credentials.json": SECRET,
            "settings.json": SECRET,
            "history.jsonl": SECRET,
            "todos/1.json": SECRET,
            "plugins/installed.json": SECRET,
        },
    )


def claude_project(root: Path) -> Path:
    """Make a project in which Claude Code is used."""
    return put(
        root,
        {
            "CLAUDE.md": "# Notes\nThe service is in src.\n",
            "AGENTS.md": "Use make.\n",
            "CLAUDE.local.md": SECRET,
            ".claude/skills/fmt/SKILL.md": skill("fmt", "Format the code."),
            ".claude/skills/fmt/scripts/run.sh": "#!/bin/sh\nmake fmt\n",
            ".claude/rules/style.md": "Short functions.\n",
            ".claude/settings.local.json": SECRET,
            "src/main.py": f"# {SECRET}\n",
            "skills/not-an-agents/SKILL.md": skill("not-an-agents", SECRET),
        },
    )


def codex_home(root: Path) -> Path:
    """Make a Codex home, usually `~/.codex`."""
    return put(
        root,
        {
            "AGENTS.md": "Keep changes small.\n",
            "prompts/review.md": "Review the diff.\n",
            "skills/bisect/SKILL.md": skill("bisect", "Find the change that broke it."),
            "skills/.system/skill-creator/SKILL.md": skill("skill-creator", SECRET),
            "skills/.system/.codex-system-skills.marker": SECRET,
            "memories/MEMORY.md": "# Registry\n- Tests need node.\n",
            "memories/memory_summary.md": "v1\nTests need node.\n",
            "memories/rollout_summaries/2026-11-21-a.md": "Fixed the tests.\n",
            "config.toml": SECRET,
            "auth.json": SECRET,
            "installation_id": SECRET,
            "memories_1.sqlite": SECRET,
            "state_5.sqlite": SECRET,
            "sessions/2026/11/21/rollout.jsonl": SECRET,
            "shell_snapshots/1.sh": SECRET,
            ".tmp/plugins.sync.lock": SECRET,
            "thread-writer-locks/.coordination.lock": SECRET,
        },
    )


def codex_project(root: Path) -> Path:
    """Make a project in which Codex is used."""
    return put(
        root,
        {
            "AGENTS.md": "Use make.\n",
            ".agents/skills/lint/SKILL.md": skill("lint", "Run the linters."),
            ".codex/config.toml": SECRET,
            "src/main.rs": f"// {SECRET}\n",
        },
    )


def openclaw(root: Path) -> Path:
    """Make an OpenClaw workspace; the program makes it a repository of git as well."""
    return put(
        root,
        {
            ".git/HEAD": f"ref: refs/heads/{SECRET}\n",
            "AGENTS.md": "Read the memory first.\n",
            "SOUL.md": "Be kind.\n",
            "IDENTITY.md": "Name: Crab\n",
            "USER.md": "- Likes tea.\n",
            "MEMORY.md": "- The cat is called Ada.\n",
            "HEARTBEAT.md": "Check the mail.\n",
            "memory/2026-11-20.md": "Set up.\n",
            "memory/2026-11-21.md": "First day.\n",
            "skills/tea/SKILL.md": skill("tea", "Make tea."),
            "BOOTSTRAP.md": SECRET,
            "canvas/index.html": SECRET,
            "credentials/oauth.json": SECRET,
        },
    )


def openclaw_state(root: Path) -> Path:
    """Make the folder `~/.openclaw`, with the workspace in it."""
    openclaw(root / "workspace")
    return put(
        root,
        {
            "openclaw.json": SECRET,
            "openclaw.json.bak": SECRET,
            "config-journal-fingerprint.key": SECRET,
            "state/openclaw.sqlite": SECRET,
            "agents/main/sessions/1.jsonl": SECRET,
            "skills/managed/SKILL.md": skill("managed", "Installed for all agents."),
            "skills/tea/SKILL.md": skill("tea", SECRET),
        },
    )


def collection(root: Path) -> Path:
    """Make a folder that holds `skills/`."""
    return put(
        root,
        {
            "README.md": f"{SECRET}\n",
            "skills/pdf/SKILL.md": skill("pdf", "Work with PDF files.", "license: MIT\n"),
            "skills/pdf/scripts/fill.py": "print()\n",
            "skills/notes.md": skill("notes", "Take notes."),
        },
    )


def bare(root: Path) -> Path:
    """Make a folder of which each folder is a skill, or a category of them."""
    return put(
        root,
        {
            "README.md": f"{SECRET}\n",
            "docs/guide.md": f"{SECRET}\n",
            "xlsx/SKILL.md": skill("xlsx", "Work with sheets."),
            "media/gif/SKILL.md": skill("gif", "Make pictures that move."),
        },
    )


HOMES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "hermes": ("hermes", hermes),
    "claude-home": ("claude-home", claude_home),
    "claude-project": ("claude", claude_project),
    "codex-home": ("codex-home", codex_home),
    "codex-project": ("codex", codex_project),
    "openclaw": ("openclaw", openclaw),
    "openclaw-state": ("openclaw-state", openclaw_state),
    "collection": ("agentskills", collection),
    "bare": ("agentskills", bare),
}
"""Name of a shape to the kind it is and what makes it."""
