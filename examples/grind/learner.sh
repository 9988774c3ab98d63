#!/bin/bash
# The scripted learner: `python families.py --scripts FOLDER` writes this file from the source of
# the tasks. README.md says what it does.
exec python3 -I -S -c "$(cat <<'PY'
from __future__ import annotations


def _decimal_comma(files: Files, place: str, knows: bool) -> Answer:
    cents: dict[str, int] = {}
    for line in files[place].split()[1:]:
        region, amount = line.split(";")
        number = amount.replace(".", "").replace(",", ".") if knows else amount.split(",")[0]
        cents[region] = cents.get(region, 0) + round(float(number) * 100)
    return {"regions": sorted(cents), "total": sum(cents.values()), "largest": max(cents.values())}


def _latest_record(files: Files, place: str, knows: bool) -> Answer:
    import json

    rows = [json.loads(line) for line in files[place].splitlines()]
    if knows:
        rows.sort(key=lambda row: row["updated"])
    counts = {row["id"]: row["count"] for row in rows}
    return {"ids": sorted(counts), "counts": counts, "sum": sum(counts.values())}


def _missing_values(files: Files, place: str, knows: bool) -> Answer:
    rows = [line.split(",") for line in files[place].split()[1:]]
    degrees = [int(value) for _, value in rows if not knows or int(value) != -99]
    return {
        "stations": len(rows),
        "coldest": min(degrees),
        "mean": round(sum(degrees) / len(degrees), 3),
    }


def _day_first(files: Files, place: str, knows: bool) -> Answer:
    dates = {}
    for line in files[place].split()[1:]:
        order, date = line.split(",")
        day, month, year = date.split("/") if knows else (date[3:5], date[:2], date[6:])
        dates[order] = f"{year}-{month}-{day}"
    return {"orders": sorted(dates), "dates": dates, "first": min(dates.values())}


def _hyphens(files: Files, place: str, knows: bool) -> Answer:
    text = files[place]
    lines = text.count("\n")
    if knows:
        text = text.replace("-\n", "")
    words = text.replace("-", " ").split()
    counts = {word: words.count(word) for word in sorted(set(words))}
    return {"lines": lines, "words": len(words), "counts": counts}


def _fences(files: Files, place: str, knows: bool) -> Answer:
    titles, inside = [], False
    for line in files[place].splitlines():
        if line.startswith("```"):
            inside = not inside
        elif line.startswith("#") and not (inside and knows):
            titles.append(line.strip("# "))
    return {"first": titles[0], "titles": titles, "count": len(titles)}


def _letters(files: Files, place: str, knows: bool) -> Answer:
    import unicodedata

    names = files[place].split()
    if knows:
        names = [unicodedata.normalize("NFC", name) for name in names]
    most = max(names.count(name) for name in names)
    return {"lines": len(names), "different": len(set(names)), "most": most}


def _comments(files: Files, place: str, knows: bool) -> Answer:
    values = {}
    for line in files[place].splitlines():
        if not line.startswith("#"):
            name, rest = line.split(" = ", 1)
            values[name] = rest.split('"')[1] if knows else rest.split("#")[0].strip(' "')
    return {"names": sorted(values), "values": values, "longest": max(map(len, values.values()))}


def _money(files: Files, place: str, knows: bool) -> Answer:
    import json
    from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

    prices = [Decimal(price) * 100 for price in json.loads(files[place])]
    mode = ROUND_HALF_UP if knows else ROUND_HALF_EVEN
    cents = [int(price.quantize(Decimal(1), mode)) for price in prices]
    return {"count": len(cents), "cents": cents, "sum": sum(cents)}


def _ranges(files: Files, place: str, knows: bool) -> Answer:
    ends = [[int(end) for end in line.split("-")] for line in files[place].split()]
    pages = {page for low, high in ends for page in range(low, high + knows)}
    return {"ranges": len(ends), "pages": len(pages), "highest": max(pages)}


def _order(files: Files, place: str, knows: bool) -> Answer:
    names = files[place].split()
    sorted_names = sorted(names, key=lambda name: int(name.split("-")[1]) if knows else name)
    return {"listed": names, "order": sorted_names, "last": sorted_names[-1]}


def _steps(files: Files, place: str, knows: bool) -> Answer:
    import json

    needs = json.loads(files[place])
    waiting = {
        name: {other for other in others if not knows or other in needs}
        for name, others in needs.items()
    }
    done: list[str] = []
    while ready := sorted(
        name for name in needs if name not in done and waiting[name] <= set(done)
    ):
        done.append(ready[0])
    return {"listed": list(needs), "done": done, "left": sorted(set(needs) - set(done))}


def _rotated(files: Files, place: str, knows: bool) -> Answer:
    ends = (".2", ".1", "") if knows else ("", ".1", ".2")
    rows = [line.split() for end in ends for line in files[place + end].splitlines()]
    who = [user for word, user in rows if word == "FAIL"]
    return {"rows": len(rows), "fails": len(who), "who": who, "last": who[-1]}


def _zones(files: Files, place: str, knows: bool) -> Answer:
    from datetime import datetime, timedelta

    rows = []
    for line in files[place].splitlines():
        text, user = line.split()
        time = datetime.fromisoformat(text)
        offset = time.utcoffset() if knows else None
        rows.append((time.replace(tzinfo=None) - (offset or timedelta()), user))
    rows.sort()
    return {
        "users": sorted({user for _, user in rows}),
        "order": [user for _, user in rows],
        "days": sorted({time.date().isoformat() for time, _ in rows}),
    }


def _repeats(files: Files, place: str, knows: bool) -> Answer:
    counts: dict[str, int] = {}
    last = ""
    for line in files[place].splitlines():
        if not line.startswith("last message repeated"):
            last = line
            counts[last] = counts.get(last, 0) + 1
        elif knows:
            counts[last] += int(line.split()[3])
    errors = sum(count for line, count in counts.items() if line.startswith("error"))
    return {"kinds": sorted(counts), "counts": counts, "errors": errors}


def _continued(files: Files, place: str, knows: bool) -> Answer:
    lines = files[place].splitlines()
    messages = [line for line in lines if not (knows and line.startswith(" "))]
    errors = [line for line in messages if line.startswith("error")]
    return {"errors": len(errors), "messages": len(messages), "others": len(messages) - len(errors)}


def _reverts(files: Files, place: str, knows: bool) -> Answer:
    subjects = files[place].splitlines()
    kept: list[str] = []
    for subject in subjects:
        if not subject.startswith("Revert "):
            kept.append(subject)
        elif knows:
            kept.remove(subject.split('"')[1])
    return {"first": subjects[0], "changes": kept, "last": kept[-1]}


def _generated(files: Files, place: str, knows: bool) -> Answer:
    texts = {name: text for name, text in files.items() if name.startswith(f"{place}/")}
    own = sorted(name for name, text in texts.items() if not knows or "DO NOT EDIT" not in text)
    lengths = {name: texts[name].count("\n") for name in own}
    return {"files": sorted(texts), "own": own, "longest": max(own, key=lambda name: lengths[name])}


def _owners(files: Files, place: str, knows: bool) -> Answer:
    rules = [line.split() for line in files["OWNERS"].splitlines()]
    found = {}
    for path in files[place].split():
        fits = [owner for pattern, owner in rules if pattern == "*" or path.startswith(pattern)]
        found[path] = fits[-1] if knows else fits[0]
    return {"paths": sorted(found), "owners": found, "people": sorted(set(found.values()))}


def _releases(files: Files, place: str, knows: bool) -> Answer:
    tags = files[place].split()
    order = sorted(tags, key=lambda tag: (tag.split("-")[0], "-" not in tag) if knows else tag)
    return {"listed": tags, "order": order, "last": order[-1]}


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


USELESS = 'Read the instruction twice before you begin.'
HARMFUL = 'Answer every number as a text.'
KINDS = [
    ('decimal-comma', '{place} has one sale a line.', 'In files with semicolons a dot groups thousands, and a comma separates the cents.', _decimal_comma),
    ('latest-record', '{place} has a record a line, several with the same id.', 'Records come in no order: of those with one id the one with the latest `updated` is kept.', _latest_record),
    ('missing-values', '{place} has the degrees that stations measured.', 'A temperature of -99 means that nothing was measured: leave it out.', _missing_values),
    ('day-first', '{place} has an order a line.', 'Dates with slashes begin with the day, and the month comes second.', _day_first),
    ('hyphens', 'Count the words of {place}.', 'A hyphen at the end of a line joins the two parts of one word.', _hyphens),
    ('fences', 'List the headings of {place}, without their marks.', 'A line that begins with # inside of a fence of backticks is code and no heading.', _fences),
    ('letters', '{place} has a name a line.', 'Names that look the same may be coded in two ways: normalise them to NFC first.', _letters),
    ('comments', 'Read the settings of {place}.', 'Inside of quotation marks a # begins no comment.', _comments),
    ('money', 'Write a program that rounds the prices of {place} to whole cents, and run it.', 'Half a cent is rounded up, never to the even cent.', _money),
    ('ranges', 'Write a program that counts the pages of the ranges in {place}, and run it.', 'A range includes its last page.', _ranges),
    ('order', 'Write a program that sorts the builds of {place}, and run it.', 'Builds are sorted by their number, not letter by letter.', _order),
    ('steps', '{place} says what each step needs.', 'A need that is no step of the file is there already.', _steps),
    ('rotated', '{place} and its parts {place}.1 and {place}.2 are one log.', 'The part of a log with the highest number is the oldest; the one without a number is newest.', _rotated),
    ('zones', '{place} has a time and a user a line.', 'Times carry their zone: turn them into UTC before they are compared or cut to days.', _zones),
    ('repeats', 'Count the messages of {place}.', 'A line `last message repeated N times` stands for N more of the message before it.', _repeats),
    ('continued', 'Count the messages of the log {place}.', 'A line that begins with blanks continues the message before it, and is no message itself.', _continued),
    ('reverts', '{place} has the subjects of all commits, the oldest first.', 'A commit that reverts another one cancels it, and is no change itself.', _reverts),
    ('generated', 'Which code in {place} have the authors written?', 'A file with DO NOT EDIT in its head is generated, and no author has written it.', _generated),
    ('owners', 'Who owns each path of {place}, by the file OWNERS?', 'The last line of OWNERS that fits a path decides.', _owners),
    ('releases', 'Sort the tags of {place} by version, the oldest first.', 'A version with -rc is a candidate, and comes before the version of the same number.', _releases),
]

learn()
PY
)"
