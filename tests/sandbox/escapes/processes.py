"""Other processes, and rights and limits of its own."""

from __future__ import annotations

from .attempt import FAMILY, Attempt, table

_LIMITED = {
    "address space": "RLIMIT_AS",
    "processes": "RLIMIT_NPROC",
    "processor time": "RLIMIT_CPU",
    "size of files": "RLIMIT_FSIZE",
    "open files": "RLIMIT_NOFILE",
    "core files": "RLIMIT_CORE",
    "locked memory": "RLIMIT_MEMLOCK",
    "queues": "RLIMIT_MSGQUEUE",
    "stack": "RLIMIT_STACK",
    "priority": "RLIMIT_RTPRIO",
}

ATTEMPTS: list[Attempt] = [
    *table(
        "processes",
        {
            f"raise the limit of {name}": f"""
import resource
refuse(resource.setrlimit, resource.{limit}, (resource.RLIM_INFINITY,) * 2)"""
            for name, limit in _LIMITED.items()
        },
    ),
    *table(
        "processes",
        {
            "fork": "refuse(os.fork)",
            "fork by a system call": "refuse(call, 'fork')",
            "vfork": "refuse(call, 'vfork')",
            "clone": "refuse(call, 'clone', 17, 0, 0, 0, 0)",
            "clone as a sibling": "refuse(call, 'clone', 0x8000 | 17, 0, 0, 0, 0)",
            "clone that shares memory": "refuse(call, 'clone', 0x100 | 17, 0, 0, 0, 0)",
            "clone3": "refuse(call, 'clone3', (17).to_bytes(40, 'little')[::-1], 88)",
            "start a program": "refuse(os.posix_spawn, '/usr/bin/true', ['true'], {})",
            "start a program by subprocess": """
import subprocess
refuse(subprocess.run, ['/usr/bin/true'])""",
            "start a pool": """
import multiprocessing
refuse(multiprocessing.Pool, 2)""",
            "threads without end": """
def start(_):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
count_until_refused(start, 20)
sys.stdout.flush(); os.write(1, b'ended\\n'); os._exit(0)""",
            "end a process of the host": "refuse(os.kill, host['pid'], signal.SIGKILL)",
            "open a process of the host": "refuse(os.pidfd_open, host['pid'])",
            "trace a process of the host": "refuse(call, 'ptrace', 16, host['pid'], 0, 0)",
            "trace process 1": "refuse(call, 'ptrace', 16, 1, 0, 0)",
            "seize process 1": "refuse(call, 'ptrace', 0x4206, 1, 0, 0)",
            "let the parent trace it": "refuse(call, 'ptrace', 0, 0, 0, 0)",
            "read memory of process 1": "refuse(call, 'process_vm_readv', 1, 0, 0, 0, 0, 0)",
            "write memory of process 1": "refuse(call, 'process_vm_writev', 1, 0, 0, 0, 0, 0)",
            "write memory of process 1 in /proc": "refuse(os.open, '/proc/1/mem', os.O_RDWR)",
            "advise process 1": "refuse(call, 'process_madvise', os.pidfd_open(1), 0, 0, 20, 0)",
            "limits of a process of the host": """
import resource
refuse(resource.prlimit, host['pid'], resource.RLIMIT_AS)""",
            "become root": "refuse(os.setuid, 0)",
            "become root in its group": "refuse(os.setgid, 0)",
            "become root by three ids": "refuse(os.setresuid, 0, 0, 0)",
            "become another user": "refuse(os.setuid, 1000)",
            "other groups": "refuse(os.setgroups, [0])",
            "the user of files": "refuse(call, 'setfsuid', 0)",
            "all capabilities": "refuse(call, 'capset', bytes(8), b'\\xff' * 24)",
            "capabilities it has": """
data = ctypes.create_string_buffer(24)
call('capget', (0x20080522).to_bytes(8, 'little'), data)
reached_if(data.raw != bytes(24), data.raw)
for number in range(64):
    try:
        reached_if(call('prctl', 23, number, 0, 0, 0), number)
    except OSError:
        break""",
            "a capability that stays": "refuse(call, 'prctl', 47, 2, 21, 0, 0) if "
            "call('prctl', 47, 1, 21, 0, 0) == 0 else reached('it is set')",
            "bits of security": "refuse(call, 'prctl', 28, 1, 0, 0, 0)",
            "keep capabilities": """
try:
    call('prctl', 8, 1, 0, 0, 0)
finally:
    refuse(os.setuid, 0)""",
            "new privileges": "refuse(call, 'prctl', 38, 0, 0, 0, 0)",
            "no filter": "refuse(call, 'prctl', 22, 0, 0, 0, 0)",
            "a filter that allows all": """
allow = ctypes.create_string_buffer(b'\\x06\\0\\0\\0\\0\\0\\xff\\x7f')
filters = ctypes.create_string_buffer(
    (1).to_bytes(8, 'little') + ctypes.addressof(allow).to_bytes(8, 'little'))
seen(call('prctl', 22, 2, filters, 0, 0))
absent('bpf')""",
            "its own map of memory": "refuse(call, 'prctl', 35, 13, 4096, 0, 0)",
            "a higher priority": "refuse(os.nice, -5)",
            "a priority of real time": """
refuse(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))""",
            "a deadline": "refuse(call, 'sched_setattr', 0, bytes(56), 0)",
            "priority of the disk": "refuse(call, 'ioprio_set', 1, 0, 1 << 13)",
            "priority of a process of the host": """
refuse(os.setpriority, os.PRIO_PROCESS, host['pid'], 19)""",
            "compare with a process of the host": "refuse(call, 'kcmp', 1, host['pid'], 0, 0, 0)",
            "a program that raises rights": """
refuse(os.execv, '/usr/bin/python3-absent', ['x'])
reached_if(os.geteuid() == 0)
reached_if(call('prctl', 39, 0, 0, 0, 0) != 1)
reached_if(os.statvfs('/usr/bin').f_flag & os.ST_NOSUID == 0)""",
        },
    ),
    *table(
        "processes",
        {
            "processes without end": """
children = []
def start(_):
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    children.append(pid)
count_until_refused(start, 12)""",
            "a bomb of processes": """
def burst():
    for _ in range(6):
        try:
            if os.fork() == 0:
                burst()
                os._exit(0)
        except OSError:
            pass
burst()
time.sleep(0.1)
count_until_refused(lambda _: os.fork() or time.sleep(60), 12)""",
            "become root by su": "refuse(program, '/usr/bin/su', '-c', 'true')",
            "become root by mount": "refuse(program, '/usr/bin/mount', '-t', 'tmpfs', 'x', '/tmp')",
            "a program that keeps its set bit": """
import shutil
shutil.copy('/usr/bin/id', '/tmp/id')
os.chmod('/tmp/id', 0o6755)
program('/tmp/id', '-u')
seen('started')
reached_if(os.geteuid() == 0)""",
            "trace a child": """
def wait():
    time.sleep(1)
pid = os.fork()
if pid == 0:
    time.sleep(60)
    os._exit(0)
refuse(call, 'ptrace', 16, pid, 0, 0)
os.kill(pid, 9)""",
            "limits of a program it starts": """
refuse(program, '/usr/bin/prlimit', '--as=unlimited', '--nproc=unlimited', '/usr/bin/true')""",
        },
        limits=FAMILY,
    ),
]
