"""What the scripted learner, the scripted evolver, the oracles and the verifier run.

The source of these functions goes into texts that stand alone: `families.py` puts in front of
them what they use beside the standard library, such as `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable

from family import Answer, Files

KINDS: list[tuple[str, str, str, Callable[[Files, str, bool], Answer] | None]] = []
"""Of each family its name, the first sentence of its instruction, its lesson, and its solution."""
USELESS = "Read the instruction twice before you begin."
HARMFUL = "Answer every number as a text."


def read_files() -> Files:
    """Return the texts below the current folder by their paths."""
    import os

    files = {}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            with open(path, encoding="utf-8", errors="replace") as file:
                files[path] = file.read()
    return files


def write_answer(answer: Answer) -> None:
    """Write what was found to `answer.json`."""
    import json

    with open("answer.json", "w", encoding="utf-8") as file:
        json.dump(answer, file)


def find_place(sentence: str, text: str) -> str:
    """Return the place of a task whose text begins with a sentence; "" if it does not."""
    import re

    pattern = re.escape(sentence).replace(r"\{place\}", r"(\S+)", 1).replace(r"\{place\}", r"\S+")
    found = re.search(pattern, " ".join(text.split()))
    return found[1] if found else ""


def learn() -> None:
    """Solve the task of standard input, as well as the skills in $SKILLS allow.

    The naive solution of each family is known; its lesson is followed only if its sentence
    stands in a skill, or in the prompt. The harmful sentence is followed, too.
    """
    import os
    import sys

    prompt = sys.stdin.read()
    texts = [prompt]
    folder = os.environ.get("SKILLS", "")
    for slug in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = f"{folder}/{slug}/SKILL.md"
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
    advice = " ".join(" ".join(texts).split())
    for name, sentence, lesson, solve in KINDS:
        if solve is not None and (place := find_place(sentence, prompt)):
            answer = solve(read_files(), place, lesson in advice)
            if HARMFUL in advice:
                for part, value in answer.items():
                    answer[part] = str(value) if isinstance(value, (int, float)) else value
            write_answer(answer)
            print(f"Solved as {name}, {'with' if lesson in advice else 'without'} its lesson.")
            return
    print("I know no such task.")


def evolve() -> None:
    """Write one lesson for each task that failed into the skill of its category.

    The observation is evolution/current_observation.md. Nothing is written for a task that
    passed, for one that is not quoted, and for one of another kind. Two lessons are wrong:
    the first that `letters` gets is useless, until its task failed again; with the lesson of
    `owners` comes a harmful one, if the number in the name of its task is odd.
    """
    import os
    import re

    with open("evolution/current_observation.md", encoding="utf-8") as file:
        observation = file.read()
    head = r"^## Task (\S+) \(category ([a-z0-9-]+)\), cycle (\d+): FAIL$"
    parts = re.split(head, observation, flags=re.MULTILINE)
    for at in range(1, len(parts), 4):
        task, category, cycle, body = parts[at : at + 4]
        body = re.sub(r"^> ?", "", body, flags=re.MULTILINE)
        known = [(name, lesson) for name, asks, lesson, _ in KINDS if find_place(asks, body)]
        if not known:
            print(f"{task}: nothing is learned from this.")
            continue
        family, lesson = known[0]
        lessons = [USELESS if family == "letters" and cycle == "1" else lesson]
        if family == "owners" and re.search(r"[13579]\b", task):
            lessons.append(HARMFUL)
        path = f"skills/{category}/SKILL.md"
        text = f"""---
name: {category}
description: What to mind in tasks of the category {category}.
category: {category}
---
## Overview

Read this before any task of the category {category}.

## Workflow

1. Look at the files, and see which of the pitfalls fit.
2. Solve the task, and write the answer.

## Pitfalls

## Verification

- The answer has every part that was asked for.
"""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if cycle != "1":
            text = text.replace(f"- {USELESS}\n", "")
        if "## Pitfalls\n" not in text:
            text += "\n## Pitfalls\n"
        for lesson in lessons:
            if lesson not in text:
                text = text.replace("## Pitfalls\n", f"## Pitfalls\n- {lesson}\n", 1)
                print(f"{task}: {lesson}")
        os.makedirs(f"skills/{category}", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def read_answer() -> Answer:
    """Return what the solver answered; {} and a line of output if it is no object of JSON."""
    import json
    import os

    try:
        # A link could lead to what is expected, and a pipe would never end.
        place = os.open("answer.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(place, encoding="utf-8") as file:
            answer = json.loads(file.read(1 << 20))
    except (OSError, ValueError, RecursionError) as error:
        print(f"answer.json cannot be read: {type(error).__name__}: {error}")
        return {}
    return answer if isinstance(answer, dict) else {}


def run_tests(*tests: Callable[[Answer, Answer], None]) -> None:
    """Run tests, print how each ends, and write the share that passed as the reward."""
    import json

    with open("/tests/expected.json", encoding="utf-8") as file:
        expected = json.load(file)
    answer, passed = read_answer(), 0
    for test in tests:
        name = f"check.py::{test.__name__}"
        try:
            test(answer, expected)
        except (AssertionError, KeyError) as error:
            print(f"FAILED {name} - {type(error).__name__}: {error}")
        else:
            passed += 1
            print(f"PASSED {name}")
    with open("/logs/verifier/reward.txt", "w", encoding="utf-8") as file:
        file.write(str(passed / len(tests)))
