"""Namespaces and mounts."""

from tests.support.cases import read_texts

from .attempt import FAMILY, Attempt, table

_KINDS = {
    "mounts": (0x00020000, "mnt"),
    "control groups": (0x02000000, "cgroup"),
    "names of the machine": (0x04000000, "uts"),
    "messages": (0x08000000, "ipc"),
    "users": (0x10000000, "user"),
    "processes": (0x20000000, "pid"),
    "the network": (0x40000000, "net"),
    "clocks": (0x00000080, "time"),
}

ATTEMPTS: list[Attempt] = [
    *table(
        "namespaces",
        {
            f"leave that of {name}": f"refuse(call, 'unshare', {flag})"
            for name, (flag, _) in _KINDS.items()
        },
    ),
    *table(
        "namespaces",
        {
            f"a process in a new one of {name}": f"refuse(call, 'clone', {flag | 17}, 0, 0, 0, 0)"
            for name, (flag, _) in _KINDS.items()
        },
        limits=FAMILY,
    ),
    *table(
        "namespaces",
        {
            f"a thread in a new one of {name}": "refuse(call, 'clone', "
            f"{flag | 0x10000 | 0x800 | 0x100}, 0, 0, 0, 0)"
            for name, (flag, _) in _KINDS.items()
        },
    ),
    *table(
        "namespaces",
        {
            f"enter that of {name} of process 1": f"""
refuse(lambda: call('setns', os.open('/proc/1/ns/{file}', 0), 0))"""
            for name, (_, file) in _KINDS.items()
        },
    ),
    *table("namespaces", read_texts("escapes/namespaces.txt")),
    *table(
        "namespaces",
        {
            "by the program unshare": "refuse(program, '/usr/bin/unshare', '-Ur', '/usr/bin/true')",
            "by the program nsenter": """
refuse(program, '/usr/bin/nsenter', '-t', '1', '-m', '/usr/bin/true')""",
            "by bubblewrap inside": """
refuse(program, '/usr/bin/bwrap', '--unshare-all', '--ro-bind', '/', '/', '/usr/bin/true')""",
        },
        limits=FAMILY,
    ),
    *table("mounts", read_texts("escapes/mounts.txt")),
]
