"""Mutation testing: `python -m tests.mutation --group verify --seed 7 --count 20`.

Draws mutants of a group's modules (operators of cosmic-ray), runs on each the tests that execute
the changed statement, and prints the mutants that no test kills. Needs the extra `mutation`.

The tests to run are known from coverage, which the first run of a group measures and keeps in
the work folder; `--fresh` measures it again. A mutant that no test can kill, because it changes
no behaviour, is listed with its reason in tests/mutation_equivalents.txt and not counted.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import resource
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PROJECT = Path(__file__).parents[1]
EQUIVALENTS = PROJECT / "tests" / "mutation_equivalents.txt"
MAX_SELECTED_TESTS = 150
"""Test functions that one mutant is run against."""
CPU_SECONDS = 300
"""Processor time after which the tests of a mutant count as hanging; a busy machine is not."""
TIMEOUT_SECONDS = 3600
OPERATORS = (
    "AddNot ExceptionReplacer NumberReplacer ReplaceAndWithOr ReplaceBreakWithContinue"
    " ReplaceContinueWithBreak ReplaceFalseWithTrue ReplaceOrWithAnd ReplaceTrueWithFalse"
    " ZeroIterationForLoop ReplaceComparisonOperator_Eq_NotEq ReplaceComparisonOperator_NotEq_Eq"
    " ReplaceComparisonOperator_Lt_LtE ReplaceComparisonOperator_LtE_Lt"
    " ReplaceComparisonOperator_Gt_GtE ReplaceComparisonOperator_GtE_Gt"
    " ReplaceComparisonOperator_Is_IsNot ReplaceComparisonOperator_IsNot_Is"
    " ReplaceBinaryOperator_Add_Sub ReplaceBinaryOperator_Sub_Add"
    " ReplaceBinaryOperator_Mul_Add ReplaceBinaryOperator_FloorDiv_Mul"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Modules that are mutated together, and the tests that are to kill the mutants."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


def _group(*code: str, tests: str = "") -> Group:
    mirrored = [
        f"tests/{kind}/{folder.removeprefix('brain/')}"
        for kind in ("unit", "integration")
        for folder in code
    ]
    found = [path for path in [*mirrored, *tests.split()] if (PROJECT / path).exists()]
    return Group(code=code, tests=tuple(found))


def groups() -> dict[str, Group]:
    """Return the groups by name."""
    return {
        "verify": _group(
            "brain/verify",
            tests="tests/property/test_changes.py tests/property/test_tree.py tests/lineage"
            " tests/integration/repo/receipts"
            " tests/ops/test_redact.py tests/ops/test_unholdable_trees.py",
        ),
        "tools": _group(
            "brain/serve/tools",
            tests="tests/cli/test_tools_commands.py tests/e2e/test_document_names.py"
            " tests/serving/test_document.py",
        ),
        "merging": _group(
            "brain/merging",
            tests="tests/property/test_merging.py tests/property/test_ancestry.py"
            " tests/ops/test_as_people_edit.py tests/ops/test_branches.py tests/ops/test_merge.py"
            " tests/ops/test_proposals.py tests/ops/test_tags.py tests/ops/test_whole_files.py",
        ),
        "ops": _group(
            "brain/ops",
            tests="tests/ops tests/never tests/property/test_changes.py"
            " tests/property/test_undo.py tests/property/test_rename.py tests/property/test_grep.py"
            " tests/property/test_skills_upsert.py tests/cli/test_looking_back.py"
            " tests/cli/test_the_folder_as_it_is.py",
        ),
        "repo": _group(
            *("brain/repo/transaction.py", "brain/repo/working_copy.py"),
            *("brain/repo/receipts", "brain/repo/signing", "brain/repo/ledgers"),
            tests="tests/ops/test_pending_writes.py"
            " tests/integration/repo/receipts tests/integration/repo/signing"
            " tests/integration/repo/ledgers",
        ),
        "log": _group(
            "brain/chain/tlog",
            tests="tests/conformance/test_ledger.py tests/conformance/test_vectors.py"
            " tests/property/test_tlog.py",
        ),
        "evidence": _group("brain/chain/evidence", tests="tests/conformance/test_vectors.py"),
        "trust": _group(
            "brain/trust",
            tests="tests/conformance/test_vectors.py tests/property/test_trust.py"
            " tests/integration/verify/test_signed_brains.py tests/integration/repo/signing",
        ),
        "proofs": _group(
            "brain/proofs",
            tests="tests/conformance/test_vectors.py tests/ops/test_prove.py",
        ),
        "store": _group(
            "brain/store",
            tests="tests/conformance/test_store.py tests/conformance/test_store_damage.py"
            " tests/conformance/test_store_large.py tests/conformance/test_store_recipes.py"
            " tests/conformance/test_store_removals.py tests/conformance/test_store_mark.py"
            " tests/conformance/test_store_writers.py"
            " tests/ops/test_redact.py",
        ),
        "gating": _group(
            "brain/gating",
            tests="tests/property/test_gating_documents.py tests/property/test_gating_evidence.py",
        ),
        "objects": _group(
            "brain/objects",
            tests="tests/conformance/test_vectors.py tests/property/test_ancestry.py"
            " tests/property/test_tree.py tests/property/test_lineage.py",
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one line."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """How the file of equivalents names it: not by number, which moves."""
        return f"{self.path} | {self.before} | {self.after}"


def draw_mutants(group: Group, chance: random.Random) -> Iterator[Mutant]:
    """Yield mutants of a group without end, each line of code being equally likely."""
    files = [
        path.relative_to(PROJECT).as_posix()
        for folder in group.code
        for path in [PROJECT / folder, *sorted((PROJECT / folder).rglob("*.py"))]
        if path.is_file()
    ]
    sizes = [(PROJECT / path).read_bytes().count(b"\n") for path in files]
    while True:
        path = chance.choices(files, sizes)[0]
        mutant = _draw_mutant(path, chance)
        if mutant is not None:
            yield mutant


def _draw_mutant(path: str, chance: random.Random) -> Mutant | None:
    from cosmic_ray.mutating import MutationVisitor
    from cosmic_ray.operators.provider import OperatorProvider

    code = (PROJECT / path).read_text("utf-8")
    name = chance.choice(OPERATORS)
    operator = OperatorProvider()[name]()
    places = _count_places(code, operator)
    if not places:
        return None
    mutated = MutationVisitor.mutate_code(code, operator, chance.randrange(places))
    if mutated is None or mutated == code or not _is_python(mutated):
        return None
    old, new = code.splitlines(), mutated.splitlines()
    line = next(
        (
            number
            for number, pair in enumerate(zip(old, new, strict=False), 1)
            if pair[0] != pair[1]
        ),
        None,
    )
    if line is None or line in _untested_lines(code):
        return None
    return Mutant(
        path=path,
        line=line,
        operator=name,
        before=old[line - 1].strip(),
        after=new[line - 1].strip(),
        source=mutated,
    )


def _is_python(code: str) -> bool:
    """Tell whether a mutant can be compiled; that of the star of a signature cannot."""
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def _count_places(code: str, operator: object) -> int:
    from cosmic_ray.ast import Visitor, get_ast

    class Counting(Visitor):
        total = 0

        def visit(self, node: object) -> object:
            self.total += len(list(operator.mutation_positions(node)))
            return node

    counting = Counting()
    counting.walk(get_ast(code))
    return counting.total


def _untested_lines(code: str) -> set[int]:
    """Return the lines that run for type checkers alone: annotations and their imports."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for hint in filter(None, hints):
            if hint.lineno != getattr(node, "lineno", 0):
                lines.update(range(hint.lineno, (hint.end_lineno or hint.lineno) + 1))
    return lines


class Workshop:
    """A copy of the project in which mutants are tried, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=PROJECT, capture_output=True, check=True,
        )  # fmt: skip
        for name in listed.stdout.decode().split("\0"):
            if name and (PROJECT / name).is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, target)
        for link, target in {
            "brain_cli": "cli",
            "brain/_schemas": "../schemas",
            "cli/_auditor": "../examples/auditor",
            ".venv": PROJECT / ".venv",
        }.items():
            (folder / link).symlink_to(target)
        self._environment = os.environ | {
            "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"
        }  # fmt: skip
        self.run("-m", "compileall", "-q", "brain", "cli")

    def run(self, *arguments: str, timeout: int | None = None) -> int:
        """Run Python with these arguments; return its status, -1 if it took too long."""
        try:
            return subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder, env=self._environment, timeout=timeout, check=False,
                preexec_fn=_limit_cpu_time if timeout else None,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1

    def measure(self, group: Group, data: Path) -> None:
        """Note which test function executes which line. Raises if a test fails without mutants."""
        config = self.folder / "coverage.ini"
        config.write_text("[run]\ndynamic_context = test_function\nsource = brain\n")
        status = self.run(
            *("-m", "coverage", "run", f"--rcfile={config}", f"--data-file={data}"),
            *("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *group.tests),
            f"--junit-xml={_durations_file(data)}",
        )
        if status != 0:
            data.unlink(missing_ok=True)
            raise RuntimeError("a test fails without mutants, so it would kill every one")

    def kills(self, mutant: Mutant, tests: list[str]) -> bool:
        """Tell whether a test fails, or hangs, with the mutant in its place."""
        place = self.folder / mutant.path
        original, times = place.read_text("utf-8"), place.stat()
        place.write_text(mutant.source, "utf-8")
        try:
            arguments = ("-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests)
            return self.run(*arguments, timeout=TIMEOUT_SECONDS) != 0
        finally:
            place.write_text(original, "utf-8")
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))  # its bytecode fits again


def _limit_cpu_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def select_tests(data: Path, measured: Path, mutant: Mutant) -> list[str]:
    """Return the test functions that execute the statement of a mutant, as arguments of pytest.

    `measured` is the copy of the project that coverage was measured in.

    First come the tests that are named after the module, then the fastest. For a statement that
    runs at import these are those of its module, then others of the group.
    """
    from coverage import CoverageData

    coverage = CoverageData(str(data))
    coverage.read()
    contexts = coverage.contexts_by_lineno(str((measured / mutant.path).resolve()))
    near = {name for line in _statement_lines(mutant) for name in contexts.get(line, ())}
    found = _pytest_arguments(near)
    in_module = _pytest_arguments(name for names in contexts.values() for name in names)
    if not found:
        found = _pytest_arguments(coverage.measured_contexts())
    durations = _read_durations(data)
    own = f"/test_{Path(mutant.path).name}::"
    order = sorted(
        found, key=lambda name: (own not in name, name not in in_module, durations[name], name)
    )
    return order[:MAX_SELECTED_TESTS]


def _durations_file(data: Path) -> Path:
    return data.with_suffix(".xml")


def _read_durations(data: Path) -> Counter[str]:
    """Return the seconds that each test function takes, by its argument of pytest."""
    durations = Counter[str]()
    for case in ElementTree.parse(_durations_file(data)).iter("testcase"):
        module = case.get("classname", "").replace(".", "/")
        name = case.get("name", "").partition("[")[0]
        durations[f"{module}.py::{name}"] += float(case.get("time", 0))
    return durations


def _statement_lines(mutant: Mutant) -> range:
    """Return the lines from the start of the mutant's statement to the mutant."""
    nodes = ast.walk(ast.parse((PROJECT / mutant.path).read_text("utf-8")))
    starts = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    ]
    return range(max(starts, default=mutant.line), mutant.line + 1)


def _pytest_arguments(contexts: Iterable[str]) -> set[str]:
    return {argument for name in contexts if (argument := _pytest_argument(name))}


def _pytest_argument(context: str) -> str | None:
    module, _, function = context.rpartition(".")
    name = module.replace(".", "/") + ".py"
    # The name of a test module begins at its topmost package, which may be any folder.
    for folder in ("", "tests/", "tests/unit/", "tests/integration/"):
        if (PROJECT / folder / name).exists():
            return f"{folder}{name}::{function}"
    return None


def read_equivalents() -> dict[str, str]:
    """Return the reason by key of each mutant that changes no behaviour."""
    lines = EQUIVALENTS.read_text("utf-8").splitlines() if EQUIVALENTS.exists() else []
    rows = [line.rpartition(" | ") for line in lines if line and not line.startswith("#")]
    return {key.strip(): reason.strip() for key, _, reason in rows}


def run_group(name: str, options: argparse.Namespace) -> Counter[str]:
    """Try `count` mutants of a group; print the survivors; return how they ended."""
    group = groups()[name]
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    data = work / f"{name}.coverage"
    workshops: queue.Queue[Workshop] = queue.Queue()
    for number in range(options.jobs):
        workshops.put(Workshop(work / f"copy-{number}"))
    if options.fresh or not data.exists():
        workshop = workshops.queue[0]
        workshop.measure(group, data)
    drawn = draw_mutants(group, random.Random(f"{name} {options.seed}"))
    mutants = [next(drawn) for _ in range(options.count)]
    equivalents, ends, lock = read_equivalents(), Counter[str](), threading.Lock()

    def attempt(mutant: Mutant) -> None:
        workshop = workshops.get()
        tests = select_tests(data, work / "copy-0", mutant)
        end = "killed" if tests and workshop.kills(mutant, tests) else "survived"
        workshops.put(workshop)
        if end == "survived" and mutant.key in equivalents:
            end = "equivalent"
        with lock:
            ends[end] += 1
            if end == "survived":
                print(f"{mutant.path}:{mutant.line}: {mutant.operator}, {len(tests)} tests")
                print(f"  - {mutant.before}\n  + {mutant.after}", flush=True)

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(attempt, mutants))
    counted = ends["killed"] + ends["survived"]
    share = ends["killed"] / counted if counted else 1.0
    print(f"{name}: {share:.0%} of {counted} killed, {ends['equivalent']} equivalent", flush=True)
    return ends


def main() -> int:
    """Run the groups that were asked for; return 1 if one is below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--group", action="append", choices=list(groups()))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="mutants per group")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--goal", type=float, default=0.92)
    parser.add_argument("--fresh", action="store_true", help="measure coverage again")
    parser.add_argument("--work", type=Path, default=Path(".mutation"))
    options = parser.parse_args()
    low = []
    for name in options.group or groups():
        ends = run_group(name, options)
        if ends["killed"] < options.goal * (ends["killed"] + ends["survived"]):
            low.append(name)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
