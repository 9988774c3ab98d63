"""Memory, disks, signals: more than the limits, and longer than allowed."""

from __future__ import annotations

from dataclasses import replace

from brain.sandbox.sandbox_protocol import MIB

from .attempt import BRIEF, FAMILY, LIMITS, Attempt, table

_TWICE = 256 * MIB

ATTEMPTS: list[Attempt] = [
    *table(
        "memory",
        {
            "heap": f"refuse(bytearray, {_TWICE})",
            "many small pieces": f"kept = []\ncount_until_refused(lambda _: kept.append("
            f"bytearray(1 << 20)), {_TWICE >> 20})",
            "mapped": f"refuse(mmap.mmap, -1, {_TWICE})",
            "mapped and private": f"refuse(mmap.mmap, -1, {_TWICE}, mmap.MAP_PRIVATE | 0x20)",
            "mapped without reserve": f"refuse(mmap.mmap, -1, {_TWICE}, 0x4022)",
            "mapped in many pieces": "kept = []\ncount_until_refused(lambda _: kept.append("
            "mmap.mmap(-1, 1 << 20)), 256)",
            "mapped from a device": f"refuse(mmap.mmap, os.open('/dev/zero', 2), {_TWICE})",
            "mapped from a file": f"""
file = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)
def grow():
    os.ftruncate(file, {_TWICE})
    return mmap.mmap(file, {_TWICE})
refuse(grow)""",
            "huge pages": f"refuse(mmap.mmap, -1, {_TWICE}, mmap.MAP_PRIVATE | 0x20 | 0x40000)",
            "one huge page": "refuse(mmap.mmap, -1, 2 << 20, mmap.MAP_PRIVATE | 0x20 | 0x40000)",
            "grown": f"refuse(mmap.mmap(-1, 4096).resize, {_TWICE})",
            "growing down": f"refuse(mmap.mmap, -1, {_TWICE}, mmap.MAP_PRIVATE | 0x20 | 0x100)",
            "the break": f"refuse(lambda: ctypes.CDLL(None).sbrk(ctypes.c_long({_TWICE})) + 1 or "
            "exec('raise MemoryError'))",
            "a file in memory": "refuse(os.memfd_create, 'x')",
            "a secret file in memory": "refuse(call, 'memfd_secret', 0)",
            "shared memory": """
file = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)
count_until_refused(lambda _: os.write(file, bytes(1 << 20)), 16)""",
            "mapped shared memory": f"""
file = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)
refuse(os.ftruncate, file, {_TWICE})""",
            "shared memory of Python": """
from multiprocessing import shared_memory
refuse(shared_memory.SharedMemory, 'x', True, 16 << 20)""",
            "shared memory of System V": "refuse(call, 'shmget', 0, 1 << 20, 0o1600)",
            "messages of System V": "refuse(call, 'msgget', 0, 0o1600)",
            "queues of messages": "refuse(call, 'mq_open', 'x', 66, 0o600, 0)",
            "locked": "refuse(lambda: call('mlock', ctypes.create_string_buffer(8192), 8192))",
            "all locked": "refuse(call, 'mlockall', 3)",
            "stacks of threads": """
threading.stack_size(64 << 20)
def start(_):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
count_until_refused(start, 4)
os.write(1, b'ended\\n'); os._exit(0)""",
            "pages shared by pipes": """
import fcntl
total = 0
def fill(_):
    global total
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        fcntl.fcntl(write, 1031, 1 << 20)
    except OSError:
        pass
    try:
        while True:
            total += os.write(write, bytes(65536))
    except BlockingIOError:
        pass
count_until_refused(fill, 64)
reached_if(total > host['memory'], total)""",
            "pipes on their way": """
import array, fcntl
one, two = socket.socketpair()
one.setblocking(False)
total = 0
def fill(_):
    global total
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        fcntl.fcntl(write, 1031, 1 << 20)
    except OSError:
        pass
    try:
        while True:
            total += os.write(write, bytes(65536))
    except BlockingIOError:
        pass
    try:
        one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                              array.array('i', [read, write]))])
    finally:
        os.close(read)
        os.close(write)
count_until_refused(fill, 2000)
reached_if(total > host['memory'], total)""",
            "sockets on their way": """
import array
total = 0
kept = []
def fill(_):
    global total
    one, two = socket.socketpair()
    one.setblocking(False)
    try:
        while True:
            total += one.send(bytes(65536))
    except BlockingIOError:
        pass
    kept.append((one, two))
count_until_refused(fill, 2000)
reached_if(total > host['memory'], total)""",
        },
    ),
    *table(
        "memory",
        {
            "the stack": """
import resource
sys.setrecursionlimit(10**9)
def deeper(items):
    return [deeper, *map(deeper, [items])]
deeper(1)""",
            "the stack of C": "import json\nsys.setrecursionlimit(10**9)\njson.loads('[' * 10**6)",
        },
        ends=("exit", "signal", "recursion"),
    ),
    *table(
        "memory",
        {
            "of three processes": """
reading, writing = os.pipe()
def take():
    try:
        held = bytearray(b'x') * (host['family_memory'] // 2)
    except MemoryError:
        os.write(writing, b'refused\\n')
    else:
        os.write(writing, b'held\\n')
        signal.pause()
for _ in range(3):
    if os.fork() == 0:
        take()
        os._exit(0)
answers = b''
while answers.count(b'\\n') < 3:
    answers += os.read(reading, 99)
reached_if(answers.count(b'held') > 1, answers)""",
            "of a program it starts": """
refuse(program, '/usr/bin/python3', '-I', '-S', '-c',
       f"bytearray({host['family_memory']})")""",
        },
        limits=replace(FAMILY, processes=4),
        ends=("exit", "memory"),
    ),
    *table(
        "disks",
        {
            "fill /tmp": """
count_until_refused(lambda n: write_file(f'/tmp/{n}', bytes(1 << 20)) == 1 << 20 or
    os.write(99, b''), 16)""",
            "one big file": """
file = os.open('/tmp/x', os.O_WRONLY | os.O_CREAT)
count_until_refused(lambda _: os.write(file, bytes(1 << 20)), 16)""",
            "a sparse file": "refuse(os.truncate, write_file('/tmp/x') and '/tmp/x', 1 << 40)",
            "a byte far away": """
file = os.open('/tmp/x', os.O_WRONLY | os.O_CREAT)
refuse(os.pwrite, file, b'x', 1 << 40)""",
            "room reserved": """
file = os.open('/tmp/x', os.O_WRONLY | os.O_CREAT)
refuse(os.posix_fallocate, file, 0, 16 << 20)""",
            "room reserved without a size": """
file = os.open('/tmp/x', os.O_WRONLY | os.O_CREAT)
refuse(lambda: [call('fallocate', os.open(f'/tmp/{n}', os.O_WRONLY | os.O_CREAT), 1, 0, 4 << 20)
    for n in range(4)])""",
            "many small files": "count_until_refused(lambda n: write_file(f'/tmp/{n}'), 5000)",
            "files without names": """
def make(_):
    file = os.open('/tmp', os.O_TMPFILE | os.O_RDWR)
    os.write(file, bytes(1 << 20))
count_until_refused(make, 16)""",
            "removed but open": """
def make(n):
    file = os.open(f'/tmp/{n}', os.O_WRONLY | os.O_CREAT)
    os.unlink(f'/tmp/{n}')
    os.write(file, bytes(1 << 20))
count_until_refused(make, 16)""",
            "copied in the kernel": """
file = os.open('/tmp/x', os.O_WRONLY | os.O_CREAT)
zero = os.open('/dev/zero', os.O_RDONLY)
count_until_refused(lambda _: os.sendfile(file, zero, None, 1 << 20) or os.write(99, b''), 16)""",
            "copied by ranges": """
source = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)
os.write(source, bytes(1 << 20))
target = os.open('/tmp/y', os.O_RDWR | os.O_CREAT)
count_until_refused(lambda n: os.copy_file_range(source, target, 1 << 20, 0, n << 20), 16)""",
            "standard input": "count_until_refused(lambda _: os.write(0, bytes(1 << 20)), 16)",
            "the root": "refuse(write_file, '/made')",
            "the folder of the job": "refuse(write_file, '/job/made')",
            "/dev": "refuse(write_file, '/dev/made')",
            "/dev/pts": "refuse(write_file, '/dev/pts/made')",
            "/proc": "refuse(write_file, '/proc/made')",
            "/proc/1": "refuse(write_file, '/proc/1/made')",
            "/usr": "refuse(write_file, '/usr/made')",
            "folders of approved folders": "refuse(os.mkdir, '/folders/made')",
            "a full device": "refuse(lambda: write_file('/dev/full', b'x', os.O_WRONLY))",
            "a process's files": "refuse(write_file, '/proc/self/made')",
            "watches": """
libc = ctypes.CDLL(None, use_errno=True)
def watch(n):
    if libc.inotify_init1(0) < 0:
        raise OSError(ctypes.get_errno(), 'no more')
count_until_refused(watch, 200)""",
        },
    ),
    *table(
        "disks",
        {
            f"many {name}": f"""
def make(n):
    {code}
count_until_refused(make, 150_000)"""
            for name, code in {
                "empty files": "os.close(os.open(f'/tmp/{n}', os.O_WRONLY | os.O_CREAT))",
                "folders": "os.mkdir(f'/tmp/{n}')",
                "symlinks": "os.symlink('x' * 120, f'/tmp/{n}')",
                "pipes with names": "os.mkfifo(f'/tmp/{n}')",
                "hard links": "n or os.close(os.open('/tmp/0', os.O_WRONLY | os.O_CREAT)); "
                "n and os.link('/tmp/0', f'/tmp/{n}')",
            }.items()
        },
        ends=("exit", "files", "disk", "memory", "signal"),
    ),
    *table(
        "signals",
        {
            "end process 1": """
os.kill(1, signal.SIGKILL)
time.sleep(0.1)
seen('alive')""",
            "stop process 1": "os.kill(1, signal.SIGSTOP); seen('alive')",
            "terminate its parent": "os.kill(os.getppid(), signal.SIGTERM); seen('alive')",
            "a signal in a queue to process 1": "os.kill(1, signal.SIGRTMIN); seen('alive')",
            "its parent's group": """
refuse(os.killpg, host['group'], signal.SIGKILL)""",
            "a thread of the host": "refuse(call, 'tgkill', host['pid'], host['pid'], 9)",
            "a thread of any group": "refuse(call, 'tkill', host['pid'], 9)",
            "by a descriptor": """
refuse(lambda: signal.pidfd_send_signal(os.pidfd_open(host['pid']), 9))""",
            "a session of its own": """
try:
    os.setsid()
except OSError as error:
    seen(error)
refuse(os.kill, host['pid'], 9)""",
            "the group of the host": "refuse(os.setpgid, 0, host['group'])",
            "no end with its parent": """
seen(call('prctl', 1, 0, 0, 0, 0))""",
            "the owner of a descriptor": """
import fcntl
refuse(fcntl.fcntl, 0, fcntl.F_SETOWN, host['pid'])""",
        },
        ends=("exit", "signal"),
    ),
    *table(
        "signals",
        {
            "to all": "refuse(os.kill, -1, signal.SIGKILL)",
            "to its own group": "os.killpg(0, signal.SIGKILL)\nseen('alive')",
        },
        ends=("exit", "signal"),
        limits=FAMILY,
    ),
    *table(
        "signals",
        {
            "stopped": "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)",
            "deaf to all that can be ignored": """
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(60)""",
            "blocked": """
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
time.sleep(60)""",
            "a child that goes on while it waits": """
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
os.wait()""",
            "each awakes another": """
def go():
    while True:
        time.sleep(0.01)
for _ in range(2):
    if os.fork() == 0:
        go()
go()""",
            "all descriptors closed": "os.closerange(0, 64); time.sleep(60)",
        },
        limits=BRIEF,
        ends=("wall_time",),
    ),
    *table(
        "signals",
        {
            "deaf to the end of its time": """
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass""",
            "a handler for the end of its time": """
signal.signal(signal.SIGXCPU, lambda *_: None)
while True:
    pass""",
            "busy in C": "10 ** 10 ** 10",
        },
        limits=BRIEF,
        ends=("cpu_time", "signal", "wall_time"),
    ),
    *table(
        "signals",
        {
            "busy in threads": """
def spin():
    while True:
        pass
start_threads(spin, 4)
spin()""",
        },
        limits=replace(LIMITS, cpu_seconds=1),
        ends=("cpu_time", "signal"),
    ),
    *table(
        "signals",
        {
            "outlive by a double fork": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
seen('left')""",
            "outlive with closed descriptors": """
if os.fork() == 0:
    os.closerange(0, 64)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    time.sleep(60)
seen('left')""",
            "outlive stopped": """
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(pid, os.WUNTRACED)
seen('left')""",
            "outlive in another program": """
os.posix_spawn('/usr/bin/sleep', ['sleep', '61', host['run']], {}, setsid=False)
seen('left')""",
        },
        limits=FAMILY,
    ),
]
