"""Names that other programs and earlier versions use, for hints."""

from __future__ import annotations

COMMAND_SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "": {
        "add": ("snapshot", "skill upsert"),
        "cat": ("skill view",),
        "check": ("verify", "skill check"),
        "checkout": ("switch", "restore"),
        "clone": ("fork",),
        "commit": ("snapshot", "chain commit"),
        "create": ("init", "skill upsert"),
        "delete": ("skill delete",),
        "export": ("publish",),
        "find": ("grep", "index --task"),
        "history": ("log", "skill history"),
        "import": ("adopt",),
        "lineage": ("export-lineage",),
        "list": ("skill list",),
        "ls": ("skill list",),
        "memory": ("tools call memory",),
        "new": ("init", "skill upsert"),
        "pull": ("adopt",),
        "push": ("publish",),
        "record": ("snapshot",),
        "remove": ("skill delete",),
        "reset": ("undo", "restore"),
        "revert": ("undo", "restore", "skill revert"),
        "rm": ("skill delete",),
        "rollback": ("undo", "restore"),
        "save": ("snapshot",),
        "search": ("grep", "index --task"),
        "serve": ("mcp",),
        "skills": ("skill list",),
        "upsert": ("skill upsert",),
        "version": ("--version",),
        "view": ("skill view",),
    },
    "key": {"accuse": ("equivocations",)},
    "skill": {
        "add": ("upsert",),
        "cat": ("view",),
        "create": ("upsert",),
        "edit": ("upsert",),
        "log": ("history",),
        "move": ("rename",),
        "mv": ("rename",),
        "ls": ("list",),
        "new": ("upsert",),
        "read": ("view",),
        "remove": ("delete",),
        "rm": ("delete",),
        "rollback": ("revert",),
        "show": ("view",),
        "update": ("upsert",),
        "versions": ("history",),
        "write": ("upsert",),
    },
}
"""Group to unknown word to the commands to suggest, without the name of the group."""

RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "index": {"--limit": "--max-chars"},
    "prompt": {"--limit": "--max-chars"},
    "proposal accept": {"--unshown": "--binary"},
    "watch": {"--quiet": "--debounce", "--longest": "--max-wait"},
}
"""Command to an earlier spelling of an option to its name."""
