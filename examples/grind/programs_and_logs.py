"""Families of tasks about small programs, logs and repositories."""

from __future__ import annotations

import json
from random import Random

from family import PEOPLE, WORDS, Answer, Family, Files, join_lines

# Small programs


def _make_prices(rng: Random, place: str) -> Files:
    prices = [f"{rng.randrange(1, 99)}.{rng.choice([12, 24, 46, 68, 80])}5" for _ in range(10)]
    return {place: join_lines([json.dumps(prices)])}


def _money(files: Files, place: str, knows: bool) -> Answer:
    import json
    from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

    prices = [Decimal(price) * 100 for price in json.loads(files[place])]
    mode = ROUND_HALF_UP if knows else ROUND_HALF_EVEN
    cents = [int(price.quantize(Decimal(1), mode)) for price in prices]
    return {"count": len(cents), "cents": cents, "sum": sum(cents)}


MONEY = Family(
    "small-programs",
    "prices-{tag}.json",
    "Write a program that rounds the prices of {place} to whole cents, and run it.\n"
    "Answer `count`, how many there are; `cents`, each in its order; `sum`, the sum of `cents`.",
    "Half a cent is rounded up, never to the even cent.",
    _make_prices,
    _money,
)


def _make_ranges(rng: Random, place: str) -> Files:
    starts = [rng.randrange(1, 400) for _ in range(8)]
    return {place: join_lines([f"{start}-{start + rng.randrange(30)}" for start in starts])}


def _ranges(files: Files, place: str, knows: bool) -> Answer:
    ends = [[int(end) for end in line.split("-")] for line in files[place].split()]
    pages = {page for low, high in ends for page in range(low, high + knows)}
    return {"ranges": len(ends), "pages": len(pages), "highest": max(pages)}


RANGES = Family(
    "small-programs",
    "ranges-{tag}.txt",
    "Write a program that counts the pages of the ranges in {place}, and run it.\n"
    "Answer `ranges`, how many there are; `pages`, how many different pages are in them;\n"
    "`highest`, the highest page.",
    "A range includes its last page.",
    _make_ranges,
    _ranges,
)


def _make_builds(rng: Random, place: str) -> Files:
    numbers = rng.sample([*range(1, 9), *range(11, 200)], 9)
    return {place: join_lines([f"build-{number}" for number in (*numbers, 9, 10)])}


def _order(files: Files, place: str, knows: bool) -> Answer:
    names = files[place].split()
    sorted_names = sorted(names, key=lambda name: int(name.split("-")[1]) if knows else name)
    return {"listed": names, "order": sorted_names, "last": sorted_names[-1]}


ORDER = Family(
    "small-programs",
    "builds-{tag}.txt",
    "Write a program that sorts the builds of {place}, and run it. Answer `listed`, the builds as\n"
    "they stand there; `order`, the builds sorted; `last`, the last of `order`.",
    "Builds are sorted by their number, not letter by letter.",
    _make_builds,
    _order,
)


def _make_steps(rng: Random, place: str) -> Files:
    names = rng.sample(WORDS, 9)
    outside, names = names[:2], names[2:]
    needs = {name: rng.sample(names[:at], min(at, 2)) for at, name in enumerate(names)}
    for name in rng.sample(names, 2):
        needs[name] += outside[:1]
    steps = list(needs.items())
    rng.shuffle(steps)
    return {place: join_lines([json.dumps(dict(steps))])}


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


STEPS = Family(
    "small-programs",
    "steps-{tag}.json",
    "{place} says what each step needs. Write a program that does one step after the other,\n"
    "of those that are ready always the first by name, and run it. Answer `listed`, the steps as\n"
    "they stand there; `done`, the steps in the order in which they are done; `left`, the steps\n"
    "that never are, sorted.",
    "A need that is no step of the file is there already.",
    _make_steps,
    _steps,
)


# Forensics of logs


def _make_rotated(rng: Random, place: str) -> Files:
    rows = [
        f"{'login' if number % 3 else 'FAIL'} {rng.choice(PEOPLE)}"
        for number in range(rng.choice([18, 21, 24]))
    ]
    cut = rng.randrange(5, 8)
    parts = {"": rows[2 * cut :], ".1": rows[cut : 2 * cut], ".2": rows[:cut]}
    return {place + end: join_lines(part) for end, part in parts.items()}


def _rotated(files: Files, place: str, knows: bool) -> Answer:
    ends = (".2", ".1", "") if knows else ("", ".1", ".2")
    rows = [line.split() for end in ends for line in files[place + end].splitlines()]
    who = [user for word, user in rows if word == "FAIL"]
    return {"rows": len(rows), "fails": len(who), "who": who, "last": who[-1]}


ROTATED = Family(
    "log-forensics",
    "app-{tag}.log",
    "{place} and its parts {place}.1 and {place}.2 are one log. Answer `rows`, the number of all\n"
    "lines; `fails`, how many begin with FAIL; `who`, the users of these in the order of time;\n"
    "`last`, the last of `who`.",
    "The part of a log with the highest number is the oldest; the one without a number is newest.",
    _make_rotated,
    _rotated,
)


def _make_access(rng: Random, place: str) -> Files:
    rows = []
    for number in range(10):
        time = f"2026-05-0{rng.randrange(1, 4)}T{rng.randrange(24):02d}:{number:02d}:00"
        zone = rng.choice(["+00:00", "+02:00", "-05:00"])
        rows.append(f"{time}{zone} {PEOPLE[number % 6]}")
    return {place: join_lines(rows)}


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


ZONES = Family(
    "log-forensics",
    "access-{tag}.log",
    "{place} has a time and a user a line. Answer `users`, each once, sorted; `order`, the users\n"
    "of all lines, the earliest first; `days`, the days of these times, each once, sorted.",
    "Times carry their zone: turn them into UTC before they are compared or cut to days.",
    _make_access,
    _zones,
)


def _make_system(rng: Random, place: str) -> Files:
    rows = []
    for _ in range(9):
        rows.append(rng.choice(["error disk full", "error timeout", "info ready"]))
        if rng.random() < 0.6:
            rows.append(f"last message repeated {rng.randrange(2, 9)} times")
    rows += ["error timeout", "last message repeated 3 times"]
    return {place: join_lines(rows)}


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


REPEATS = Family(
    "log-forensics",
    "system-{tag}.log",
    "Count the messages of {place}. Answer `kinds`, the different messages, sorted; `counts`, how\n"
    "often each was written; `errors`, how many of all these begin with error.",
    "A line `last message repeated N times` stands for N more of the message before it.",
    _make_system,
    _repeats,
)


def _make_messages(rng: Random, place: str) -> Files:
    rows = []
    for number in range(9):
        kind = rng.choice(["error", "info"])
        rows.append(f"{kind} {rng.choice(WORDS)}")
        if number in (2, 6) or rng.random() < 0.3:
            rows += [f"  at {word}" for word in rng.sample(WORDS, rng.randrange(1, 4))]
    return {place: join_lines(rows)}


def _continued(files: Files, place: str, knows: bool) -> Answer:
    lines = files[place].splitlines()
    messages = [line for line in lines if not (knows and line.startswith(" "))]
    errors = [line for line in messages if line.startswith("error")]
    return {"errors": len(errors), "messages": len(messages), "others": len(messages) - len(errors)}


CONTINUED = Family(
    "log-forensics",
    "service-{tag}.log",
    "Count the messages of the log {place}. Answer `messages`, how many there are; `errors`, how\n"
    "many of them begin with error; `others`, how many do not.",
    "A line that begins with blanks continues the message before it, and is no message itself.",
    _make_messages,
    _continued,
)


# Repositories


def _make_commits(rng: Random, place: str) -> Files:
    rows = []
    for number, word in enumerate(rng.sample(WORDS, 8)):
        rows.append(f"Add {word}")
        if number and (rng.random() < 0.4 or number in (3, 7)):
            rows.append(f'Revert "Add {word}"')
    return {place: join_lines(rows)}


def _reverts(files: Files, place: str, knows: bool) -> Answer:
    subjects = files[place].splitlines()
    kept: list[str] = []
    for subject in subjects:
        if not subject.startswith("Revert "):
            kept.append(subject)
        elif knows:
            kept.remove(subject.split('"')[1])
    return {"first": subjects[0], "changes": kept, "last": kept[-1]}


REVERTS = Family(
    "repositories",
    "commits-{tag}.txt",
    "{place} has the subjects of all commits, the oldest first. Which changes have been made?\n"
    "Answer `first`, the first line of the file; `changes`, the subjects of these changes in\n"
    "their order; `last`, the last of `changes`.",
    "A commit that reverts another one cancels it, and is no change itself.",
    _make_commits,
    _reverts,
)


def _make_sources(rng: Random, place: str) -> Files:
    words = rng.sample(WORDS, 5)
    made = {words[0], *rng.sample(words[1:], rng.randrange(2))}
    files = {}
    for word in words:
        mark = "// Code generated by protoc. DO NOT EDIT.\n" if word in made else ""
        rows = [f"const {word}{number} = {number};" for number in range(rng.randrange(2, 9))]
        files[f"{place}/{word}.js"] = mark + join_lines(rows)
    return files


def _generated(files: Files, place: str, knows: bool) -> Answer:
    texts = {name: text for name, text in files.items() if name.startswith(f"{place}/")}
    own = sorted(name for name, text in texts.items() if not knows or "DO NOT EDIT" not in text)
    lengths = {name: texts[name].count("\n") for name in own}
    return {"files": sorted(texts), "own": own, "longest": max(own, key=lambda name: lengths[name])}


GENERATED = Family(
    "repositories",
    "src-{tag}",
    "Which code in {place} have the authors written? Answer `files`, the paths of all files,\n"
    "sorted, each beginning with {place}/; `own`, those of the files that they have written,\n"
    "sorted; `longest`, that of `own` which has most lines, the first by name of several.",
    "A file with DO NOT EDIT in its head is generated, and no author has written it.",
    _make_sources,
    _generated,
)


def _make_owners(rng: Random, place: str) -> Files:
    rows = [f"* @{PEOPLE[0]}", f"src/ @{PEOPLE[1]}"]
    paths = []
    for word in rng.sample(WORDS, 6):
        rows.append(f"src/{word}/ @{rng.choice(PEOPLE[2:])}")
        paths += [f"src/{word}/main.py", f"docs/{word}.md"]
    rng.shuffle(paths)
    return {"OWNERS": join_lines(rows), place: join_lines(paths)}


def _owners(files: Files, place: str, knows: bool) -> Answer:
    rules = [line.split() for line in files["OWNERS"].splitlines()]
    found = {}
    for path in files[place].split():
        fits = [owner for pattern, owner in rules if pattern == "*" or path.startswith(pattern)]
        found[path] = fits[-1] if knows else fits[0]
    return {"paths": sorted(found), "owners": found, "people": sorted(set(found.values()))}


OWNERS = Family(
    "repositories",
    "changed-{tag}.txt",
    "Who owns each path of {place}, by the file OWNERS? Answer `paths`, sorted; `owners`, the\n"
    "owner of each by its path; `people`, these owners, each once, sorted.",
    "The last line of OWNERS that fits a path decides.",
    _make_owners,
    _owners,
)


def _make_tags(rng: Random, place: str) -> Files:
    tags = []
    for minor in rng.sample(range(1, 9), 4):
        tags += [f"v1.{minor}.0", f"v1.{minor}.0-rc1"]
    rng.shuffle(tags)
    return {place: join_lines(tags)}


def _releases(files: Files, place: str, knows: bool) -> Answer:
    tags = files[place].split()
    order = sorted(tags, key=lambda tag: (tag.split("-")[0], "-" not in tag) if knows else tag)
    return {"listed": tags, "order": order, "last": order[-1]}


RELEASES = Family(
    "repositories",
    "tags-{tag}.txt",
    "Sort the tags of {place} by version, the oldest first. Answer `listed`, the tags as they\n"
    "stand there; `order`, the tags sorted; `last`, the last of `order`.",
    "A version with -rc is a candidate, and comes before the version of the same number.",
    _make_tags,
    _releases,
)

FAMILIES = (
    *(MONEY, RANGES, ORDER, STEPS),
    *(ROTATED, ZONES, REPEATS, CONTINUED),
    *(REVERTS, GENERATED, OWNERS, RELEASES),
)
