"""Check the rules of the house that no linter knows: `python -m tests.house_rules`.

Part of `make lint`.

1. No name and no sentence uses a banned word (BANNED_NAMES, BANNED_PHRASES).
2. No module imports itself over others, and no folder of the library; imports for types count.
3. No file of the product is longer than MAX_LINES, no folder has more than MAX_MODULES modules.
4. No module under MIN_LINES lines is imported by one module alone: it belongs into that one.
   `small_modules` in pyproject.toml lists those that stood when the rule came.
5. No room has more lines or files than its ceiling in pyproject.toml, `[tool.house.rooms]`.

Prints the size of every room beside its ceiling, with the goals of the quarters, then one line a
fault, and ends with status 1 if there is any. A change that shrinks a room lowers its row.
"""

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp

PROJECT = Path(__file__).parents[1]
ROOTS = ("brain", "cli")
MIN_LINES = 60
MAX_LINES = 700
MAX_MODULES = 30

BANNED_NAMES = frozenset(
    """
    absorbing announced beside byhand desk duty entitled given goon kept likening lining mine
    midst noted novelty partly seat shelf shelving sift takers told turn twins unshown vouching
    whence wish within wording
    """.split()
)
"""Words that no identifier has as a part: a reader of the field cannot guess them."""

BANNED_PHRASES = (
    r"\bthat is none\b",
    r"\bwho(?:ever)? (?:looks|reads|holds|writes|asks|runs|has|wants)\b",
    r"\bwhoever\b",
    r"\bat hand\b",
    r"\bby hand\b",
    r"\bgo(?:es|ne)? on purpose\b",
    r"\bmeant without\b",
    r"\b(?:he|his)\b",
    r"\bnobody vouches\b",
    r"\bleads nowhere\b",
    r"\bis no (?:file|one|skill|path)\b",
    r"\btold\b",
)
"""Phrases that no docstring, comment or message has: they are riddles, not sentences."""

WORD_LISTS = {"brain/search/selectors.py"}
"""Files that hold words of other people's texts."""

JSON_FIELDS = frozenset({"kept"})
"""Names that are fields of JSON output, and so fixed."""


def main() -> int:
    """Print the sizes and every fault; return the exit status."""
    with open(PROJECT / "pyproject.toml", "rb") as file:
        house = tomllib.load(file)["tool"]["house"]
    sizes = measure_rooms(house["rooms"])
    print_sizes(house, sizes)
    faults = [
        *check_words(),
        *check_circles(),
        *check_sizes(),
        *check_small_modules(set(house["small_modules"])),
        *check_rooms(house["rooms"], sizes),
    ]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def product_files() -> list[Path]:
    """Return the Python files of the product, sorted."""
    return sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))


def check_words() -> Iterator[str]:
    """Yield a fault for each banned word in a name and each banned phrase in a text."""
    phrases = re.compile("|".join(BANNED_PHRASES))
    for path in product_files():
        text = path.read_text("utf-8")
        where = path.relative_to(PROJECT)
        for line, name in _names(ast.parse(text)):
            banned = BANNED_NAMES.intersection(re.findall(r"[a-z]+", _split_case(name)))
            if banned and name not in JSON_FIELDS:
                yield f"{where}:{line}: the name {name} has the word {', '.join(sorted(banned))}"
        banned = BANNED_NAMES.intersection(path.stem.split("_"))
        if banned:
            yield f"{where}: the module name has the word {', '.join(sorted(banned))}"
        for number, content in enumerate(text.splitlines(), 1):
            found = phrases.search(content)
            if found and str(where) not in WORD_LISTS:
                yield f"{where}:{number}: the text has {found[0]!r}"


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and spelling of every name that a module defines, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def _split_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def check_circles() -> Iterator[str]:
    """Yield a fault for each circle of imports among modules, and among folders."""
    for root in ("brain", "brain_cli"):
        graph = grimp.build_graph(root, exclude_type_checking_imports=False)
        modules: dict[str, set[str]] = {
            name: graph.find_modules_directly_imported_by(name) for name in graph.modules
        }
        yield from (f"circle of modules: {' '.join(each)}" for each in find_circles(modules))
        packages = {name for name in modules if graph.find_children(name)} - {root}
        folders: dict[str, set[str]] = {}
        for name, imported in modules.items():
            here = _folder(name, packages)
            folders.setdefault(here, set()).update(
                there
                for there in (_folder(other, packages) for other in imported)
                if there != here and not _is_above(there, here) and not _is_above(here, there)
            )
        yield from (f"circle of folders: {' '.join(each)}" for each in find_circles(folders))


def _folder(module: str, packages: set[str]) -> str:
    return module if module in packages else module.rpartition(".")[0] or module


def _is_above(folder: str, other: str) -> bool:
    return other.startswith(f"{folder}.")


def find_circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan 1972), sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                circles.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return sorted(circles)


def check_sizes() -> Iterator[str]:
    """Yield a fault for each file that is too long and each folder with too many modules."""
    modules: defaultdict[Path, int] = defaultdict(int)
    for path in product_files():
        where = path.relative_to(PROJECT)
        modules[where.parent] += path.name != "__init__.py"
        lines = path.read_text("utf-8").count("\n")
        if lines > MAX_LINES:
            yield f"{where}: {lines} lines, more than {MAX_LINES}"
    for folder, count in sorted(modules.items()):
        if count > MAX_MODULES:
            yield f"{folder}: {count} modules, more than {MAX_MODULES}"


def check_small_modules(known: set[str]) -> Iterator[str]:
    """Yield a fault for each new small module with one importer, and for each outdated row."""
    graph = grimp.build_graph("brain", "brain_cli", exclude_type_checking_imports=False)
    small: dict[str, str] = {}
    for path in product_files():
        where = path.relative_to(PROJECT)
        module = ".".join(("brain_cli" if where.parts[0] == "cli" else "brain", *where.parts[1:]))
        if path.name == "__init__.py" or path.read_text("utf-8").count("\n") >= MIN_LINES:
            continue
        importers = graph.find_modules_that_directly_import(module.removesuffix(".py"))
        if len(importers) == 1:
            small[str(where)] = importers.pop()
    for where in sorted(small.keys() - known):
        yield f"{where}: under {MIN_LINES} lines, and only {small[where]} imports it: join them"
    for where in sorted(known - small.keys()):
        yield f"{where} is no small module any more: take it out of small_modules"


def measure_rooms(rooms: dict[str, dict[str, list[int]]]) -> dict[str, Counter[str]]:
    """Return lines and files of each room; a file belongs to the row with the longest prefix."""
    names = [name for quarter in rooms.values() for name in quarter]
    sizes = {name: Counter(lines=0, files=0) for name in names}
    for path in sorted({*product_files(), *(PROJECT / "tests").rglob("*.py")}):
        where = path.relative_to(PROJECT)
        above = [name for name in names if where.is_relative_to(name)]
        lines = path.read_text("utf-8").count("\n")
        sizes[max(above, key=len)].update(lines=lines, files=1)
    return sizes


def print_sizes(house: dict[str, dict[str, object]], sizes: dict[str, Counter[str]]) -> None:
    """Print a row for each room and a sum for each quarter, beside ceilings and goals."""
    whole = Counter[str]()
    for quarter, rooms in house["rooms"].items():
        total = sum((sizes[name] for name in rooms), Counter[str]())
        whole += total if quarter != "tests" else Counter()
        for name, (lines, files) in rooms.items():
            size = sizes[name]
            print(f"{name:24}{size['lines']:8} /{lines:7} lines{size['files']:5} /{files:4} files")
        print(_sum_row(quarter, total, house["goals"][quarter]))
    print(_sum_row("product", whole, house["goals"]["product"]))


def _sum_row(name: str, total: Counter[str], goal: list[int]) -> str:
    files = f", {total['files']} files (goal {goal[1]})" if len(goal) > 1 else ""
    return f"== {name}: {total['lines']} lines (goal {goal[0]}){files}"


def check_rooms(
    rooms: dict[str, dict[str, list[int]]], sizes: dict[str, Counter[str]]
) -> Iterator[str]:
    """Yield a fault for each room that is larger than its ceiling."""
    for quarter in rooms.values():
        for name, (lines, files) in quarter.items():
            if sizes[name]["lines"] > lines:
                yield f"{name}: {sizes[name]['lines']} lines, more than its ceiling of {lines}"
            if sizes[name]["files"] > files:
                yield f"{name}: {sizes[name]['files']} files, more than its ceiling of {files}"


if __name__ == "__main__":
    sys.exit(main())
