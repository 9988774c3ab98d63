"""Memory, disks, signals: more than the limits, and longer than allowed."""

from dataclasses import replace

from tests.support.cases import read_texts

from .attempt import BRIEF, FAMILY, LIMITS, Attempt, table

ATTEMPTS: list[Attempt] = [
    *table("memory", read_texts("escapes/memory.txt")),
    *table("memory", read_texts("escapes/memory_2.txt"), ends=("exit", "signal", "recursion")),
    *table(
        "memory",
        read_texts("escapes/memory_3.txt"),
        limits=replace(FAMILY, processes=4),
        ends=("exit", "memory"),
    ),
    *table("disks", read_texts("escapes/disks.txt")),
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
    *table("signals", read_texts("escapes/signals.txt"), ends=("exit", "signal")),
    *table(
        "signals",
        {
            "to all": "refuse(os.kill, -1, signal.SIGKILL)",
            "to its own group": "os.killpg(0, signal.SIGKILL)\nseen('alive')",
        },
        ends=("exit", "signal"),
        limits=FAMILY,
    ),
    *table("signals", read_texts("escapes/signals_2.txt"), limits=BRIEF, ends=("wall_time",)),
    *table(
        "signals",
        read_texts("escapes/signals_3.txt"),
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
spin()"""
        },
        limits=replace(LIMITS, cpu_seconds=1),
        ends=("cpu_time", "signal"),
    ),
    *table("signals", read_texts("escapes/signals_4.txt"), limits=FAMILY),
]
