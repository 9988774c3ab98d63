"""Runs the commands of a session inside its sandbox, one after the other; see session.py.

It imports nothing of the project. Each answer is a line of JSON on descriptor 3, and the next
command comes as a line on descriptor 4. Each answer repeats `of`, which only this process knows.
"""

import ctypes
import errno
import io
import json
import os
import select
import signal
import stat
import sys
import time
from binascii import a2b_base64, b2a_base64

NOT_DUMPABLE = (4, 0)
"""PR_SET_DUMPABLE: no other process opens the memory and the descriptors of this one in /proc."""
PART_BYTES = 1 << 18
PIPE_PARTS = 17
"""Reads that empty a pipe, however large a command made it."""
TAR_CHANGED = 1
"""The status of tar if a file changed while it was read."""
DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and its children would too."""
KINDS = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ELOOP: "not_a_file",
    errno.EISDIR: "not_a_file",
    errno.ENOSPC: "full",
    errno.EFBIG: "full",
}
outputs = set()
"""Where processes that commands left still write to: read, so that they neither wait nor end."""


class Current:
    source = packer = None
    """What the parts of the answer are read from, and the process that writes it."""


def wait(wanted, deadline):
    """Wait until some of the descriptors can be read, or until the deadline; return them."""
    while True:
        poll = select.poll()
        for descriptor in outputs | wanted:
            poll.register(descriptor, select.POLLIN)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = {descriptor for descriptor, _ in poll.poll(left)}
        for descriptor in ready - wanted:
            if not os.read(descriptor, 1 << 16):
                outputs.remove(descriptor)
                os.close(descriptor)
        if ready & wanted or left == 0:
            return ready & wanted


def ask(answer):
    """Write an answer, and return the next command."""
    line = json.dumps(answer).encode() + b"\n"
    while line:
        line = line[os.write(3, line) :]
    parts = []
    while not parts or not parts[-1].endswith(b"\n"):
        wait({4}, None)
        parts.append(os.read(4, 1 << 16))
        if parts[-1] in (b"", b"\n"):
            os._exit(0)  # closed, or about to be
    return json.loads(b"".join(parts))


def start(argv, env, stdin_file, output, error):
    actions = [(os.POSIX_SPAWN_DUP2, *pair) for pair in ((stdin_file, 0), (output, 1), (error, 2))]
    os.environ["PATH"] = env["PATH"]  # where the program is looked for
    return os.posix_spawnp(
        argv[0], argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=DEFAULTS
    )


def run(argv, cwd, env, stdin, seconds, most):
    finish()
    os.chdir(cwd)
    stdin_file = os.open(stdin or "/dev/null", os.O_RDONLY)
    if stdin:
        os.unlink(stdin)
    reading, writing = os.pipe()
    outputs.add(reading)
    try:
        pid = start(argv, env, stdin_file, writing, writing)
    finally:
        os.close(stdin_file)
        os.close(writing)
    ended, deadline = os.pidfd_open(pid), time.monotonic() + seconds
    kept, late, parts = bytearray(), False, 0
    wanted = {reading, ended}
    while reading in wanted or ended in wanted:
        ready = wait(wanted, deadline if ended in wanted else 0)
        if (not ready and ended not in wanted) or parts == PIPE_PARTS:
            break  # a process that the command left may write to it for ever
        if not ready:
            late, deadline = True, None
            os.killpg(pid, signal.SIGKILL)
        if ended in ready:
            wanted.discard(ended)
        parts += ended not in wanted
        if reading in ready:
            data = os.read(reading, 1 << 16)
            if not data:
                wanted.discard(reading)
                outputs.discard(reading)
                os.close(reading)
            kept += data[: most - len(kept)]
    os.close(ended)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, "late": late, **begin(io.BytesIO(kept))}


def put(path, data, mode, append):
    if not append:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
    flags = os.O_APPEND if append else os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | flags, 0o600), "wb") as file:
            file.write(a2b_base64(data))
            os.fchmod(file.fileno(), mode)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG):
            os.unlink(path)
        raise
    return {}


def get(path):
    finish()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR, "a folder or a device")
    return begin(open(descriptor, "rb"))


def pack(names, env):
    finish()
    os.chdir("/")
    for name in names:
        os.lstat(name)
    reading, writing = os.pipe()
    with open("/dev/null", "r+b") as nothing:
        argv = ["tar", "--ignore-failed-read", "-cf", "-", "--", *names]
        Current.packer = start(argv, env, nothing.fileno(), writing, nothing.fileno())
    os.close(writing)
    return begin(open(reading, "rb"))


def begin(file):
    """Read an answer from a file, part by part."""
    Current.source = file
    return more()


def more():
    part = Current.source.read(PART_BYTES)
    is_all = len(part) < PART_BYTES
    if is_all and (status := finish()) not in (0, TAR_CHANGED):
        raise ValueError(f"tar ended with status {status}")
    return {"data": b2a_base64(part, newline=False).decode(), "more": not is_all}


def finish():
    """Let go of what the last answer was read from; return the status of its packer."""
    source, packer, Current.source, Current.packer = Current.source, Current.packer, None, None
    if source is not None:
        source.close()
    return 0 if packer is None else os.waitstatus_to_exitcode(os.waitpid(packer, 0)[1])


DOES = {"run": run, "put": put, "get": get, "pack": pack, "more": more}
if ctypes.CDLL(None).prctl(*NOT_DUMPABLE):
    os._exit(1)
for descriptor in (3, 4):
    os.set_inheritable(descriptor, False)
home, place = sys.argv[1:]
for folder in (home, place, "/etc"):
    os.makedirs(folder, exist_ok=True)
for name, content in {
    "passwd": f"user:x:{os.getuid()}:{os.getgid()}::{home}:/bin/sh\n",
    "group": f"user:x:{os.getgid()}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
}.items():
    with open(f"/etc/{name}", "w") as file:
        file.write(content)
answer = {"of": ""}
while True:
    command = ask(answer)
    of = command.pop("of")
    try:
        answer = {"of": of, **DOES[command.pop("do")](**command)}
    except OSError as error:
        answer = {"of": of, "error": KINDS.get(error.errno, "failed"), "why": error.strerror}
    except ValueError as error:
        answer = {"of": of, "error": "failed", "why": str(error)}
