"""Namespaces and mounts."""

from __future__ import annotations

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
    *table(
        "namespaces",
        {
            "enter those of a process of the host": """
refuse(lambda: call('setns', os.pidfd_open(host['pid']), 0x20000000))""",
            "clone3 with a new one of users": """
arguments = (0x10000000).to_bytes(8, 'little') + bytes(24) + (17).to_bytes(8, 'little')
refuse(call, 'clone3', arguments + bytes(48), 88)""",
            "clone with flags beyond 32 bits": """
refuse(call, 'clone', 0x1_0000_0000 | 0x10000000 | 17, 0, 0, 0, 0)""",
            "a map of users": "refuse(write_file, '/proc/self/uid_map', b'0 0 1')",
            "a map of groups": "refuse(write_file, '/proc/self/gid_map', b'0 0 1')",
            "groups allowed": "refuse(write_file, '/proc/self/setgroups', b'allow')",
            "offsets of clocks": "refuse(write_file, '/proc/self/timens_offsets', b'boottime 9 0')",
            "more namespaces of users": """
refuse(write_file, '/proc/sys/user/max_user_namespaces', b'100')""",
            "the owner of a namespace": """
import fcntl
refuse(lambda: fcntl.ioctl(os.open('/proc/self/ns/user', 0), 0xB701))""",
            "the parent of a namespace": """
import fcntl
refuse(lambda: fcntl.ioctl(os.open('/proc/self/ns/pid', 0), 0xB702))""",
        },
    ),
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
    *table(
        "mounts",
        {
            "a file system in memory": "refuse(call, 'mount', 'none', '/tmp', 'tmpfs', 0, 0)",
            "/proc": "refuse(call, 'mount', 'proc', '/tmp', 'proc', 0, 0)",
            "/sys": "refuse(call, 'mount', 'sysfs', '/tmp', 'sysfs', 0, 0)",
            "the disk": "refuse(call, 'mount', '/dev/vda', '/tmp', 'ext4', 0, 0)",
            "devices": "refuse(call, 'mount', 'none', '/tmp', 'devtmpfs', 0, 0)",
            "control groups": "refuse(call, 'mount', 'none', '/tmp', 'cgroup2', 0, 0)",
            "an overlay": "refuse(call, 'mount', 'overlay', '/usr/bin', 'overlay', 0, "
            "'lowerdir=/usr/bin,upperdir=/tmp,workdir=/tmp')",
            "bind": "refuse(call, 'mount', '/usr', '/tmp', 0, 4096, 0)",
            "bind over its own program": "refuse(call, 'mount', '/tmp', '/job', 0, 4096, 0)",
            "move": "refuse(call, 'mount', '/usr/bin', '/tmp', 0, 8192, 0)",
            "programs writable": "refuse(call, 'mount', 0, '/usr/bin', 0, 32 | 4096, 0)",
            "the root writable": "refuse(call, 'mount', 0, '/', 0, 32 | 4096, 0)",
            "/dev writable": "refuse(call, 'mount', 0, '/dev', 0, 32 | 4096, 0)",
            "shared with the host": "refuse(call, 'mount', 0, '/', 0, (1 << 20) | 16384, 0)",
            "take off /tmp": "refuse(call, 'umount2', '/tmp', 2)",
            "take off /proc": "refuse(call, 'umount2', '/proc', 2)",
            "take off its program": "refuse(call, 'umount2', '/job', 2)",
            "another root": "refuse(call, 'pivot_root', '/tmp', '/tmp')",
            "chroot": "refuse(os.chroot, '/tmp')",
            "fsopen": "absent('fsopen', 'tmpfs', 0)",
            "fspick": "absent('fspick', -100, '/', 0)",
            "open_tree": "absent('open_tree', -100, '/usr', 1)",
            "move_mount": "absent('move_mount', -100, '/usr', -100, '/tmp', 0)",
            "mount_setattr": "absent('mount_setattr', -100, '/', 0, bytes(32), 32)",
            "statmount": "absent('statmount')",
            "swap": "refuse(call, 'swapon', '/tmp/x', 0)",
            "a symlink over its program": "refuse(os.symlink, '/tmp', sys.argv[0])",
            "rename over its program": "write_file('/tmp/x')\n"
            "refuse(os.rename, '/tmp/x', sys.argv[0])",
            "exchange with its program": "write_file('/tmp/x')\n"
            "refuse(call, 'renameat2', -100, '/tmp/x', -100, sys.argv[0], 2)",
            "a symlink in /tmp to its program": "os.symlink(sys.argv[0], '/tmp/x')\n"
            "refuse(write_file, '/tmp/x')",
            "a hard link of its program": "refuse(os.link, sys.argv[0], '/tmp/x')",
            "a hard link of a program": "refuse(os.link, '/usr/bin/env', '/tmp/x')",
            "rename /tmp": "refuse(os.rename, '/tmp', '/other')",
            "remove the folder of the job": "refuse(os.rename, '/job', '/tmp/job')",
            "write through its root in /proc": "folder = '/proc/self/root'\n"
            "refuse(lambda: write_file(folder + '/job/made'))",
            "open its program again for writing": """
file = os.open(sys.argv[0], os.O_RDONLY)
refuse(os.open, f'/proc/self/fd/{file}', os.O_RDWR)""",
            "open its interpreter for writing": "refuse(os.open, '/proc/self/exe', os.O_RDWR)",
            "change the mode of its program": "refuse(os.chmod, sys.argv[0], 0o777)",
        },
    ),
]
