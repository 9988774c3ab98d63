"""Results that are forged, and requests that flood or confuse the parent."""

from dataclasses import replace

from brain.sandbox.job import SandboxOutcome

from .attempt import BRIEF, FAMILY, Answer, Attempt, Judge


def _row(kind: str, name: str, code: str, judge: Judge, **fields: object) -> Attempt:
    return replace(Attempt(kind=kind, name=name, code=code, judge=judge), **fields)


def _no_result(outcome: SandboxOutcome) -> bool:
    return outcome.result is None


def _true_result(outcome: SandboxOutcome) -> bool:
    return outcome.result == b'"true"'


def _failed(outcome: SandboxOutcome) -> bool:
    return outcome.ended_by != "exit" or outcome.status != 0


def _any(_: SandboxOutcome) -> bool:
    return True


def _echo(request: bytes) -> bytes:
    return b'"answer"'


def _long_answer(request: bytes) -> bytes:
    return b"x" * (256 << 10)


_FORGED: dict[str, tuple[str, Judge]] = {
    "on standard output": ("""print('="forged"', flush=True); seen(1)""", _no_result),
    "on standard error": ("""os.write(2, b'="forged"\\n'); seen(1)""", _no_result),
    "half a line": ("""os.write(3, b'="forged"'); seen(1)""", _no_result),
    "half a line, then closed": ("""os.write(3, b'="forged"'); os.close(3); seen(1)""", _no_result),
    "two, of which the last counts": (
        """os.write(3, b'="forged"\\n="true"\\n'); seen(1)""",
        _true_result,
    ),
    "many": ("""os.write(3, b'=1\\n' * 20000 + b'="true"\\n'); seen(1)""", _true_result),
    "in single bytes": (
        """
for byte in b'="true"\\n':
    os.write(3, bytes([byte]))
seen(1)""",
        _true_result,
    ),
    "with bytes that are no text": (
        """os.write(3, b'=\\xff\\xfe\\x00\\n'); seen(1)""",
        lambda one: one.result == b"\xff\xfe\x00",
    ),
    "an exit status in words": (
        """print('EXIT CODE: 0', flush=True); seen(3); os.write(1, b'ended\\n'); os._exit(3)""",
        lambda one: one.status == 3,
    ),
    "success, then an error": (
        """
os.write(3, b'="forged"\\n')
seen(1)
os.write(1, b'ended\\n')
os._exit(1)""",
        _failed,
    ),
    "through the reading end": ("refuse(os.write, 4, b'=1')", _no_result),
    "reading its own": ("refuse(os.read, 3, 1)", _no_result),
    "through the pipe's name": ("refuse(os.open, '/proc/1/fd/3', os.O_WRONLY)", _no_result),
    "the status that process 1 passes on": (
        """
for number in range(64):
    try:
        file = os.open(f'/proc/1/fd/{number}', os.O_WRONLY)
    except OSError:
        continue
    reached(os.readlink(f'/proc/1/fd/{number}'))
refuse(os.listdir, '/proc/1/fd')""",
        _any,
    ),
    "the tests of a skill": ("refuse(write_file, '/job/check.py')", _no_result),
}

ATTEMPTS: list[Attempt] = [
    *(_row("results", name, code, judge) for name, (code, judge) in _FORGED.items()),
    _row(
        "results",
        "success, then a signal",
        "os.write(3, b'=1\\n'); os.kill(os.getpid(), signal.SIGSEGV)",
        _failed,
        ends=("signal",),
    ),
    _row(
        "results",
        "after the end",
        """
if os.fork() == 0:
    os.setsid()
    time.sleep(0.3)
    os.write(3, b'="forged"\\n')
    os._exit(0)
seen(1)""",
        _no_result,
        limits=FAMILY,
    ),
    _row(
        "results",
        "after its time",
        """
time.sleep(1.6)
os.write(3, b'="forged"\\n')
time.sleep(60)""",
        _no_result,
        limits=BRIEF,
        ends=("wall_time",),
    ),
    _row(
        "results",
        "too long",
        "os.write(3, b'=' + bytes(1 << 20) + b'\\n')",
        _no_result,
        ends=("output",),
    ),
    _row(
        "results",
        "a gigabyte printed",
        "while True: os.write(1, bytes(65536))",
        lambda one: len(one.stdout) <= 64 << 10,
        ends=("output",),
    ),
    _row(
        "results",
        "a gigabyte of errors",
        "while True: os.write(2, bytes(65536))",
        lambda one: len(one.stderr) <= 64 << 10,
        ends=("output",),
    ),
    _row(
        "results",
        "a gigabyte printed by a child",
        "if os.fork() == 0:\n    while True: os.write(1, bytes(65536))\nos.wait()",
        lambda one: len(one.stdout) <= 64 << 10,
        ends=("output",),
        limits=FAMILY,
    ),
]

_FLOODS: dict[str, tuple[str, tuple[str, ...], Answer | None]] = {
    "many requests": ("while True: os.write(3, b'{}\\n')", ("requests",), _echo),
    "many requests in one piece": (
        "os.write(3, b'{}\\n' * 10000); time.sleep(60)",
        ("requests",),
        _echo,
    ),
    "empty requests": ("while True: os.write(3, b'\\n')", ("requests",), _echo),
    "a line of a gigabyte": ("while True: os.write(3, b'x' * 65536)", ("output",), _echo),
    "a line of zeros": ("while True: os.write(3, bytes(65536))", ("output",), _echo),
    "deep JSON": ("os.write(3, b'[' * 60000 + b'\\n'); seen(os.read(4, 100))", ("exit",), _echo),
    "no JSON": ("os.write(3, b'\\xff\\x00{\\n'); seen(os.read(4, 100))", ("exit",), _echo),
    "answers that are never read": (
        "for _ in range(8): os.write(3, b'{}\\n')\nseen(1)",
        ("exit", "requests"),
        _long_answer,
    ),
    "answers that are refused": ("os.close(4); os.write(3, b'{}\\n'); seen(1)", ("exit",), _echo),
    "a request without a broker": ("os.write(3, b'{}\\n'); time.sleep(60)", ("requests",), None),
    "a request that looks like the start": (
        "os.write(3, b'?\\n'); seen(os.read(4, 100))",
        ("exit",),
        _echo,
    ),
    "an answer before it is asked": (
        "os.set_blocking(4, False); refuse(os.read, 4, 1)",
        ("exit",),
        _echo,
    ),
    "half a request at the end": ("os.write(3, b'{\"call\": '); seen(1)", ("exit",), _echo),
    "a request byte by byte": (
        "for byte in b'{}\\n' * 8: os.write(3, bytes([byte]))\nseen(1)",
        ("exit",),
        _echo,
    ),
    "requests of threads": (
        """
def ask():
    while True:
        os.write(3, b'{}\\n')
start_threads(ask, 4)
ask()""",
        ("requests",),
        _echo,
    ),
    "a pipe that blocks": (
        "os.set_blocking(3, False)\nfor _ in range(8): os.write(3, b'{}\\n')\nseen(1)",
        ("exit", "requests"),
        _long_answer,
    ),
}

ATTEMPTS += [
    _row("broker", name, code, _any, ends=ends, answer=answer)
    for name, (code, ends, answer) in _FLOODS.items()
]
