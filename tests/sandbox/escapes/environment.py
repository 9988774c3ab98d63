"""The environment of the host, in variables, memory and names."""

from __future__ import annotations

from .attempt import FAMILY, Attempt, table

ATTEMPTS: list[Attempt] = [
    *table(
        "environment",
        {
            "variables": "seen(dict(os.environ))\n"
            "reached_if(set(os.environ) - {'HOME', 'PWD', 'LC_CTYPE'}, list(os.environ))",
            "variables by the C library": """
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
number = 0
while environ[number]:
    seen(environ[number])
    number += 1
seen(number)""",
            "its own first variables": "refuse(lambda: open('/proc/self/environ', 'rb').read())",
            "those of process 1": "refuse(lambda: open('/proc/1/environ').read())",
            "those of its parent": "refuse(lambda: open(f'/proc/{os.getppid()}/environ').read())",
            "those of a process of the host": """
refuse(lambda: open(f"/proc/{host['pid']}/environ").read())""",
            "those of each process": """
for number in range(1, 100):
    refuse(lambda: open(f'/proc/{number}/environ', 'rb').read())""",
            "arguments of process 1": "refuse(lambda: open('/proc/1/cmdline').read())",
            "memory of its own stack": """
first = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')[0]
start = ctypes.cast(ctypes.c_char_p(first), ctypes.c_void_p).value
read, write = os.pipe()
os.set_blocking(write, False)
seen(ctypes.CDLL(None).write(write, ctypes.c_void_p(start & ~4095), 4096))
seen(os.read(read, 4096))""",
            "memory in /proc": "refuse(os.open, '/proc/self/mem', os.O_RDONLY)",
            "memory of process 1": "refuse(lambda: os.open('/proc/1/mem', os.O_RDONLY))",
            "the name of the machine": "reached_if(os.uname().nodename == host['name'])",
            "the name of the machine in /proc": """
refuse(lambda: open('/proc/sys/kernel/hostname').read())""",
            "names of users": "import pwd; reached_if(pwd.getpwall(), pwd.getpwall())",
            "the user's folder": "seen(os.path.expanduser('~'))\n"
            "reached_if(os.path.expanduser('~') == host['folder'])",
            "groups of the user": "seen(os.getgroups()); reached_if(0 in os.getgroups())",
            "processes of the host": "refuse(os.listdir, '/proc')",
            "the command line of a process of the host": """
refuse(lambda: open(f"/proc/{host['pid']}/cmdline").read())""",
            "load of the host": "refuse(lambda: open('/proc/loadavg').read())",
            "commands of the host": "refuse(lambda: open('/proc/1/cmdline').read())",
            "sockets of the host": "refuse(lambda: open('/proc/net/unix').read())",
            "connections of the host": "refuse(lambda: open('/proc/net/tcp').read())",
            "interfaces of the host": "refuse(lambda: open('/proc/net/dev').read())",
            "keys of the host": "refuse(lambda: open('/proc/keys').read())",
            "modules of the project": """
import importlib.util
for name in ('brain', 'pytest', 'pyseccomp'):
    reached_if(importlib.util.find_spec(name), name)""",
        },
    ),
    *table(
        "environment",
        {
            "a variable of a program it starts": "refuse(program, '/bin/printenv', 'BRAIN_TEST')",
            "all variables of a program it starts": "program('/usr/bin/env'); seen('started')",
        },
        limits=FAMILY,
    ),
]
