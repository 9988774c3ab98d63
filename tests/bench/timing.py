"""Whole processes, timed: wall, processor time, peak memory; medians of interleaved runs."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Failed(Exception):
    """A contestant could not do its work; the message goes into the report."""


class Sample(NamedTuple):
    """One run: seconds of wall and processor time, peak resident bytes, stored bytes."""

    wall: float = 0.0
    cpu: float = 0.0
    rss: int = 0
    stored: int = 0


class Series(NamedTuple):
    """The runs of one contestant; `failure` says why there are none."""

    samples: list[Sample]
    failure: str = ""

    def median(self, measure: str) -> float | None:
        """Return the median of a field of the samples, or None without samples."""
        if not self.samples:
            return None
        return float(statistics.median(getattr(sample, measure) for sample in self.samples))


def environment(home: Path) -> dict[str, str]:
    """Return the environment of every child: no settings of the user, byte code written."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BRAIN_", "GIT_", "PYTHON", "XDG_"))
    }
    named = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Bench"), ("EMAIL", "bench@example.org"))
    }
    return kept | named | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def _failure(command: list[str], code: int, said: str) -> Failed:
    """Say what failed in a line, without the folders of this machine."""
    lines = said.strip().splitlines() or ["no message"]
    told = next((line for line in lines if line.lower().startswith(("error", "fatal"))), lines[-1])
    text = f"`{' '.join(command)}` exit {code}: {told}"
    return Failed(re.sub(r"(?:/[^\s/]+)+/", "", text)[:300])


class Runner:
    """Starts commands in one environment and times them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def timed(self, *commands: Sequence[str]) -> Sample:
        """Run the commands one after another; times add up, the peak is the greatest.

        Raises `Failed` with the end of standard error when one of them fails.
        """
        total = Sample()
        for command in commands:
            one = self._one(list(command))
            total = Sample(
                total.wall + one.wall, total.cpu + one.cpu, max(total.rss, one.rss), total.stored
            )
        return total

    def _one(self, command: list[str]) -> Sample:
        with tempfile.TemporaryFile() as errors:
            actions = [
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
            ]
            start = time.perf_counter()
            try:
                pid = os.posix_spawnp(command[0], command, self._environ, file_actions=actions)
            except OSError as error:
                raise Failed(f"{Path(command[0]).name}: {error.strerror}") from error
            _, status, usage = os.wait4(pid, 0)
            wall = time.perf_counter() - start
            if code := os.waitstatus_to_exitcode(status):
                errors.seek(0)
                raise _failure(command, code, errors.read().decode("utf-8", "replace"))
        return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

    def output(self, *command: str | Path) -> str:
        """Run a command that is not timed and return what it prints. Raises `Failed`."""
        parts = [str(part) for part in command]
        try:
            done = subprocess.run(
                parts, env=self._environ, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise Failed(f"{Path(parts[0]).name}: {error.strerror}") from error
        if done.returncode:
            raise _failure(parts, done.returncode, done.stderr)
        return done.stdout

    def module(self, name: str, *arguments: str | Path | int) -> str:
        """Run a module of this package with this interpreter and return what it prints."""
        return self.output(sys.executable, "-m", f"{__package__}.{name}", *map(str, arguments))


Turn = Callable[[int], Sample | list[Sample]]
"""Does one repeat of a contestant's work, given the number of the repeat."""


def interleave(repeats: int, contestants: Mapping[str, Turn]) -> dict[str, Series]:
    """Run the contestants in turn, `repeats` times, each repeat from another starting point.

    What is dirty is written out before each turn, so that nobody waits for what an earlier
    one left to the disk. A contestant that fails is left out from then on.
    """
    series = {name: Series([]) for name in contestants}
    names = list(contestants)
    for repeat in range(repeats):
        shift = repeat % len(names)
        for name in names[shift:] + names[:shift]:
            if series[name].failure:
                continue
            os.sync()
            try:
                got = contestants[name](repeat)
            except Failed as failure:
                series[name] = Series([], str(failure))
                continue
            series[name].samples.extend(got if isinstance(got, list) else [got])
    return series
