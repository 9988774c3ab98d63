"""Sessions: steps share files and processes, nothing inside can hold or fool the host."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from threading import Event

import pytest

from brain.errors import SandboxError
from brain.sandbox import memory
from brain.sandbox import session as session_module
from brain.sandbox.job import MIB, Sandbox, SandboxJob, SandboxOutcome
from brain.sandbox.session import SESSION_LIMITS, SandboxSession
from tests.support.refusals import raises_code

from .process_search import odd_memory_limit, processes_left

MEMORY_BYTES = odd_memory_limit(600)
LIMITS = replace(
    SESSION_LIMITS, memory_bytes=MEMORY_BYTES, processes=24, file_bytes=32 * MIB, files=2000
)
THREE = 'for n in 1 2 3; do python3 -c "$1" & done; wait'
PATIENT = 60.0
"""Seconds; no test depends on how long a step takes."""


@pytest.fixture(scope="module")
def shared(sandbox):
    with SandboxSession(sandbox, limits=replace(LIMITS, memory_bytes=600 * MIB)) as session:
        yield session


@pytest.fixture
def own(sandbox):
    with SandboxSession(sandbox, limits=LIMITS, loopback=True) as session:
        yield session


def test_steps_share_a_folder_and_what_runs(own):
    assert own.run(script="echo one >f; pwd; mkdir -p /app; echo $HOME").output == b"/work\n/root\n"
    serve = "python3 -m http.server 8123 --bind 127.0.0.1 & echo $!"
    assert own.run(script=serve, cwd="/work").output.strip().isdigit()
    fetch = "import urllib.request as u; print(u.urlopen('http://localhost:8123/f').read())"
    wait = "until python3 -c 'import socket; socket.create_connection((\"localhost\", 8123))'"
    assert own.run(script=f"{wait} 2>/dev/null; do :; done").status == 0
    assert own.run("python3", "-c", fetch).output == b"b'one\\n'\n"


@pytest.mark.parametrize("path", ["/usr/bin/tar", "/etc/ld.so.preload", "/etc/alternatives/x"])
def test_what_every_program_loads_cannot_be_replaced(shared, path):
    script = "rm -rf $1; echo planted >$1; cat $1"
    assert b"planted" not in shared.run(path, script=script).output
    assert shared.run(script="mv $(dirname $1) /y || rm -r $(dirname $1)", cwd="/").status != 0


def test_a_session_has_a_proc_of_its_own_processes(own):
    # Until it runs the program, the child of a shell has the shell's own line.
    started = "until ps -o comm= $! | grep -qx sleep; do :; done"
    own.run(script=f"sleep 600 & {started}; read -r line < <(echo through a file); echo $line >f")
    assert own.get("f") == b"through a file\n"
    shown = own.run("ps", "-eo", "args=").output.decode().splitlines()
    # The process substitution has ended, and may not be reaped yet on a busy machine.
    shown = [line for line in shown if not line.endswith("<defunct>")]
    assert shown[1:] == ["sleep 600", "ps -eo args="] and "python" in shown[0]
    hidden = "cat /proc/$PPID/environ /proc/$PPID/fd/3 /proc/cmdline; ls /proc/1 /proc/$PPID/fd"
    step = own.run(script=f"echo >/proc/$PPID/mem || echo >/proc/$PPID/fd/3 || {{ {hidden}; }}")
    assert step.output.count(b"ermission denied") == 6 and step.output.count(b"\n") == 7


def test_java_compiles_and_runs_in_a_session_of_the_default_size(sandbox):
    if shutil.which("javac") is None:
        pytest.skip("this machine has no Java")
    main = "class A { public static void main(String[] a) { System.out.println(6 * 7); } }"
    with SandboxSession(sandbox) as session:
        session.put("A.java", main.encode())
        assert session.run("java", "A.java", seconds=PATIENT).output.endswith(b"\n42\n")


def test_a_step_has_its_own_folder_environment_and_input(shared):
    step = shared.run(
        *("sh", "-c", "pwd; echo $A; cat; exit 7"), cwd="/tmp", env={"A": "ä"}, stdin=b"in\0put"
    )
    assert step == (7, "/tmp\nä\nin\0put".encode(), False)
    assert shared.run(script="echo $0 $1 $A $-", env={"A": ""}).output.startswith(b"bash")
    assert shared.run("sh", "-c", "kill -SEGV $$").status == -signal.SIGSEGV


def test_what_a_step_prints_is_cut(shared):
    step = shared.run(script="head -c 300000 /dev/zero; echo end >&2", max_bytes=100_000)
    assert (step.status, step.output) == (0, bytes(100_000))
    assert shared.run("head", "-c", "9", "/dev/zero", max_bytes=9).output == bytes(9)


def test_a_step_that_is_late_is_ended_with_its_group(shared):
    step = shared.run(script="echo begins; (sleep 600; echo no >late) & wait", seconds=0.5)
    assert step == (-signal.SIGKILL, b"begins\n", True)
    assert shared.run(script="pgrep sleep || cat late").status != 0


def test_what_a_step_leaves_writes_on_without_waiting_or_ending(own):
    left = own.run(script="(yes | head -c 2000000; echo x >end) &")
    assert left.status == 0 and not left.is_late
    assert own.run(script="until [ -e end ]; do :; done; cat end", seconds=PATIENT).output == b"x\n"


def test_files_go_in_and_out(shared, sandbox):
    data = os.urandom(3 * MIB + 5)
    shared.put("a/b/c.bin", data, 0o755)
    assert shared.get("/work/a/b/c.bin", len(data)) == data
    shared.put("a/b/c.bin", b"")
    shared.put("/etc/motd", b"all of / is its own")
    assert shared.get("a/b/c.bin") == b""
    assert shared.run("stat", "-c", "%a", "a/b/c.bin").output == b"644\n"
    shared.run(script="mkdir -p t/u; echo 1 >t/u/f; chmod 750 t/u/f; ln -s /absent t/l")
    with SandboxSession(sandbox, limits=LIMITS) as other:
        other.unpack(shared.pack("t", "/etc/motd"))
        other.unpack(shared.pack("t"), "copy")
        listed = "stat -c '%a %N' t/l t/u/f; cat copy/work/t/u/f /etc/motd"
        assert other.run(script=listed).output.splitlines() == [
            b"777 't/l' -> '/absent'",
            b"750 't/u/f'",
            *(b"1", b"all of / is its own"),
        ]


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("absent_inside", lambda s: s.get("absent")),
        ("absent_inside", lambda s: s.get("/etc/passwd/x")),
        ("absent_inside", lambda s: s.pack("absent")),
        ("not_a_file", lambda s: s.get("/bin/sh/../../lib")),
        ("not_a_file", lambda s: (s.run("ln", "-s", "/etc/hosts", "l"), s.get("l"))),
        ("not_a_file", lambda s: s.get("/tmp")),
        ("not_a_file", lambda s: s.get("/dev/zero")),
        ("not_a_file", lambda s: s.put("/usr", b"")),
        ("too_large_inside", lambda s: s.get("/etc/passwd", 9)),
        ("too_large_inside", lambda s: s.pack("/usr/bin", max_bytes=99_999)),
        ("step_failed", lambda s: s.run("absent-program")),
        ("step_failed", lambda s: s.run("true", cwd="/absent")),
        ("step_failed", lambda s: s.run("nul\0")),
        ("step_failed", lambda s: s.unpack(b"no archive" * 1000)),
        ("step_failed", lambda s: s.put("/usr/bin/sh", b"")),
        ("session_full", lambda s: s.put("/work/large", bytes(33 * MIB))),
        ("session_full", lambda s: s.run("cat", stdin=bytes(33 * MIB))),
    ],
)
def test_what_cannot_be_is_a_typed_error_and_the_session_goes_on(shared, code, action):
    with raises_code(code, SandboxError):
        action(shared)
    shared.run("rm", "-f", "l")
    shared.put("large", bytes(20 * MIB))
    shared.run("rm", "large")


def test_folders_of_the_host_are_read_at_their_places(sandbox, tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    for above in (folder, *folder.parents[:-2]):
        above.chmod(0o755)
    (folder / "f").write_text("host")
    (folder / "id_rsa").write_text("key")
    with SandboxSession(sandbox, limits=LIMITS, folders={"/opt/venv": str(folder)}) as session:
        step = session.run(
            script="cat /opt/venv/*; echo x >/opt/venv/f; flock /work true && echo y"
        )
    assert b"host" in step.output and b"key" not in step.output and b"y\n" in step.output
    assert (folder / "f").read_text() == "host"
    for place in ("/", "/a/../b", "/a//b"):
        with pytest.raises(ValueError, match="no place"):
            SandboxSession(sandbox, folders={place: str(folder)})


ENDS = {
    "kill all": ("kill -9 -1", "ended its supervisor"),
    "kill its parent": ("kill -9 $PPID; sleep 600", "ended its supervisor"),
    "stop its parent": ("kill -STOP $PPID; sleep 600", "stopped its supervisor"),
    "files": ("for n in $(seq 3000); do : >/var$n; done; sleep 600", "more files"),
    "memory": ("python3 -c 'x = [b\"x\" * (1 << 20) for _ in range(9000)]' & python3 -c '"
        "x = [b\"x\" * (1 << 20) for _ in range(9000)]'; kill -9 $PPID", "session"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_command_that_ends_the_session_is_its_reason(sandbox, monkeypatch, name):
    script, reason = ENDS[name]
    if "stop" in name:
        monkeypatch.setattr(session_module, "_GRACE_SECONDS", 1.0)
    with SandboxSession(sandbox, limits=LIMITS) as session:
        for _ in range(2):
            with raises_code("session_ended", SandboxError) as caught:
                session.run(script=script, seconds=1 if "stop" in name else PATIENT)
            assert reason in str(caught.value)
    assert processes_left(MEMORY_BYTES, 0.0) == []


@pytest.mark.parametrize(
    "script",
    [
        ":(){ :|:& };:; sleep 1",
        "for n in $(seq 99); do setsid sleep 600 & done",
        "cat /dev/zero >big; cat /dev/zero >/tmp/big",
        'for n in 3 4 5 6 7 8 9; do echo \'{"of": ""}\' >&$n; done',
        "yes",
        "mkdir /tmp/x; chmod 0 /tmp/x . /tmp; kill -STOP $$",
        "rm -rf / --no-preserve-root",
        "exec 1>&- 2>&-; sleep 600",
    ],
)
def test_a_command_that_does_harm_inside_ends_at_its_time(own, script):
    """The step has a result; what it spoiled for the next ones is an error of these, or nothing."""
    assert own.run(script=script, seconds=1, max_bytes=99).status is not None
    try:
        assert own.run("true").status == 0
    except SandboxError as error:
        assert error.code in ("step_failed", "session_ended")
    own.close()
    assert processes_left(MEMORY_BYTES, 0.0) == []


class _Scripted:
    """A sandbox whose supervisor answers with given lines."""

    profile = None

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        command = job.answer(b'{"of": ""}')
        for line in self.lines:
            of = json.loads(command or b"{}").get("of", "").encode()
            command = job.answer(line.replace(b"OF", of))
        return SandboxOutcome(
            ended_by="exit", status=0, stdout=b"", stderr=b"", result=None, wall_ms=0
        )


@pytest.mark.parametrize(
    "lines",
    [
        [b""],
        [b"[" * 100_000],
        [b"null"],
        [b"\xff"],
        [b'{"of": ""}'],
        [b'{"of": "OF"}'],
        [b'{"of": "OF", "data": "x", "more": false, "status": 0}'],
        [b'{"of": "OF", "data": "eA==", "more": true, "status": 0}', b"{}"],
        [b'{"of": "OF", "data": "eA==", "more": false}'],
        [b'{"of": "OF", "data": 5, "more": false, "status": 0, "late": 0, "cut": 0}'],
        [b'{"of": "OF", "data": "", "more": 0, "status": "0", "late": 0, "cut": 0}'],
        [],
    ],
)
def test_a_forged_answer_ends_the_session(lines):
    with SandboxSession(_Scripted(lines)) as session, raises_code("session_ended", SandboxError):
        session.run("true")


def test_an_interrupt_ends_the_session(sandbox):
    class Interrupting:
        profile = sandbox.profile

        def run(self, job: SandboxJob, cancel: Event) -> SandboxOutcome:
            def answer(line: bytes) -> bytes:
                command = job.answer(line)
                if b"sleep" in command:
                    os.kill(os.getpid(), signal.SIGINT)
                return command

            return sandbox.run(replace(job, answer=answer), cancel)

    session = SandboxSession(Interrupting(), limits=LIMITS)
    with pytest.raises(KeyboardInterrupt):
        session.run("sleep", "600")
    assert processes_left(MEMORY_BYTES, 0.0) == []
    with raises_code("session_ended", SandboxError) as caught:
        session.get("f")
    assert "interrupted" in str(caught.value)


def test_nothing_is_left_after_a_kill_of_the_host():
    code = (
        "import sys\n"
        "from dataclasses import replace\n"
        "from brain.sandbox.find_sandbox import find_sandbox\n"
        "from brain.sandbox.session import SESSION_LIMITS, SandboxSession\n"
        "limits = replace(SESSION_LIMITS, memory_bytes=int(sys.argv[1]))\n"
        "session = SandboxSession(find_sandbox(), limits=limits)\n"
        "session.run(script='setsid sleep 600 & sleep 600 &')\n"
        "print('runs', flush=True)\n"
        "session.run('sleep', '600', seconds=600)\n"
    )
    command = [sys.executable, "-c", code, str(MEMORY_BYTES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout.readline() == b"runs\n"
        host.kill()
    assert processes_left(MEMORY_BYTES, 20.0) == []


def test_a_session_ends_with_its_limits_and_keeps_nothing(sandbox):
    def state() -> tuple[int, str]:
        kinds = []  # without the files of a control group, which the other session reads meanwhile
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                kinds.append(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
        with open("/proc/self/mountinfo") as mounts:
            return kinds.count("pipe") + kinds.count("anon_inode"), mounts.read()

    before = state()
    brief = replace(LIMITS, wall_seconds=1.0)  # it ends as it opens, if that takes long
    with (
        raises_code("session_ended", SandboxError) as caught,
        SandboxSession(sandbox, limits=brief) as session,
    ):
        session.run("sleep", "600", seconds=PATIENT)
    assert "longer" in str(caught.value)
    assert state() == before
    with SandboxSession(sandbox, limits=LIMITS) as session:
        session.run(script="sleep 600 &")
    assert state() == before
    with raises_code("session_ended", SandboxError):
        session.run("true")


def test_a_session_is_refused_where_no_machine_can_be_shown():
    class Absent(Sandbox):
        def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
            raise SandboxError("none here", code="no_sandbox")

    with raises_code("no_sandbox", SandboxError):
        SandboxSession(Absent())


@pytest.mark.parametrize(
    "take",
    ["x = bytearray(b'x') * (260 << 20)", "x = mmap.mmap(-1, 260 << 20); x.write(b'x' * len(x))"],
)
def test_processes_together_get_no_more_memory_where_no_group_counts_it(sandbox, monkeypatch, take):
    monkeypatch.setattr(memory, "find_group_parent", lambda: None)
    code = f"import mmap, time; {take}; print('took', flush=True)"
    with SandboxSession(sandbox, limits=LIMITS) as session:
        assert session.run("python3", "-c", code).output == b"took\n"
        with raises_code("session_ended", SandboxError) as caught:
            session.run(f"{code}; time.sleep(600)", script=THREE, seconds=PATIENT)
    assert "memory" in str(caught.value)
