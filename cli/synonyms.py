"""What other programs call what `brain` has under another name.

Group to word to the commands that are meant, as they stand after the name of the group.
"""

from __future__ import annotations

SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
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
        "history": ("log", "skill history"),
        "import": ("adopt",),
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
        "search": ("index --task",),
        "serve": ("mcp",),
        "skills": ("skill list",),
        "upsert": ("skill upsert",),
        "version": ("--version",),
        "view": ("skill view",),
    },
    "skill": {
        "add": ("upsert",),
        "cat": ("view",),
        "create": ("upsert",),
        "edit": ("upsert",),
        "log": ("history",),
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
