"""The layouts of the programs whose homes can be adopted: what lies where, and what stays out.

What each program keeps was read off homes that it had made: see docs/adopting.md for the
versions.
"""

from __future__ import annotations

from .layout import (
    BUNDLED,
    CACHE,
    DATABASE,
    LOGS,
    OTHER,
    SECRETS,
    SESSIONS,
    SETTINGS,
    STATE,
    Layout,
)
from .rules import Rule

__all__ = ["BY_KIND", "COLLECTION", "LAYOUTS", "Layout"]


def _same(*paths: str) -> tuple[Rule, ...]:
    return tuple(Rule(path, path) for path in paths)


def _moved(prefix: str, *names: str) -> tuple[Rule, ...]:
    """Rules for folders of prompts, which lie below `prefix` in the home."""
    return tuple(Rule(f"{prefix}{name}/", f"prompts/{name}/") for name in names)


_ANYWHERE = (("*.sqlite*", DATABASE), ("*.db", DATABASE), ("/*.lock", STATE), ("/*.bak*", STATE))
_CLAUDE_FIELDS = frozenset(
    "when_to_use argument-hint arguments disable-model-invocation user-invocable model effort "
    "context agent hooks paths shell".split()
)
_HERMES_FIELDS = frozenset(
    "platforms environments prerequisites setup required_environment_variables tags category "
    "required_credential_files related_skills metadata version author".split()
)
_OPENCLAW_FILES = ("SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md")
_OPENCLAW_LEFT = (
    ("/BOOTSTRAP.md", "is for the first run alone"),
    ("/canvas", OTHER),
    ("/credentials", SECRETS),
    ("/sessions", SESSIONS),
    *_ANYWHERE,
)

HERMES = Layout(
    "hermes",
    "hermes",
    "Hermes home",
    (Rule("skills/", "skills/"), Rule("memories/", "memory/"), *_same("SOUL.md")),
    ("skills/.usage.json", "skills/.hub", "skills/.curator_backups", "state.db"),
    ("SOUL.md", "memories/MEMORY.md", "memories/USER.md", "skills", "cron"),
    (
        ("skills/.hub", "where skills were installed from"),
        ("skills/.archive", "put away by the program"),
        ("skills/.curator_backups", "backups of the program"),
        ("skills/.*", STATE),
        (".env", SECRETS),
        ("memories/*.lock", STATE),
        ("/auth.json", SECRETS),
        ("/config.yaml", SETTINGS),
        ("/state.db*", DATABASE),
        ("/sessions", SESSIONS),
        ("/logs", LOGS),
        ("/*_cache", CACHE),
        *_ANYWHERE,
    ),
    memory=(("memories/MEMORY.md", 2200), ("memories/USER.md", 1375)),
    system=("SOUL.md",),
    keeps=_HERMES_FIELDS,
    categories=True,
)

OPENCLAW = Layout(
    "openclaw",
    "openclaw",
    "OpenClaw workspace",
    (
        *_same(*_OPENCLAW_FILES, "skills/"),
        Rule("MEMORY.md", "memory/MEMORY.md"),
        Rule("USER.md", "memory/USER.md"),
        Rule("memory/", "memory/"),
    ),
    ("BOOTSTRAP.md", ".openclaw"),
    ("SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md"),
    _OPENCLAW_LEFT,
    memory=(("MEMORY.md", 20_000), ("USER.md", 4000)),
    system=_OPENCLAW_FILES[:4],
    keeps=frozenset("homepage user-invocable disable-model-invocation metadata version".split()),
)

OPENCLAW_STATE = Layout(
    "openclaw-state",
    "openclaw",
    "OpenClaw state folder",
    (
        *(Rule(f"workspace/{home}", brain) for home, brain in OPENCLAW.rules),
        Rule("skills/", "skills/"),
    ),
    ("openclaw.json",),
    (),
    (
        ("/openclaw.json", SETTINGS),
        ("/*.key", SECRETS),
        ("/state", DATABASE),
        ("workspace/BOOTSTRAP.md", "is for the first run alone"),
        ("workspace/canvas", OTHER),
        *_OPENCLAW_LEFT,
    ),
    owned=("", "workspace"),
    memory=tuple((f"workspace/{path}", limit) for path, limit in OPENCLAW.memory),
    system=tuple(f"workspace/{path}" for path in OPENCLAW.system),
    in_place=False,
    keeps=OPENCLAW.keeps,
)

CLAUDE_HOME = Layout(
    "claude-home",
    "claude",
    "Claude Code home",
    (
        *_same("skills/", "CLAUDE.md"),
        *_moved("", "rules", "agents", "commands", "output-styles"),
        Rule("projects/*/memory/", "memory/projects/*/"),
    ),
    ("projects", "todos", "statsig", "history.jsonl", "shell-snapshots"),
    ("CLAUDE.md", "skills", "settings.json", "rules", "agents", "commands", "plugins"),
    (
        ("projects/*/*.jsonl", SESSIONS),
        ("/.credentials.json", SECRETS),
        ("/settings*.json", SETTINGS),
        ("/history.jsonl", SESSIONS),
        ("/todos", SESSIONS),
        ("/backups", STATE),
        ("/plugins", BUNDLED),
        ("skills/.*", STATE),
        *_ANYWHERE,
    ),
    system=("CLAUDE.md",),
    keeps=_CLAUDE_FIELDS,
)

CLAUDE_PROJECT = Layout(
    "claude",
    "claude",
    "Claude Code project",
    (
        *_same("CLAUDE.md", "AGENTS.md"),
        Rule(".claude/skills/", "skills/"),
        Rule(".claude/CLAUDE.md", "prompts/project/CLAUDE.md"),
        *_moved(".claude/", "rules", "agents", "commands", "output-styles"),
    ),
    (".claude/skills", ".claude/rules", ".claude/agents", ".claude/commands", "CLAUDE.md"),
    (".claude",),
    (
        ("/CLAUDE.local.md", "is for one person"),
        (".claude/settings*.json", SETTINGS),
        (".claude/worktrees", "work trees of git"),
        (".claude/skills/.*", STATE),
        *_ANYWHERE,
    ),
    owned=(".claude",),
    needs=1,
    unless=(".claude.json", ".claude/projects"),
    system=("CLAUDE.md", "AGENTS.md"),
    in_place=False,
    keeps=_CLAUDE_FIELDS,
)

CODEX_HOME = Layout(
    "codex-home",
    "codex",
    "Codex home",
    (
        *_same("skills/", "AGENTS.md", "AGENTS.override.md"),
        Rule("prompts/", "prompts/commands/"),
        *_moved("", "agents"),
        Rule("memories/", "memory/"),
    ),
    ("config.toml", "installation_id", "skills/.system", "memories_1.sqlite"),
    ("AGENTS.md", "prompts", "skills", "memories", "auth.json", "sessions"),
    (
        ("skills/.system", BUNDLED),
        ("skills/.*", STATE),
        ("/auth.json", SECRETS),
        ("/config.toml", SETTINGS),
        ("/sessions", SESSIONS),
        ("/archived_sessions", SESSIONS),
        ("/history.jsonl", SESSIONS),
        ("/log", LOGS),
        ("/.tmp", CACHE),
        *_ANYWHERE,
    ),
    memory=(("memories/MEMORY.md", 20_000),),
    system=("AGENTS.override.md", "AGENTS.md"),
)

CODEX_PROJECT = Layout(
    "codex",
    "codex",
    "Codex project",
    (
        *_same("AGENTS.md", "AGENTS.override.md"),
        Rule(".agents/skills/", "skills/"),
        Rule(".codex/skills/", "skills/"),
        Rule(".codex/prompts/", "prompts/commands/"),
        Rule(".codex/agents/", "prompts/agents/"),
    ),
    (".agents/skills", ".codex", "AGENTS.override.md"),
    ("AGENTS.md",),
    ((".codex/config.toml", SETTINGS), (".agents/skills/.*", STATE), *_ANYWHERE),
    owned=(".agents", ".codex"),
    needs=1,
    unless=(".codex/sessions", ".codex/installation_id"),
    system=("AGENTS.override.md", "AGENTS.md"),
    in_place=False,
)

COLLECTION = Layout(
    "agentskills",
    "agentskills",
    "folder of skills",
    _same("skills/"),
    (),
    (),
    (("skills/.*", STATE), *_ANYWHERE),
)

_LETTA_RULES = (Rule("skills/", "skills/"), Rule("", "memory/"))
_LETTA_LIMIT = 20_000

LETTA = Layout(
    "letta",
    "letta",
    "Letta MemFS",
    _LETTA_RULES,
    (),
    ("persona.md", "human.md", "MEMORY.md"),
    _ANYWHERE,
    needs=3,
    memory=(("*.md", _LETTA_LIMIT),),
    in_place=False,
)
LETTA_SYSTEM = LETTA._replace(
    kind="letta-system",
    title="Letta MemFS with system/",
    signs=("system/persona.md", "system/human.md"),
    needs=2,
    memory=(("system/", _LETTA_LIMIT),),
)
LETTA_FILE = LETTA._replace(
    kind="letta-file",
    title="Letta agent file",
    rules=_same("memory/", "prompts/", "skills/"),
    signs=(),
    memory=(("memory/*.md", _LETTA_LIMIT),),
)

LAYOUTS = (
    HERMES,
    OPENCLAW,
    OPENCLAW_STATE,
    CLAUDE_HOME,
    CLAUDE_PROJECT,
    CODEX_HOME,
    CODEX_PROJECT,
    COLLECTION,
)
BY_KIND = {layout.kind: layout for layout in (*LAYOUTS, LETTA, LETTA_SYSTEM, LETTA_FILE)}
