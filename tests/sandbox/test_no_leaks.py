"""Nothing is left of a job: no process, descriptor, mount or user, also of fifty at once."""

import asyncio
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from brain.errors import SandboxError
from brain.sandbox import bubblewrap
from brain.sandbox.job import SandboxLimits

from .process_search import odd_memory_limit, processes_with_memory_limit

TASKS = Path("/proc/self/task")
MEMORY_BYTES = odd_memory_limit(512)
PATIENT = SandboxLimits(wall_seconds=120, memory_bytes=MEMORY_BYTES)
SEVERAL = replace(PATIENT, processes=8)
ENDINGS = {
    "exit": ("print(1)", PATIENT),
    "wall_time": ("import time; time.sleep(600)", replace(PATIENT, wall_seconds=0.5)),
    "output": ("while True: print('x' * 5000)", replace(PATIENT, output_bytes=9)),
    "requests": ("import os, time; os.write(3, b'x\\n'); time.sleep(600)", PATIENT),
}
ENDLESS = "import os, time; os.write(3, b'runs\\n'); time.sleep(600)"


def left() -> list[int]:
    """Return the processes of jobs that are left, whatever limit each of them has."""
    limits = (MEMORY_BYTES, MEMORY_BYTES // SEVERAL.processes)
    return [pid for limit in limits for pid in processes_with_memory_limit(limit)]


def of_this_process() -> tuple[int, str, set[str]]:
    """Return the number of descriptors, the mounts, and the children of each thread."""
    children = {pid for path in TASKS.glob("*/children") for pid in path.read_text().split()}
    return len(os.listdir("/proc/self/fd")), Path("/proc/self/mountinfo").read_text(), children


@pytest.mark.parametrize("ended_by", ENDINGS)
def test_nothing_is_left_however_a_job_ends(run, ended_by):
    run("")
    before = of_this_process()
    code, limits = ENDINGS[ended_by]
    assert run(code, limits=limits).ended_by == ended_by
    assert of_this_process() == before
    assert left() == []


def test_nothing_is_left_after_an_error_of_the_answer(run):
    run("")
    before = of_this_process()
    with pytest.raises(KeyError):
        run(ENDLESS, answer={}.__getitem__, limits=PATIENT)
    assert of_this_process() == before
    assert left() == []


def test_what_a_program_started_has_ended_with_its_job(run):
    code = (
        "import os, time\n"
        "for number in range(6):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(600)\n"
        "print('ends', flush=True)\n"
    )
    outcome = run(code, limits=SEVERAL)
    assert outcome.stdout == b"ends\n"
    assert left() == []


def test_fifty_at_once_are_apart_and_leave_nothing(run):
    """Each waits until all run."""
    run("")
    before = of_this_process()
    all_run = threading.Barrier(50)

    def run_one(number: int) -> bytes:
        def answer(request: bytes) -> bytes:
            all_run.wait(100)
            return b"%d" % number

        code = "import os\nos.write(3, b'x\\n')\nprint(os.getuid(), os.read(4, 99))\n"
        return run(code, answer=answer, limits=PATIENT).stdout

    with ThreadPoolExecutor(50) as pool:
        outputs = [output.split(maxsplit=1) for output in pool.map(run_one, range(50))]
    assert [answer for _, answer in outputs] == [b"b'%d\\n'\n" % n for n in range(50)]
    if os.geteuid() == 0:
        assert len({uid for uid, _ in outputs}) == 50
    assert of_this_process() == before
    assert left() == []


def test_a_job_outlives_the_thread_that_started_another(run):
    """The kernel would end a sandbox with the thread that spawned it."""
    runs, ended = threading.Event(), threading.Event()

    def answer(request: bytes) -> bytes:
        runs.set()
        ended.wait(100)
        return b""

    first = threading.Thread(target=run, args=("",))
    first.start()
    first.join()
    with ThreadPoolExecutor(1) as pool:
        code = "import os\nos.write(3, b'x\\n')\nos.read(4, 1)\nprint('lives')\n"
        second = pool.submit(run, code, answer=answer)
        assert runs.wait(100)
        third = threading.Thread(target=run, args=("",))
        third.start()
        third.join()
        ended.set()
        assert second.result().stdout == b"lives\n"


def test_jobs_run_in_worker_threads_of_asyncio(run):
    async def run_all() -> list[bytes]:
        done = await asyncio.gather(*(asyncio.to_thread(run, f"print({n})") for n in range(4)))
        return [outcome.stdout for outcome in done]

    assert asyncio.run(run_all()) == [b"%d\n" % number for number in range(4)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_runs_jobs_of_its_own(run):
    run("")
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(run("print(1)").stdout != b"1\n")
        finally:
            os._exit(9)
    assert os.waitpid(pid, 0)[1] == 0


def test_without_free_descriptors_a_job_is_an_error_and_leaves_nothing(run):
    run("")
    before = of_this_process()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    errors = set()
    for free in range(1, 60):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] + free, limits[1]))
        try:
            done = run("print(1)", limits=PATIENT)
        except SandboxError as error:
            errors.add(error.code)
            assert error.hint
        else:
            assert done.stdout == b"1\n"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert of_this_process() == before
    assert errors == {"sandbox_failed"}
    assert left() == []


def test_a_program_that_ignores_its_children_gets_an_error(run):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(SandboxError) as caught:
            run("print(1)", limits=PATIENT)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert caught.value.code == "sandbox_failed" and "SIGCHLD" in caught.value.hint
    assert left() == []


PARENT = """
import sys, threading
from brain.sandbox import bubblewrap
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import SandboxJob

code = b"import os, time; os.write(3, b'runs\\\\n'); time.sleep(600)"
processes = []
spawn = bubblewrap.spawn_process

def spawn_process(arguments, contents):
    processes.append(spawn(arguments, contents))
    return processes[-1]

bubblewrap.spawn_process = spawn_process
all_run = threading.Barrier(5)

def answer(request):
    all_run.wait(100)
    return b""

def run():
    job = SandboxJob(arguments=("/job/a.py",), files={"/job/a.py": code}, answer=answer)
    print(find_sandbox().run(job).ended_by, flush=True)

for _ in range(4):
    threading.Thread(target=run, daemon=DAEMON).start()
all_run.wait(100)
print(*(process.first_pid for process in processes), flush=True)
sys.stdin.read()
"""


def start_parent(*, daemon: bool) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start a process with four jobs, and return it with a descriptor of each."""
    code = PARENT.replace("DAEMON", str(daemon))
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    numbers = [int(number) for number in parent.stdout.readline().split()]
    assert len(numbers) == 4
    return parent, [os.pidfd_open(number) for number in numbers]


def have_ended(descriptors: list[int]) -> bool:
    """Wait until each process has ended; False after a long time."""
    ended = select.poll()
    try:
        for descriptor in descriptors:
            ended.register(descriptor, select.POLLIN)
            if not ended.poll(100_000):
                return False
            ended.unregister(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_jobs_end_with_the_process_that_runs_them(run, number):
    parent, descriptors = start_parent(daemon=True)
    with parent:
        parent.send_signal(number)
    assert have_ended(descriptors)


def test_jobs_end_with_a_program_that_ends(run):
    parent, descriptors = start_parent(daemon=True)
    with parent:
        parent.communicate(b"")
    assert parent.returncode == 0
    assert have_ended(descriptors)


def test_jobs_of_other_threads_go_on_when_the_main_thread_has_ended(run):
    """Their time limit ends them, not the end of the main thread."""
    code = PARENT.replace("DAEMON", "False").replace("time.sleep(600)", "os.read(4, 1)")
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    output = parent.communicate()[0]
    assert (parent.returncode, output.count(b"exit")) == (0, 4)


def test_ctrl_c_does_not_reach_a_job(run):
    """A terminal interrupts all processes of a group; the program decides about its jobs."""

    def answer(request: bytes) -> bytes:
        os.killpg(os.getpgid(0), signal.SIGINT)
        return b""

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    group = os.getpgid(0)
    os.setpgid(0, 0)
    try:
        code = "import os\nos.write(3, b'x\\n')\nos.read(4, 1)\nprint('lives')\n"
        assert run(code, answer=answer).stdout == b"lives\n"
    finally:
        os.setpgid(0, group)
        signal.signal(signal.SIGINT, before)


def test_all_users_taken_is_an_error(monkeypatch):
    # Not of the range, so that no sandbox of another process takes it meanwhile; and not the one
    # of this test as another user, which may run at the same time.
    only = bubblewrap.LAST_UID + 1 + min(os.geteuid(), 1)
    monkeypatch.setattr(bubblewrap, "FIRST_UID", only)
    monkeypatch.setattr(bubblewrap, "LAST_UID", only)
    with bubblewrap.reserved_uid() as uid:
        assert uid == only
        with pytest.raises(SandboxError) as caught, bubblewrap.reserved_uid():
            pass
    assert caught.value.code == "no_uid"
    with bubblewrap.reserved_uid():
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has users of its own for sandboxes")
def test_what_a_killed_program_left_is_ended_unless_somebody_holds_its_user():
    def start_orphan(uid: int) -> tuple[int, int]:
        command = f"setpriv --reuid={uid} --regid={uid} --clear-groups sleep 600"
        script = f"{command} >/dev/null 2>&1 & echo $!"
        done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
        pid = int(done.stdout)
        process = os.pidfd_open(pid)
        while Path(f"/proc/{pid}").stat().st_uid != uid:  # setpriv has not come that far
            select.select([process], [], [], 0.01)
        return pid, process

    def has_ended(process: int, within: float) -> bool:
        return bool(select.select([process], [], [], within)[0])

    (_, left_behind), (held_pid, held) = start_orphan(60_800), start_orphan(60_801)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as holder:
        assert bubblewrap._lock_uid(holder, 60_801)
        bubblewrap.end_orphans.cache_clear()
        bubblewrap.end_orphans()
        assert has_ended(left_behind, 60)
        assert not has_ended(held, 0)
        os.kill(held_pid, signal.SIGKILL)
    os.close(left_behind)
    os.close(held)
