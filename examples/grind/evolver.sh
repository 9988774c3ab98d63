#!/bin/bash
# The scripted evolver: `python families.py --scripts FOLDER` writes this file from the source of
# the tasks. README.md says what it does.
exec python3 -I -S -c "$(cat <<'PY'
from __future__ import annotations


def find_place(sentence: str, text: str) -> str:
    """Return the place of a task whose text begins with a sentence; "" if it does not."""
    import re

    pattern = re.escape(sentence).replace(r"\{place\}", r"(\S+)", 1).replace(r"\{place\}", r"\S+")
    found = re.search(pattern, " ".join(text.split()))
    return found[1] if found else ""


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


USELESS = 'Read the instruction twice before you begin.'
HARMFUL = 'Answer every number as a text.'
KINDS = [
    ('decimal-comma', '{place} has one sale a line.', 'In files with semicolons a dot groups thousands, and a comma separates the cents.', None),
    ('latest-record', '{place} has a record a line, several with the same id.', 'Records come in no order: of those with one id the one with the latest `updated` is kept.', None),
    ('missing-values', '{place} has the degrees that stations measured.', 'A temperature of -99 means that nothing was measured: leave it out.', None),
    ('day-first', '{place} has an order a line.', 'Dates with slashes begin with the day, and the month comes second.', None),
    ('hyphens', 'Count the words of {place}.', 'A hyphen at the end of a line joins the two parts of one word.', None),
    ('fences', 'List the headings of {place}, without their marks.', 'A line that begins with # inside of a fence of backticks is code and no heading.', None),
    ('letters', '{place} has a name a line.', 'Names that look the same may be coded in two ways: normalise them to NFC first.', None),
    ('comments', 'Read the settings of {place}.', 'Inside of quotation marks a # begins no comment.', None),
    ('money', 'Write a program that rounds the prices of {place} to whole cents, and run it.', 'Half a cent is rounded up, never to the even cent.', None),
    ('ranges', 'Write a program that counts the pages of the ranges in {place}, and run it.', 'A range includes its last page.', None),
    ('order', 'Write a program that sorts the builds of {place}, and run it.', 'Builds are sorted by their number, not letter by letter.', None),
    ('steps', '{place} says what each step needs.', 'A need that is no step of the file is there already.', None),
    ('rotated', '{place} and its parts {place}.1 and {place}.2 are one log.', 'The part of a log with the highest number is the oldest; the one without a number is newest.', None),
    ('zones', '{place} has a time and a user a line.', 'Times carry their zone: turn them into UTC before they are compared or cut to days.', None),
    ('repeats', 'Count the messages of {place}.', 'A line `last message repeated N times` stands for N more of the message before it.', None),
    ('continued', 'Count the messages of the log {place}.', 'A line that begins with blanks continues the message before it, and is no message itself.', None),
    ('reverts', '{place} has the subjects of all commits, the oldest first.', 'A commit that reverts another one cancels it, and is no change itself.', None),
    ('generated', 'Which code in {place} have the authors written?', 'A file with DO NOT EDIT in its head is generated, and no author has written it.', None),
    ('owners', 'Who owns each path of {place}, by the file OWNERS?', 'The last line of OWNERS that fits a path decides.', None),
    ('releases', 'Sort the tags of {place} by version, the oldest first.', 'A version with -rc is a candidate, and comes before the version of the same number.', None),
]

evolve()
PY
)"
