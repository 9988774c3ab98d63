"""Families of tasks about data files and about text."""

from __future__ import annotations

import json
from random import Random

from family import WORDS, Answer, Family, Files, join_lines

# Data files


def _make_sales(rng: Random, place: str) -> Files:
    def amount() -> str:
        return f"{rng.randrange(1000, 90000):,}".replace(",", ".") + f",{rng.randrange(100):02d}"

    rows = [f"{rng.choice(WORDS[:4])};{amount()}" for _ in range(rng.randrange(12, 20))]
    return {place: join_lines(["region;amount", *rows])}


def _decimal_comma(files: Files, place: str, knows: bool) -> Answer:
    cents: dict[str, int] = {}
    for line in files[place].split()[1:]:
        region, amount = line.split(";")
        number = amount.replace(".", "").replace(",", ".") if knows else amount.split(",")[0]
        cents[region] = cents.get(region, 0) + round(float(number) * 100)
    return {"regions": sorted(cents), "total": sum(cents.values()), "largest": max(cents.values())}


DECIMAL_COMMA = Family(
    "data-files",
    "sales-{tag}.csv",
    "{place} has one sale a line. Sum the amounts of each region in cents, as whole numbers.\n"
    "Answer `regions`, their names sorted; `total`, the sum of all; `largest`, the largest sum.",
    "In files with semicolons a dot groups thousands, and a comma separates the cents.",
    _make_sales,
    _decimal_comma,
)


def _make_records(rng: Random, place: str) -> Files:
    rows = [
        {"id": name, "updated": f"2026-03-{day}", "count": rng.randrange(50)}
        for name in rng.sample(WORDS, 6)
        for day in rng.sample(range(10, 28), 3)
    ]
    rng.shuffle(rows)
    return {place: join_lines([json.dumps(row) for row in rows])}


def _latest_record(files: Files, place: str, knows: bool) -> Answer:
    import json

    rows = [json.loads(line) for line in files[place].splitlines()]
    if knows:
        rows.sort(key=lambda row: row["updated"])
    counts = {row["id"]: row["count"] for row in rows}
    return {"ids": sorted(counts), "counts": counts, "sum": sum(counts.values())}


LATEST_RECORD = Family(
    "data-files",
    "records-{tag}.jsonl",
    "{place} has a record a line, several with the same id. Keep one record of each id.\n"
    "Answer `ids`, sorted; `counts`, the count that is kept by id; `sum`, the sum of these counts.",
    "Records come in no order: of those with one id the one with the latest `updated` is kept.",
    _make_records,
    _latest_record,
)


def _make_weather(rng: Random, place: str) -> Files:
    rows = [f"{word},{rng.choice([-99, rng.randrange(5, 35)])}" for word in WORDS]
    rows += ["oriel,-99", f"plain,{rng.randrange(5, 35)}"]
    return {place: join_lines(["station,degrees", *rows])}


def _missing_values(files: Files, place: str, knows: bool) -> Answer:
    rows = [line.split(",") for line in files[place].split()[1:]]
    degrees = [int(value) for _, value in rows if not knows or int(value) != -99]
    return {
        "stations": len(rows),
        "coldest": min(degrees),
        "mean": round(sum(degrees) / len(degrees), 3),
    }


MISSING_VALUES = Family(
    "data-files",
    "weather-{tag}.csv",
    "{place} has the degrees that stations measured. Answer `stations`, the number of all that it\n"
    "lists; `coldest`, the lowest value; `mean`, the mean, rounded to three digits.",
    "A temperature of -99 means that nothing was measured: leave it out.",
    _make_weather,
    _missing_values,
)


def _make_orders(rng: Random, place: str) -> Files:
    rows = [
        f"{word},{rng.randrange(1, 13):02d}/{rng.randrange(1, 13):02d}/2026" for word in WORDS[:9]
    ]
    return {place: join_lines(["order,date", *rows])}


def _day_first(files: Files, place: str, knows: bool) -> Answer:
    dates = {}
    for line in files[place].split()[1:]:
        order, date = line.split(",")
        day, month, year = date.split("/") if knows else (date[3:5], date[:2], date[6:])
        dates[order] = f"{year}-{month}-{day}"
    return {"orders": sorted(dates), "dates": dates, "first": min(dates.values())}


DAY_FIRST = Family(
    "data-files",
    "orders-{tag}.csv",
    "{place} has an order a line. Answer `orders`, their names sorted; `dates`, the date of each\n"
    "in ISO form by its name; `first`, the earliest of these dates.",
    "Dates with slashes begin with the day, and the month comes second.",
    _make_orders,
    _day_first,
)


# Text


def _make_page(rng: Random, place: str) -> Files:
    rows = []
    for _ in range(8):
        cut, *words = rng.choices(WORDS, k=4)
        rows += [f"{words[0]} {words[1]} {cut[:2]}-", f"{cut[2:]} {words[2]}"]
    return {place: join_lines(rows)}


def _hyphens(files: Files, place: str, knows: bool) -> Answer:
    text = files[place]
    lines = text.count("\n")
    if knows:
        text = text.replace("-\n", "")
    words = text.replace("-", " ").split()
    counts = {word: words.count(word) for word in sorted(set(words))}
    return {"lines": lines, "words": len(words), "counts": counts}


HYPHENS = Family(
    "text",
    "page-{tag}.txt",
    "Count the words of {place}. Answer `lines`, the number of its lines; `words`, the number of\n"
    "its words; `counts`, how often each word stands there.",
    "A hyphen at the end of a line joins the two parts of one word.",
    _make_page,
    _hyphens,
)


def _make_guide(rng: Random, place: str) -> Files:
    parts = [f"# Guide\n\n```sh\n# start {rng.choice(WORDS)}\n```\n"]
    for word in rng.sample(WORDS, 6):
        parts.append(f"## {word.title()}\n\nText about {word}.\n")
        if rng.random() < 0.6:
            parts.append(f"```sh\n# install {word}\nmake {word}\n```\n")
    return {place: "\n".join(parts)}


def _fences(files: Files, place: str, knows: bool) -> Answer:
    titles, inside = [], False
    for line in files[place].splitlines():
        if line.startswith("```"):
            inside = not inside
        elif line.startswith("#") and not (inside and knows):
            titles.append(line.strip("# "))
    return {"first": titles[0], "titles": titles, "count": len(titles)}


FENCES = Family(
    "text",
    "guide-{tag}.md",
    "List the headings of {place}, without their marks. Answer `titles` in their order; `first`,\n"
    "the first of them; `count`, how many there are.",
    "A line that begins with # inside of a fence of backticks is code and no heading.",
    _make_guide,
    _fences,
)


def _make_names(rng: Random, place: str) -> Files:
    import unicodedata

    rows = ["Ada"]
    for name in rng.sample(["Zoë", "Renée", "Jürgen", "Björn", "Nuñez"], 4):
        rows += [name] * rng.randrange(1, 3)
        rows += [unicodedata.normalize("NFD", name)] * rng.randrange(1, 3)
    rng.shuffle(rows)
    return {place: join_lines(rows)}


def _letters(files: Files, place: str, knows: bool) -> Answer:
    import unicodedata

    names = files[place].split()
    if knows:
        names = [unicodedata.normalize("NFC", name) for name in names]
    most = max(names.count(name) for name in names)
    return {"lines": len(names), "different": len(set(names)), "most": most}


LETTERS = Family(
    "text",
    "names-{tag}.txt",
    "{place} has a name a line. Answer `lines`, how many lines there are; `different`, how many\n"
    "different names; `most`, how often the most frequent name stands there.",
    "Names that look the same may be coded in two ways: normalise them to NFC first.",
    _make_names,
    _letters,
)


def _make_settings(rng: Random, place: str) -> Files:
    rows = []
    for word in rng.sample(WORDS, 8):
        value = rng.choice([word, f"{word}#{rng.randrange(9)}"])
        rows += [f'{word} = "{value}"  # was {rng.randrange(9)}', f"# {word}_old = 1"]
    return {place: join_lines(rows)}


def _comments(files: Files, place: str, knows: bool) -> Answer:
    values = {}
    for line in files[place].splitlines():
        if not line.startswith("#"):
            name, rest = line.split(" = ", 1)
            values[name] = rest.split('"')[1] if knows else rest.split("#")[0].strip(' "')
    return {"names": sorted(values), "values": values, "longest": max(map(len, values.values()))}


COMMENTS = Family(
    "text",
    "app-{tag}.conf",
    "Read the settings of {place}. Answer `names`, sorted; `values`, the value of each by its\n"
    "name, without quotation marks; `longest`, the number of characters of the longest value.",
    "Inside of quotation marks a # begins no comment.",
    _make_settings,
    _comments,
)

FAMILIES = (
    *(DECIMAL_COMMA, LATEST_RECORD, MISSING_VALUES, DAY_FIRST),
    *(HYPHENS, FENCES, LETTERS, COMMENTS),
)
