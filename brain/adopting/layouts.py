"""The layouts of the programs whose homes can be adopted.

They describe homes created by the programs; docs/adopting.md has the versions.
"""

from __future__ import annotations

from dataclasses import replace

from .home_layout import (
    REASON_BUNDLED,
    REASON_CACHE,
    REASON_DATABASE,
    REASON_LOGS,
    REASON_OTHER,
    REASON_SECRETS,
    REASON_SESSIONS,
    REASON_SETTINGS,
    REASON_STATE,
    HomeLayout,
    PathRule,
)

__all__ = ["AGENTSKILLS", "HOME_LAYOUTS", "LAYOUT_BY_KIND", "HomeLayout"]


def _same_paths(*paths: str) -> tuple[PathRule, ...]:
    return tuple(PathRule(path, path) for path in paths)


def _prompt_rules(prefix: str, *names: str) -> tuple[PathRule, ...]:
    """Return rules for folders of prompts below `prefix` in the home."""
    return tuple(PathRule(f"{prefix}{name}/", f"prompts/{name}/") for name in names)


_SKIPPED_ANYWHERE = (
    ("*.sqlite*", REASON_DATABASE),
    ("*.db", REASON_DATABASE),
    ("/*.lock", REASON_STATE),
    ("/*.bak*", REASON_STATE),
)
_CLAUDE_FIELDS = frozenset(
    "when_to_use argument-hint arguments disable-model-invocation user-invocable model effort "
    "context agent hooks paths shell".split()
)
_HERMES_FIELDS = frozenset(
    "platforms environments prerequisites setup required_environment_variables tags category "
    "required_credential_files related_skills metadata version author".split()
)
_OPENCLAW_FILES = ("SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md")
_OPENCLAW_SKIPPED = (
    ("/BOOTSTRAP.md", "is for the first run alone"),
    ("/canvas", REASON_OTHER),
    ("/credentials", REASON_SECRETS),
    ("/sessions", REASON_SESSIONS),
    *_SKIPPED_ANYWHERE,
)

HERMES = HomeLayout(
    kind="hermes",
    client="hermes",
    title="Hermes home",
    rules=(
        PathRule("skills/", "skills/"),
        PathRule("memories/", "memory/"),
        *_same_paths("SOUL.md"),
    ),
    marks=("skills/.usage.json", "skills/.hub", "skills/.curator_backups", "state.db"),
    signs=("SOUL.md", "memories/MEMORY.md", "memories/USER.md", "skills", "cron"),
    skipped_patterns=(
        ("skills/.hub", "where skills were installed from"),
        ("skills/.archive", "put away by the program"),
        ("skills/.curator_backups", "backups of the program"),
        ("skills/.*", REASON_STATE),
        (".env", REASON_SECRETS),
        ("memories/*.lock", REASON_STATE),
        ("/auth.json", REASON_SECRETS),
        ("/config.yaml", REASON_SETTINGS),
        ("/state.db*", REASON_DATABASE),
        ("/sessions", REASON_SESSIONS),
        ("/logs", REASON_LOGS),
        ("/*_cache", REASON_CACHE),
        *_SKIPPED_ANYWHERE,
    ),
    memory=(("memories/MEMORY.md", 2200), ("memories/USER.md", 1375)),
    system=("SOUL.md",),
    extra_fields=_HERMES_FIELDS,
    has_categories=True,
)

OPENCLAW = HomeLayout(
    kind="openclaw",
    client="openclaw",
    title="OpenClaw workspace",
    rules=(
        *_same_paths(*_OPENCLAW_FILES, "skills/"),
        PathRule("MEMORY.md", "memory/MEMORY.md"),
        PathRule("USER.md", "memory/USER.md"),
        PathRule("memory/", "memory/"),
    ),
    marks=("BOOTSTRAP.md", ".openclaw"),
    signs=("SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md"),
    skipped_patterns=_OPENCLAW_SKIPPED,
    memory=(("MEMORY.md", 20_000), ("USER.md", 4000)),
    system=_OPENCLAW_FILES[:4],
    extra_fields=frozenset(
        "homepage user-invocable disable-model-invocation metadata version".split()
    ),
)

OPENCLAW_STATE = HomeLayout(
    kind="openclaw-state",
    client="openclaw",
    title="OpenClaw state folder",
    rules=(
        *(PathRule(f"workspace/{home}", brain) for home, brain in OPENCLAW.rules),
        PathRule("skills/", "skills/"),
    ),
    marks=("openclaw.json",),
    signs=(),
    skipped_patterns=(
        ("/openclaw.json", REASON_SETTINGS),
        ("/*.key", REASON_SECRETS),
        ("/state", REASON_DATABASE),
        ("workspace/BOOTSTRAP.md", "is for the first run alone"),
        ("workspace/canvas", REASON_OTHER),
        *_OPENCLAW_SKIPPED,
    ),
    reported_folders=("", "workspace"),
    memory=tuple((f"workspace/{path}", limit) for path, limit in OPENCLAW.memory),
    system=tuple(f"workspace/{path}" for path in OPENCLAW.system),
    in_place=False,
    extra_fields=OPENCLAW.extra_fields,
)

CLAUDE_HOME = HomeLayout(
    kind="claude-home",
    client="claude",
    title="Claude Code home",
    rules=(
        *_same_paths("skills/", "CLAUDE.md"),
        *_prompt_rules("", "rules", "agents", "commands", "output-styles"),
        PathRule("projects/*/memory/", "memory/projects/*/"),
    ),
    marks=("projects", "todos", "statsig", "history.jsonl", "shell-snapshots"),
    signs=("CLAUDE.md", "skills", "settings.json", "rules", "agents", "commands", "plugins"),
    skipped_patterns=(
        ("projects/*/*.jsonl", REASON_SESSIONS),
        ("/.credentials.json", REASON_SECRETS),
        ("/settings*.json", REASON_SETTINGS),
        ("/history.jsonl", REASON_SESSIONS),
        ("/todos", REASON_SESSIONS),
        ("/backups", REASON_STATE),
        ("/plugins", REASON_BUNDLED),
        ("skills/.*", REASON_STATE),
        *_SKIPPED_ANYWHERE,
    ),
    system=("CLAUDE.md",),
    extra_fields=_CLAUDE_FIELDS,
)

CLAUDE_PROJECT = HomeLayout(
    kind="claude",
    client="claude",
    title="Claude Code project",
    rules=(
        *_same_paths("CLAUDE.md", "AGENTS.md"),
        PathRule(".claude/skills/", "skills/"),
        PathRule(".claude/CLAUDE.md", "prompts/project/CLAUDE.md"),
        *_prompt_rules(".claude/", "rules", "agents", "commands", "output-styles"),
    ),
    marks=(".claude/skills", ".claude/rules", ".claude/agents", ".claude/commands", "CLAUDE.md"),
    signs=(".claude",),
    skipped_patterns=(
        ("/CLAUDE.local.md", "is for one person"),
        (".claude/settings*.json", REASON_SETTINGS),
        (".claude/worktrees", "work trees of git"),
        (".claude/skills/.*", REASON_STATE),
        *_SKIPPED_ANYWHERE,
    ),
    reported_folders=(".claude",),
    min_signs=1,
    excluding_marks=(".claude.json", ".claude/projects"),
    system=("CLAUDE.md", "AGENTS.md"),
    in_place=False,
    extra_fields=_CLAUDE_FIELDS,
)

CODEX_HOME = HomeLayout(
    kind="codex-home",
    client="codex",
    title="Codex home",
    rules=(
        *_same_paths("skills/", "AGENTS.md", "AGENTS.override.md"),
        PathRule("prompts/", "prompts/commands/"),
        *_prompt_rules("", "agents"),
        PathRule("memories/", "memory/"),
    ),
    marks=("config.toml", "installation_id", "skills/.system", "memories_1.sqlite"),
    signs=("AGENTS.md", "prompts", "skills", "memories", "auth.json", "sessions"),
    skipped_patterns=(
        ("skills/.system", REASON_BUNDLED),
        ("skills/.*", REASON_STATE),
        ("/auth.json", REASON_SECRETS),
        ("/config.toml", REASON_SETTINGS),
        ("/sessions", REASON_SESSIONS),
        ("/archived_sessions", REASON_SESSIONS),
        ("/history.jsonl", REASON_SESSIONS),
        ("/log", REASON_LOGS),
        ("/.tmp", REASON_CACHE),
        *_SKIPPED_ANYWHERE,
    ),
    memory=(("memories/MEMORY.md", 20_000),),
    system=("AGENTS.override.md", "AGENTS.md"),
)

CODEX_PROJECT = HomeLayout(
    kind="codex",
    client="codex",
    title="Codex project",
    rules=(
        *_same_paths("AGENTS.md", "AGENTS.override.md"),
        PathRule(".agents/skills/", "skills/"),
        PathRule(".codex/skills/", "skills/"),
        PathRule(".codex/prompts/", "prompts/commands/"),
        PathRule(".codex/agents/", "prompts/agents/"),
    ),
    marks=(".agents/skills", ".codex", "AGENTS.override.md"),
    signs=("AGENTS.md",),
    skipped_patterns=(
        (".codex/config.toml", REASON_SETTINGS),
        (".agents/skills/.*", REASON_STATE),
        *_SKIPPED_ANYWHERE,
    ),
    reported_folders=(".agents", ".codex"),
    min_signs=1,
    excluding_marks=(".codex/sessions", ".codex/installation_id"),
    system=("AGENTS.override.md", "AGENTS.md"),
    in_place=False,
)

AGENTSKILLS = HomeLayout(
    kind="agentskills",
    client="agentskills",
    title="folder of skills",
    rules=_same_paths("skills/"),
    marks=(),
    signs=(),
    skipped_patterns=(("skills/.*", REASON_STATE), *_SKIPPED_ANYWHERE),
)

_LETTA_RULES = (PathRule("skills/", "skills/"), PathRule("", "memory/"))
_LETTA_LIMIT = 20_000

LETTA = HomeLayout(
    kind="letta",
    client="letta",
    title="Letta MemFS",
    rules=_LETTA_RULES,
    marks=(),
    signs=("persona.md", "human.md", "MEMORY.md"),
    skipped_patterns=_SKIPPED_ANYWHERE,
    min_signs=3,
    memory=(("*.md", _LETTA_LIMIT),),
    in_place=False,
)
LETTA_SYSTEM = replace(
    LETTA,
    kind="letta-system",
    title="Letta MemFS with system/",
    signs=("system/persona.md", "system/human.md"),
    min_signs=2,
    memory=(("system/", _LETTA_LIMIT),),
)
LETTA_FILE = replace(
    LETTA,
    kind="letta-file",
    title="Letta agent file",
    rules=_same_paths("memory/", "prompts/", "skills/"),
    signs=(),
    memory=(("memory/*.md", _LETTA_LIMIT),),
)

HOME_LAYOUTS = (
    HERMES,
    OPENCLAW,
    OPENCLAW_STATE,
    CLAUDE_HOME,
    CLAUDE_PROJECT,
    CODEX_HOME,
    CODEX_PROJECT,
    AGENTSKILLS,
)
LAYOUT_BY_KIND = {
    layout.kind: layout for layout in (*HOME_LAYOUTS, LETTA, LETTA_SYSTEM, LETTA_FILE)
}
