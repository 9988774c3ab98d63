"""All commands: the module of each in `brain_cli.commands`, and its summary.

`brain --help` prints the summaries without importing a command. Each equals the first
line of the help of its command; a test compares them. `brain skill view` is the function
`skill_view_command` of its module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CommandTable = dict[str, dict[str, tuple[str, str]]]
"""Heading to name to module and summary, in the order of the help; a group has no module."""

ROOT_COMMANDS: CommandTable = {
    "Start": {
        "init": ("start", "Turn a folder into a brain."),
        "status": ("start", "Show what changed and waits."),
        "snapshot": ("start", "Record the folder as it is."),
        "watch": ("start", "Record changes as they come."),
        "undo": ("start", "Undo the last operation."),
        "redo": ("start", "Redo what was undone last."),
        "restore": ("start", "Bring back files or a skill."),
    },
    "Look": {
        "log": ("look", "List snapshots or versions."),
        "show": ("look", "Show a snapshot or a run."),
        "diff": ("look", "Compare two states."),
        "grep": ("look", "Search skills and texts."),
        "blame": ("look", "Show who wrote each line."),
        "why": ("look", "Show the work behind skills."),
    },
    "Skills": {
        "skill": ("", "Write, read, check skills."),
        "memory": ("", "Show and change the memory."),
        "index": ("skills", "Print one line per skill."),
        "prompt": ("skills", "Print the system prompt."),
    },
    "Agents": {
        "mcp": ("", "Serve and connect agents."),
        "tools": ("", "List and call agents' tools."),
        "proposal": ("", "Review what agents propose."),
        "evolve": ("", "Learn from runs and tasks."),
    },
    "Share": {
        "adopt": ("import_export", "Import from other programs."),
        "publish": ("import_export", "Export to other programs."),
        "branch": ("branch", "List and create branches."),
        "switch": ("branch", "Switch to another branch."),
        "merge": ("branch", "Merge another branch."),
        "resolve": ("branch", "Resolve merge conflicts."),
        "tag": ("branch", "Name a snapshot for good."),
        "fork": ("branch", "Start a brain from this one."),
    },
    "Trust": {
        "verify": ("trust", "Verify the brain or a file."),
        "prove": ("trust", "Write a proof for others."),
        "sign": ("trust", "Sign snapshots."),
        "key": ("", "Manage own and trusted keys."),
        "chain": ("", "Commit to a ledger."),
    },
    "Keep": {
        "config": ("config", "Show or change the settings."),
        "doctor": ("keep", "Check for problems."),
        "secrets": ("keep", "Find keys and passwords."),
        "redact": ("keep", "Destroy a file for good."),
        "gc": ("keep", "Free unused space."),
        "demo": ("demo", "Run every main feature."),
        "completion": ("keep", "Complete words in a shell."),
    },
}

GROUP_COMMANDS: dict[str, CommandTable] = {
    "skill": {
        "Write": {
            "upsert": ("skills", "Create a skill, or write its next version."),
            "rename": ("skills", "Give a skill another name; its versions and history go on."),
            "merge": ("skills", "Merge one skill into another and remove it."),
            "delete": ("skills", "Remove a skill; its history stays."),
        },
        "Read": {
            "list": ("skills", "List the skills."),
            "view": ("skills", "Print the body of a skill."),
            "check": ("skills", "Check skills against the rules of agentskills.io."),
        },
        "Run": {
            "run": ("evolve.programs", "Run the program of a skill in the sandbox."),
        },
    },
    "memory": {
        "Memory": {
            "show": ("memory", "List the entries of a memory."),
            "add": ("memory", "Add an entry to a memory."),
            "remove": ("memory", "Remove an entry of a memory; its history stays."),
        },
    },
    "proposal": {
        "Read": {
            "list": ("proposal", "List the proposals of agents."),
            "show": ("proposal", "Show what a proposal would change."),
        },
        "Decide": {
            "accept": ("proposal", "Merge a proposal into this branch."),
            "reject": ("proposal", "Remove a proposal."),
        },
    },
    "mcp": {
        "Serve": {
            "serve": ("mcp", "Serve this brain to agents (default)."),
        },
        "Set up": {
            "install": ("mcp", "Add this brain to the settings of a client."),
        },
    },
    "key": {
        "Own keys": {
            "new": ("key", "Create a key."),
            "list": ("key", "List your keys, and those that may sign this brain."),
        },
        "Trust": {
            "trust": ("key", "Let a key sign this brain, or set how many keys must."),
            "revoke": ("key", "Revoke a key; its signatures become invalid."),
            "roots": ("key", "Show or change the root keys pinned for this brain."),
            "repair": ("key", "Restore the last valid trust file."),
        },
    },
    "chain": {
        "Commit": {
            "open": ("chain", "Make the first commitment of this brain in a ledger."),
            "commit": ("chain", "Record a snapshot in a ledger."),
            "batch": ("chain", "Commit many brains in one step."),
        },
        "Check": {
            "status": ("chain", "Show the commitments of this brain in a ledger."),
            "evidence": ("chain", "Write evidence of a commitment to a file."),
        },
        "On a chain": {
            "deploy": ("chain", "Deploy the registry contract to a chain."),
            "owner": ("chain", "Change who may commit this brain on a chain."),
            "record": ("chain", "Record what a wallet or a witness made elsewhere."),
        },
    },
    "tools": {
        "Tools": {
            "list": ("tools", "Print the definitions of the tools for models."),
            "call": ("tools", "Call a tool as a model does."),
        },
    },
    "evolve": {
        "Runs": {
            "synthesize": ("evolve.synthesize", "Propose a new or better skill from a run."),
            "run": ("evolve.run", "Learn from hard runs, patterns and gaps as they come."),
            "grind": (
                "evolve.grind",
                "Solve tasks, evolve the brain where it fails, and try again.",
            ),
            "gaps": (
                "evolve.gaps",
                "Show goals that fail repeatedly, and what would be learned.",
            ),
            "status": ("evolve.run", "Show what learning would do next, and what it has cost."),
            "patterns": (
                "evolve.patterns",
                "List recurring sequences of skills, and their new skills.",
            ),
        },
        "Gate": {
            "case": ("", "Add and list the cases that changes are tried on."),
            "try": ("evolve.gate", "Try a change of a skill on its held-out cases."),
            "accept": ("evolve.gate", "Admit an attempt that the gate did not."),
            "recheck": ("evolve.recheck", "Derive the numbers of a decision again, offline."),
        },
        "Tasks": {
            "task": ("", "List, prove and run tasks with files and verifiers."),
        },
        "Skills that run": {
            "acquire": ("evolve.programs", "Make a skill that runs, if it passes its tests."),
            "admit": ("evolve.programs", "Try the program of a skill, so that it may run here."),
            "attempts": ("evolve.programs", "List rejected attempts, or show one."),
            "allow": ("evolve.programs", "Show or change what the program of a skill may reach."),
        },
        "Import": {
            "import-registry": (
                "evolve.programs",
                "Import the acquired skills of another assistant.",
            ),
        },
        "Use": {
            "stats": ("evolve.usage", "Show how skills do in use."),
            "count": (
                "evolve.usage",
                "Count the uses of skills in a transcript of another program.",
            ),
            "pin": ("evolve.usage", "Keep a skill from being rolled back or retired by a rule."),
            "unpin": ("evolve.usage", "Allow rules to roll back and retire a pinned skill again."),
            "retire": (
                "evolve.usage",
                "Take a skill out of use; its files stay in skills/_retired.",
            ),
            "reinstate": (
                "evolve.usage",
                "Bring back a retired skill, or an earlier version of one.",
            ),
        },
    },
    "evolve case": {
        "Cases": {
            "add": ("evolve.cases", "Add a case: an input, and what the output must be like."),
            "list": ("evolve.cases", "List the cases of a skill, or of all skills."),
            "show": ("evolve.cases", "Show a case: its input, and what is expected."),
        },
    },
    "evolve task": {
        "Tasks": {
            "list": ("evolve.tasks", "List the tasks of folders, and what cannot be had here."),
            "check": (
                "evolve.tasks",
                "Prove tasks: their oracle scores 1, and an empty solution 0.",
            ),
            "add": (
                "evolve.tasks",
                "Add a case of a skill for each task.",
            ),
            "run": ("evolve.tasks", "Have a solver work on tasks, and score what it did."),
        },
    },
}
"""Group to its commands."""

DEFAULT_COMMANDS = {
    "chain": "status",
    "evolve": "status",
    "evolve case": "list",
    "key": "list",
    "memory": "show",
    "mcp": "serve",
    "proposal": "list",
    "skill": "list",
    "tools": "list",
}
"""Group to the command that it runs if none is named."""

ALIASES = {
    "": {
        "commit": "snapshot",
        "connect": "mcp install",
        "create": "skill upsert",
        "edit": "skill upsert --if-changed",
        "export": "publish",
        "history": "log",
        "import": "adopt",
        "ls": "skill list",
        "record": "snapshot",
        "save": "snapshot",
        "search": "grep",
        "serve": "mcp serve",
        "skills": "skill list",
        "upsert": "skill upsert",
        "view": "skill view",
        "write": "skill upsert",
    },
    "memory": {"list": "show", "ls": "show", "new": "add", "read": "show", "view": "show"},
    "skill": {
        "add": "upsert",
        "cat": "view",
        "create": "upsert",
        "edit": "upsert --if-changed",
        "ls": "list",
        "move": "rename",
        "mv": "rename",
        "new": "upsert",
        "read": "view",
        "show": "view",
        "update": "upsert",
        "write": "upsert",
    },
}
"""Group to other words for its commands. None of these removes, overwrites, decides or pays."""

ALIAS_NOTES = {
    "commit": "This is `brain snapshot`; `brain chain commit` commits to a ledger.",
    "edit": "This is `brain skill upsert`: -f FILE gives the text; any program may edit the file.",
}
"""What is said on stderr where a word has a second meaning."""

GROUP_DESCRIPTIONS = {
    "mcp": (
        "Claude Code, Codex, Cursor, VS Code, Hermes and others use MCP, the Model\n"
        "Context Protocol, to call tools and read resources."
    ),
}
"""Group to the second paragraph of its help."""


COMMAND_SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "": {
        "add": ("snapshot", "skill upsert"),
        "ancestry": ("prove --ancestor", "verify FILE"),
        "cat": ("skill view",),
        "check": ("verify", "skill check"),
        "check-proof": ("verify FILE",),
        "checkout": ("switch", "restore"),
        "clone": ("fork",),
        "delete": ("skill delete",),
        "find": ("grep", "index --task"),
        "lineage": ("log --graph", "prove --ancestor"),
        "list": ("skill list",),
        "mv": ("skill rename",),
        "new": ("init", "skill upsert"),
        "op": ("log --ops",),
        "patch": ("skill upsert",),
        "pull": ("adopt",),
        "push": ("publish",),
        "receipt": ("show --run", "verify FILE", "adopt FILE"),
        "remove": ("skill delete",),
        "reset": ("undo", "restore"),
        "revert": ("undo", "restore SKILL@VERSION"),
        "rm": ("skill delete",),
        "rollback": ("undo", "restore"),
        "stash": ("snapshot", "branch"),
        "update": ("skill upsert",),
        "version": ("--version",),
    },
    "chain": {
        "accept": ("owner --accept",),
        "account": ("brain config ledger.NAME.keystore FILE",),
        "authorize": ("commit --unsigned",),
        "cancel": ("commit",),
        "check": ("brain verify FILE",),
        "checkpoint": ("status", "brain verify --ledger local --compare"),
        "contract": ("deploy",),
        "relay": ("commit --unsigned",),
        "resend": ("commit",),
        "send": ("record",),
        "signer": ("owner --signer",),
        "speed-up": ("commit",),
        "supersede": ("owner --disown",),
        "transfer": ("owner --offer",),
        "verify": ("brain verify --ledger",),
    },
    "config": {
        "ledger": ("ledger.NAME.rpc",),
        "list": ("brain config",),
        "remove": ("brain config --unset ledger.NAME",),
    },
    "key": {
        "bind": ("brain verify --ledger",),
        "retire": ("revoke --keep-signatures",),
        "threshold": ("trust --threshold",),
        "trusted": ("list",),
    },
    "memory": {"delete": ("remove",), "rm": ("remove",), "user": ("show user",)},
    "skill": {
        "history": ("brain log SKILL",),
        "log": ("brain log SKILL",),
        "remove": ("delete",),
        "revert": ("brain restore SKILL@VERSION",),
        "rm": ("delete",),
        "rollback": ("brain restore SKILL@VERSION",),
        "similar": ("check",),
        "versions": ("brain log SKILL",),
    },
}
"""Group to unknown word to the commands to suggest, without the name of the group."""

CAREFUL_COMMANDS = frozenset(
    "accept batch commit delete deploy gc open owner redact redo reject remove repair restore"
    " retire revert revoke undo unpin".split()
)
"""Commands that destroy, overwrite, decide or pay: no other word is taken for one of them."""


def suggest_commands(group: str, word: str, names: Iterable[str]) -> list[str]:
    """Return the commands of a group that `word`, which is none of them, may mean."""
    known = COMMAND_SYNONYMS.get(group, {}).get(word)
    if known:
        return list(known)
    import difflib

    close = difflib.get_close_matches(word, names)
    return [name for name in close if name not in CAREFUL_COMMANDS or _is_slip(word, name)]


def _is_slip(word: str, name: str) -> bool:
    """Tell whether `word` is `name` with letters swapped or doubled, which makes no other word."""
    letters, wanted = (sorted(re.sub(r"(.)\1+", r"\1", text)) for text in (word, name))
    return word[:1] == name[:1] and letters == wanted


_SETTINGS_OPTIONS = {
    "ledger.NAME": "rpc quorum chain-id genesis contract creator since finality max-fee-gwei"
    " max-cost-wei keystore account",
    "model": "base-url key-file max-tokens timeout retries tool-rounds price-in price-out",
}
RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "blame": {"--rev": "an argument: brain blame SLUG REV"},
    "fork": {"--rev": "an argument: brain fork DIR REV"},
    "grep": {"--rev": "an argument: brain grep PATTERN REV"},
    "log": {"--skill": "an argument: brain log SKILL"},
    "skill list": {"--rev": "an argument: brain skill list REV"},
    "skill view": {"--rev": "an argument: brain skill view SLUG REV"},
    "publish": {"--rev": "an argument: brain publish DIR REV"},
    "redact": {"--rev": "an argument: brain redact PATH REV"},
    "secrets": {"--rev": "an argument: brain secrets REV"},
    "config": {
        "--off": "--unset",
        **{
            f"--{name}": f"an argument: brain config {table}.{name} VALUE"
            for table, names in _SETTINGS_OPTIONS.items()
            for name in names.split()
        },
    },
    "index": {"--limit": "--max-chars"},
    "prompt": {"--limit": "--max-chars"},
    "proposal accept": {"--unshown": "--binary"},
    "watch": {"--quiet": "--debounce", "--longest": "--max-wait"},
}
"""Command to an earlier spelling of an option to its name."""
FOREIGN_OPTIONS = {
    ("branch", "-d"): "use --delete, as in `brain branch --delete NAME`",
    ("branch", "-D"): "use --delete, as in `brain branch --delete NAME`",
    ("snapshot", "-a"): "all changes are recorded: `brain commit -m TEXT`",
    ("", "--version"): "a version of a skill is named as in NAME@1",
}
"""Hint for an option of another program, of one command or, behind "", of all."""
