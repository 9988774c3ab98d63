"""The environment of the host, in variables, memory and names."""

from __future__ import annotations

from .attempt import FAMILY, Attempt, table

ATTEMPTS: list[Attempt] = [
    *table(
        "environment",
        {
            "variables": "seen(dict(os.environ))\n"
            "reached_if(set(os.environ) - {'PWD', 'LC_CTYPE'}, list(os.environ))",
            "variables by the C library": """
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
number = 0
while environ[number]:
    seen(environ[number])
    number += 1
seen(number)""",
            "its own first variables": "seen(open('/proc/self/environ', 'rb').read())",
            "those of process 1": "refuse(lambda: open('/proc/1/environ').read())",
            "those of its parent": "refuse(lambda: open(f'/proc/{os.getppid()}/environ').read())",
            "those of a process of the host": """
refuse(lambda: open(f"/proc/{host['pid']}/environ").read())""",
            "those of each process": """
for name in os.listdir('/proc'):
    if name.isdigit():
        try:
            seen(open(f'/proc/{name}/environ', 'rb').read())
        except OSError as error:
            seen(error)""",
            "arguments of process 1": "refuse(lambda: open('/proc/1/cmdline').read())",
            "memory of its own stack": """
line = [one for one in open('/proc/self/maps') if '[stack]' in one][0]
low, high = (int(one, 16) for one in line.split()[0].split('-'))
memory = os.open('/proc/self/mem', os.O_RDONLY)
text = os.pread(memory, high - low, low)
seen(len(text))
reached_if(b'BRAIN_TEST' in text, 'a variable of the host')""",
            "memory of process 1": "refuse(lambda: os.open('/proc/1/mem', os.O_RDONLY))",
            "the name of the machine": "reached_if(os.uname().nodename == host['name'])",
            "the name of the machine in /proc": """
reached_if(open('/proc/sys/kernel/hostname').read().strip() == host['name'])""",
            "names of users": "import pwd; reached_if(pwd.getpwall(), pwd.getpwall())",
            "the user's folder": "seen(os.path.expanduser('~'))\n"
            "reached_if(os.path.expanduser('~') == host['folder'])",
            "groups of the user": "seen(os.getgroups()); reached_if(0 in os.getgroups())",
            "processes of the host": """
numbers = [name for name in os.listdir('/proc') if name.isdigit()]
reached_if(len(numbers) > 2, numbers)""",
            "command lines of all processes": """
for name in os.listdir('/proc'):
    if name.isdigit() and name not in ('1', str(os.getpid())):
        reached(open(f'/proc/{name}/cmdline').read())
refuse(lambda: open(f"/proc/{host['pid']}/cmdline").read())""",
            "sockets of the host": "seen(open('/proc/net/unix').read())\n"
            "reached_if(len(open('/proc/net/unix').readlines()) > 1)",
            "connections of the host": "seen(open('/proc/net/tcp').read())\n"
            "reached_if(len(open('/proc/net/tcp').readlines()) > 1)",
            "interfaces of the host": "seen(open('/proc/net/dev').read())\n"
            "reached_if(len(open('/proc/net/dev').readlines()) > 3)",
            "keys of the host": "seen(open('/proc/keys').read())",
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
