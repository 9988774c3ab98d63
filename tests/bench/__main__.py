"""Run the benchmark: `python -m tests.bench --help`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.arena import Arena
from tests.bench.generate import LAYOUTS, Corpus
from tests.bench.goals import NO_BRAIN, Results
from tests.bench.ledgers import CHECK_EVIDENCE, check_evidence
from tests.bench.machine import describe
from tests.bench.record import Conditions, OtherConditions, load_record
from tests.bench.report import report
from tests.bench.rows import FIRST, IN_PROCESS, ROWS, SLOW, START_UP, start_up
from tests.bench.stepping import SESSION_STEP, session_step
from tests.bench.timing import Runner, environment


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    made.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000], metavar="SKILLS")
    made.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    rows = [START_UP, CHECK_EVIDENCE, SESSION_STEP, *ROWS]
    made.add_argument("--rows", nargs="+", choices=rows, default=rows)
    made.add_argument("--repeats", type=int, default=5)
    made.add_argument("--memory", type=int, default=64, help="size of the memory file in MB")
    made.add_argument("--work", type=Path, default=Path(".bench"), help="folder to work in")
    made.add_argument(
        "--out",
        type=Path,
        default=Path(".bench/performance.md"),
        help="the report; what was measured before is kept beside it, as JSON, and stays in it",
    )
    return made


def measured(
    options: argparse.Namespace, work: Path, runner: Runner
) -> Iterator[tuple[Results, int]]:
    """Go through what was asked for; yield each row as soon as it is there, with its repeats."""
    alone = {
        START_UP: lambda: start_up(runner, options.repeats * 5),
        CHECK_EVIDENCE: lambda: check_evidence(runner, work, options.repeats * 5),
        SESSION_STEP: lambda: session_step(options.repeats * 5),
    }
    for name in [name for name in alone if name in options.rows]:
        yield {("", NO_BRAIN): {name: alone[name]()}}, options.repeats
    for skills in options.sizes:
        for layout in options.layouts:
            corpus = Corpus(layout, skills, options.memory << 20)
            arena = Arena(corpus, work, runner, options.repeats)
            for name in [name for name in ROWS if name in options.rows]:
                print(f"{skills:>7,} {layout:<10}{name}", file=sys.stderr, flush=True)
                if name != FIRST:
                    _ = arena.ready
                repeats = arena.slow_repeats if name in SLOW else options.repeats
                yield {(layout, skills): {name: ROWS[name](arena)}}, repeats
            arena.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the report and write it with its record. Return the exit status."""
    options = parser().parse_args(arguments)
    work = options.work.resolve()
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    runner = Runner(environment(home))
    conditions = Conditions(machine=describe(runner, work), memory_mb=options.memory)
    record_path = options.out.with_suffix(".json")
    try:
        record = load_record(record_path, conditions)
    except OtherConditions as error:
        print(error, file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for results, repeats in measured(options, work, runner):
        record.add(results, repeats)
        record.save(record_path)
        options.out.write_text(report(record, IN_PROCESS), encoding="utf-8")
    print(options.out.read_text("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
