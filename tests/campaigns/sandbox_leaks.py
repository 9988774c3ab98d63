"""Runs thousands of jobs and sessions, of which many end badly, and looks for what is left.

    python -m tests.campaigns.sandbox_leaks [--runs 10000] [--seed N] [--sessions]

They end well, crash, start processes that would outlive them, pass limits, or are cancelled,
in three threads of processes that are killed (kill -9) at moments drawn by the seed. Afterwards no
process, mount, user id, file or descriptor of a sandbox may be left, and after the next job no
control group. Prints how often each kind of job ended in which way, and each leak; ends with
status 1 if there is one.
"""

import argparse
import fcntl
import os
import random
import re
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

from brain.errors import SandboxError
from brain.sandbox.bubblewrap import FIRST_UID, LAST_UID
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import Sandbox, SandboxJob, SandboxLimits
from brain.sandbox.session import SESSION_LIMITS, SandboxSession
from tests.sandbox.process_search import odd_memory_limit, processes_left

_THREADS = 3
_MAX_RUNS_OF_WORKER = 150
_FAMILY, _STEPS = 3, 16
"""Processes of a job that starts others, and of a session."""
_KILLED = 0.7
"""The share of worker processes that are killed; the others end by themselves."""
_END_SECONDS = 20.0

_IS_OF_SANDBOX = re.compile(r"newroot|oldroot|uid=6[01]\d{3}\b")
"""Mounts that bubblewrap makes, or a user of the sandboxes owns."""
_LOOP = "while True: pass"
_SLEEP = "import time; time.sleep(60)"
CODES = {
    "normal": "print('done')",
    "result": "import os; os.write(3, b'=1\\n')",
    "error": "raise ValueError('wrong')",
    "crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "status": "import os; os._exit(7)",
    "child left": f"import os\nif os.fork() == 0:\n    os.setsid()\n    {_SLEEP}",
    "children left": f"import os\nif os.fork() and os.fork(): os._exit(0)\n{_SLEEP}",
    "deaf child": "import os, signal, time\nif os.fork() == 0:\n"
    "    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    "    os.closerange(0, 64)\n    time.sleep(60)",
    "too long": _SLEEP,
    "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "cancelled": _SLEEP,
    "cancelled while busy": _LOOP,
    "output": "import os\nwhile True: os.write(1, bytes(65536))",
    "requests": "import os\nwhile True: os.write(3, b'{}\\n')",
    "failing answer": "import os; os.write(3, b'fail\\n'); os.read(4, 10)",
    "memory": "kept = bytearray(1 << 30)",
    "files": "n = 0\nwhile True:\n    open(f'/tmp/{n}', 'w').write('x' * 5000); n += 1",
    "no such folder": "",
}


SESSIONS = {
    "closed": "echo x >f",
    "processes left": "sleep 60 & setsid sleep 60 & setsid sh -c 'while :; do echo x; done' &",
    "closed at work": "sleep 60",
    "late": "sleep 60 & sleep 60",
    "too long": "sleep 60",
    "full": "cat /dev/zero >f; echo x >g",
    "too many files": "for n in $(seq 5000); do : >/tmp/$n; done; sleep 60",
    "all killed": "kill -9 -1",
    "supervisor killed": "setsid sleep 60 & kill -9 $PPID; sleep 60",
    "supervisor stopped": "kill -STOP $PPID; sleep 60",
    "forks": ":(){ :|:& };: 2>/dev/null",
    "no such folder": "",
}
"""The script of the last of some steps of a session."""


class _AnswerError(Exception):
    pass


def run_one(sandbox: Sandbox, kind: str, memory: int, rng: random.Random) -> str:
    """Run a job or a session of a kind, and say how it ended."""
    if kind.startswith("session: "):
        return run_session(sandbox, kind.removeprefix("session: "), memory, rng)
    processes = _FAMILY if "child" in kind else 1
    limits = SandboxLimits(
        wall_seconds=0.1 + rng.random() / 4 if kind in ("too long", "stopped") else 30.0,
        memory_bytes=memory * processes,
        processes=processes,
        file_bytes=4 << 20,
        output_bytes=1 << 20,
    )
    cancel = Event()
    timer = Timer(rng.random() / 5, cancel.set)
    if kind.startswith("cancelled"):
        timer.start()
    job = SandboxJob(
        arguments=("/job/main.py",),
        files={"/job/main.py": CODES[kind].encode()},
        folders={"data": "/absent"} if kind == "no such folder" else {},
        answer=_answer,
        limits=limits,
    )
    try:
        return sandbox.run(job, cancel).ended_by
    except (SandboxError, _AnswerError) as error:
        return type(error).__name__
    finally:
        timer.cancel()


def run_session(sandbox: Sandbox, kind: str, memory: int, rng: random.Random) -> str:
    """Open a session, take some steps, the last of a kind, and say how it ended."""
    limits = replace(
        SESSION_LIMITS,
        wall_seconds=0.1 + rng.random() if kind in ("too long", "supervisor stopped") else 60.0,
        memory_bytes=memory * _STEPS,
        processes=_STEPS,
        file_bytes=4 << 20,
        files=2000,
    )
    folders = {"data": "/absent"} if kind == "no such folder" else {}
    closer = None
    try:
        with SandboxSession(sandbox, limits=limits, folders=folders) as session:
            for _ in range(rng.randrange(4)):
                session.put("f", rng.randbytes(1000))
                session.run("cat", "f", stdin=session.get("f"))
            if kind == "closed at work":
                closer = Timer(rng.random() / 5, session.close)
                closer.start()
            seconds = rng.random() / 5 if kind in ("late", "forks", "processes left") else 60.0
            step = session.run(script=SESSIONS[kind], seconds=seconds)
            return "late" if step.is_late else "exit"
    except SandboxError as error:
        return error.code
    finally:
        if closer is not None:
            closer.join()


def _answer(request: bytes) -> bytes:
    if request == b"fail":
        raise _AnswerError
    return b"{}"


def work(runs: int, seed: int, memory: int, kinds: list[str]) -> None:
    """Run jobs and sessions, print a line for each, and fail if a descriptor or thread is left."""
    rng = random.Random(seed)
    sandbox = find_sandbox()
    run_one(sandbox, "normal", memory, rng)  # what stays for the life of a process
    before = set(os.listdir("/proc/self/fd"))
    jobs = [(rng.choice(kinds), random.Random(rng.random())) for _ in range(runs)]

    def run_and_report(job: tuple[str, random.Random]) -> None:
        kind, own_rng = job
        ended_by = run_one(sandbox, kind, memory, own_rng)
        os.write(1, f"{kind}: {ended_by}\n".encode())

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(run_and_report, jobs))
    for number in sorted(set(os.listdir("/proc/self/fd")) - before):
        os.write(1, f"leak: descriptor {number}\n".encode())
    for pid in all_left(memory, 0.0):
        os.write(1, f"leak: process {pid} as soon as its run has ended\n".encode())


def watch_worker(
    runs: int, rng: random.Random, folder: str, options: argparse.Namespace
) -> Iterator[str]:
    """Start a worker, kill it at a random moment or never, and yield its lines."""
    command = [sys.executable, "-m", __spec__.name, "--memory", str(options.memory), "--worker"]
    command += ["--sessions"] if options.sessions else []
    worker = subprocess.Popen(
        [*command, f"--runs={runs}", f"--seed={rng.getrandbits(32)}"],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": folder},
    )
    assert worker.stdout is not None
    last = rng.randrange(runs) if rng.random() < options.killed else runs + 1
    with worker:
        for number, line in enumerate(worker.stdout):
            yield line.decode().strip()
            if number == last:
                _wait(worker, rng.random() / 10)
                worker.kill()
        status = worker.wait()
    if last > runs and status != 0:
        yield f"leak: the worker ended with status {status}"


def _wait(worker: subprocess.Popen[bytes], seconds: float) -> None:
    descriptor = os.pidfd_open(worker.pid)
    select.select([descriptor], [], [], seconds)
    os.close(descriptor)


def all_left(memory: int, seconds: float) -> list[int]:
    """Return the processes that do not end in time, of jobs and of sessions."""
    return [pid for n in (1, _FAMILY, _STEPS) for pid in processes_left(memory * n, seconds)]


def state_of_host() -> set[str]:
    """Return mounts, files of sandboxes' users and control groups, as far as they can be left."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounts = {f"mount {line}" for line in lines if _IS_OF_SANDBOX.search(line)}
    files = set()
    for folder in ("/tmp", "/dev/shm", "/var/tmp"):
        for entry in os.scandir(folder):
            if FIRST_UID <= entry.stat(follow_symlinks=False).st_uid <= LAST_UID:
                files.add(f"file {entry.path}")
    groups = Path("/sys/fs/cgroup").glob("**/brain-sandbox-*")
    return mounts | files | {f"control group {path}" for path in groups if not _is_held(path)}


def _is_held(group: Path) -> bool:
    """Tell whether a process that runs holds a control group."""
    try:
        descriptor = os.open(group, os.O_RDONLY)
    except FileNotFoundError:
        return True  # it was removed meanwhile
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return group.exists()


def main() -> int:
    """Run the campaign that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--killed", type=float, default=_KILLED, help="share of workers")
    parser.add_argument("--most", type=int, default=_MAX_RUNS_OF_WORKER, help="runs of a worker")
    parser.add_argument("--sessions", action="store_true", help="no other runs")
    parser.add_argument("--memory", type=int, default=odd_memory_limit(128), help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        kinds = [f"session: {kind}" for kind in SESSIONS]
        kinds += [] if options.sessions else CODES
        work(options.runs, options.seed, options.memory, kinds)
        return 0
    rng = random.Random(options.seed)
    counts: Counter[str] = Counter()
    leaks: list[str] = []
    before = state_of_host()
    done = workers = killed = 0
    with tempfile.TemporaryDirectory(prefix="leaks-") as folder:
        while done < options.runs:
            wanted = min(rng.randint(1, options.most), options.runs - done)
            lines = list(watch_worker(wanted, rng, folder, options))
            ended = [line for line in lines if not line.startswith("leak: ")]
            leaks += [line for line in lines if line.startswith("leak: ")]
            counts.update(ended)
            workers += 1
            killed += len(ended) < wanted
            done += max(len(ended), 1)
            leaks += [f"leak: process {pid}" for pid in all_left(options.memory, _END_SECONDS)]
        leaks += [f"leak: file {name}" for name in os.listdir(folder)]
    run_one(find_sandbox(), "normal", options.memory, rng)  # removes what killed processes left
    leaks += [f"leak: {one}" for one in sorted(state_of_host() - before)]
    for name, count in sorted(counts.items()):
        print(f"{count:6}  {name}")
    print(f"{done:6}  runs in {workers} processes, {killed} of them killed, seed {options.seed}")
    print(f"{len(leaks):6}  leaks", *leaks, sep="\n")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
