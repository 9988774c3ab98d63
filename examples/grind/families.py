"""Write tasks to grind on, and the scripts that solve and evolve: see README.md beside this file.

    python examples/grind/families.py FOLDER --seed 1 --each 4
    python examples/grind/families.py --scripts examples/grind

A family makes any number of tasks from a seed, each with a place, such as the name of a file, and
contents of its own. Nothing depends on the machine: the same seed writes the same bytes.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import data_and_text
import programs_and_logs
import scripted
from family import WORDS, Answer, Family, Files

from brain.gating.held_out import is_held_out

FAMILIES = (*data_and_text.FAMILIES, *programs_and_logs.FAMILIES)

ANSWER = "\n\nWrite answer.json into the current folder: one object of JSON with these parts.\n"
SETTINGS = """\
[metadata]
category = "{category}"
tags = ["{family}"]

[agent]
timeout_sec = 60

[verifier]
timeout_sec = 60
"""
TEST = "#!/bin/bash\nexec python3 -I -S /tests/check.py\n"
SOLVE = (
    "#!/bin/bash\n# The oracle: it knows the lesson.\nexec python3 -I -S - <<'PY'\n{program}PY\n"
)
PART_TEST = """\
def {name}(answer: Answer, expected: Answer) -> None:
    found, wanted = answer["{part}"], expected["{part}"]
    assert found == wanted, f"{{found!r}} == {{wanted!r}}"
"""
SCRIPT = """\
#!/bin/bash
# The scripted {what}: `python families.py --scripts FOLDER` writes this file from the source of
# the tasks. README.md says what it does.
exec python3 -I -S -c "$(cat <<'PY'
{program}PY
)"
"""


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the tasks are written")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=4, help="tasks of each family (default: 4)")
    parser.add_argument("--scripts", type=Path, help="where learner.sh and evolver.sh are written")
    asked = parser.parse_args()
    if asked.folder is None and asked.scripts is None:
        parser.error("name a folder, or --scripts and a folder")
    if asked.folder is not None:
        write_tasks(asked.folder, asked.seed, asked.each)
    if asked.scripts is not None:
        write_scripts(asked.scripts)


def write_tasks(folder: Path, seed: int, each: int) -> None:
    """Write `each` tasks of each family, the second half of which is held out."""
    for family in FAMILIES:
        for name, place in list_places(family, seed, each).items():
            files, expected = draw(family, Random(f"{name} {seed}"), place)
            write_task(folder / name, family, place, files, expected)


def list_places(family: Family, seed: int, count: int) -> dict[str, str]:
    """Return the places of the tasks of a family, which differ, by the names of the tasks.

    The hash of name and instruction says whether a task is held out, so places are drawn until it
    is so with the second half of them alone.
    """
    rng = Random(f"{family.name} {seed}")
    places: dict[str, str] = {}
    while len(places) < count:
        name = f"{family.category}-{len(places) + 1}-{family.name}"
        tag = f"{rng.choice(WORDS)}-{rng.randrange(10, 1000)}"
        place = family.place.format(tag=tag)
        held_out = is_held_out({"task": name, "instruction": make_instruction(family, place)})
        if held_out == (2 * len(places) >= count) and place not in places.values():
            places[name] = place
    return places


def draw(family: Family, rng: Random, place: str) -> tuple[Files, Answer]:
    """Return the files of an instance and its answer.

    Drawn anew until the trap catches who does not know the lesson, though not in every part.
    """
    while True:
        files = family.make(rng, place)
        expected, naive = (family.solve(files, place, knows) for knows in (True, False))
        if 0 < sum(naive[name] == value for name, value in expected.items()) < len(expected):
            return files, expected


def write_task(folder: Path, family: Family, place: str, files: Files, expected: Answer) -> None:
    """Write the folder of a task."""
    oracle = (
        f"{make_program(family.solve, scripted.read_files, scripted.write_answer)}\n\n"
        f"write_answer({family.solve.__name__}(read_files(), {json.dumps(place)}, True))\n"
    )
    texts = {
        "instruction.md": make_instruction(family, place),
        "task.toml": SETTINGS.format(category=family.category, family=family.name),
        **{f"files/{name}": text for name, text in files.items()},
        "tests/test.sh": TEST,
        "tests/check.py": make_check([*expected]),
        "tests/expected.json": json.dumps(expected, ensure_ascii=False) + "\n",
        "solution/solve.sh": SOLVE.format(program=oracle),
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def make_check(parts: list[str]) -> str:
    """Return the program of a verifier, with a test for each part of an answer."""
    names = [f"test_{part}" for part in parts]
    tests = [
        PART_TEST.format(name=name, part=part) for name, part in zip(names, parts, strict=True)
    ]
    program = make_program(scripted.read_answer, scripted.run_tests)
    return "\n\n".join((program, *tests, f"run_tests({', '.join(names)})\n"))


def make_instruction(family: Family, place: str) -> str:
    """Return what is asked of an instance."""
    return family.instruction.format(place=place) + ANSWER


def write_scripts(folder: Path) -> None:
    """Write learner.sh, which knows how each family is solved, and evolver.sh, which does not."""
    solves = [family.solve for family in FAMILIES]
    helpers = (scripted.read_files, scripted.write_answer, scripted.find_place)
    learner = make_program(*solves, *helpers, scripted.learn)
    evolver = make_program(scripted.find_place, scripted.evolve)
    for what, program, names in (
        ("learner", learner, [solve.__name__ for solve in solves]),
        ("evolver", evolver, ["None"] * len(solves)),
    ):
        rows = [
            f"    ({family.name!r}, {first_sentence(family)!r}, {family.lesson!r}, {name}),\n"
            for family, name in zip(FAMILIES, names, strict=True)
        ]
        values = f"USELESS = {scripted.USELESS!r}\nHARMFUL = {scripted.HARMFUL!r}\n"
        call = "learn()" if what == "learner" else "evolve()"
        whole = f"{program}\n\n{values}KINDS = [\n{''.join(rows)}]\n\n{call}\n"
        text = SCRIPT.format(what=what, program=whole)
        (folder / f"{what}.sh").write_text(text, encoding="utf-8", newline="\n")


def make_program(*functions: Callable[..., Any]) -> str:
    """Return the source of functions as a program that stands alone."""
    sources = (inspect.getsource(function) for function in functions)
    return "\n\n".join(("from __future__ import annotations\n", *sources))


def first_sentence(family: Family) -> str:
    """Return the first sentence of an instruction, which names its place and its family alone."""
    return " ".join(re.split(r"(?<=[.?])\s", family.instruction)[0].split())


if __name__ == "__main__":
    main()
