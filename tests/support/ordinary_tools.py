"""Seventeen tools as a person or a model writes them for themselves, with the tests they write.

None was written for the gate: each says what it does, has two or three payloads from practice, and
a check that works the answer out in another way.
"""

from typing import Any, NamedTuple

from brain.evolve.acquire import ProgramDraft, build_program
from brain.programs.needs import read_fixture_files
from brain.programs.program import Program


class OrdinaryTool(NamedTuple):
    """A tool with its payloads, its check, and what it needs."""

    code: str
    payloads: list[dict[str, Any]]
    check: str
    needs: dict[str, Any] | None = None
    fixtures: dict[str, Any] = {}  # noqa: RUF012 - never changed


ARGUMENTS = "import json, sys\nargs = json.loads(sys.argv[1])\n"

CSV_SUM = OrdinaryTool(
    code=ARGUMENTS
    + """import csv, io
rows = list(csv.DictReader(io.StringIO(args["csv"])))
total = sum(float(row[args["column"]]) for row in rows)
print(json.dumps({"rows": len(rows), "total": total}))
""",
    payloads=[
        {"csv": "name,price\nbread,2.5\nmilk,1.25\n", "column": "price"},
        {"csv": "id,qty,unit\n1,3,kg\n2,4,kg\n3,5,g\n", "column": "qty"},
    ],
    check="""
def check(payload, output):
    lines = [line.split(",") for line in payload["csv"].strip().splitlines()]
    at = lines[0].index(payload["column"])
    assert output["rows"] == len(lines) - 1
    assert abs(output["total"] - sum(float(line[at]) for line in lines[1:])) < 1e-6
""",
)

JSON_PICK = OrdinaryTool(
    code=ARGUMENTS
    + """value = json.loads(args["document"])
for part in args["path"].split("."):
    value = value[int(part)] if isinstance(value, list) else value[part]
print(json.dumps({"value": value}))
""",
    payloads=[
        {"document": '{"user": {"name": "Ada", "tags": ["a", "b"]}}', "path": "user.name"},
        {"document": '{"items": [{"id": 7}, {"id": 9}]}', "path": "items.1.id"},
    ],
    check="""
import json
from functools import reduce

def check(payload, output):
    step = lambda value, key: value[int(key) if isinstance(value, list) else key]
    wanted = reduce(step, payload["path"].split("."), json.loads(payload["document"]))
    assert output == {"value": wanted}
""",
)

DATES = OrdinaryTool(
    code=ARGUMENTS
    + """from datetime import date
start, end = date.fromisoformat(args["start"]), date.fromisoformat(args["end"])
print(json.dumps({"days": (end - start).days, "weekday": end.strftime("%A")}))
""",
    payloads=[
        {"start": "2024-02-27", "end": "2024-03-01"},
        {"start": "2023-12-31", "end": "2024-01-01"},
    ],
    check="""
import calendar, datetime

def check(payload, output):
    days = [datetime.date(*map(int, payload[k].split("-"))).toordinal() for k in ("start", "end")]
    assert output["days"] == days[1] - days[0]
    assert output["weekday"] == calendar.day_name[(days[1] - 1) % 7]
""",
)

TEXT_DIFF = OrdinaryTool(
    code=ARGUMENTS
    + """import difflib
before, after = args["before"].splitlines(), args["after"].splitlines()
changes = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
print(json.dumps({
    "added": sum(line[0] == "+" for line in changes),
    "removed": sum(line[0] == "-" for line in changes),
    "diff": "\\n".join(changes),
}))
""",
    payloads=[
        {"before": "a\nb\nc", "after": "a\nx\nc\nd"},
        {"before": "one\ntwo", "after": "two\nthree"},
    ],
    check="""
def check(payload, output):
    before, after = payload["before"].splitlines(), payload["after"].splitlines()
    lines = output["diff"].splitlines()
    added = [line[2:] for line in lines if line.startswith("+ ")]
    removed = [line[2:] for line in lines if line.startswith("- ")]
    assert (output["added"], output["removed"]) == (len(added), len(removed))
    assert len(before) - len(removed) + len(added) == len(after)
    assert sorted(before + added) == sorted(after + removed)
""",
)

SQL = OrdinaryTool(
    code=ARGUMENTS
    + """import sqlite3
db = sqlite3.connect(":memory:")
columns = list(args["rows"][0])
db.execute("create table t (%s)" % ", ".join('"%s"' % name for name in columns))
marks = ", ".join("?" * len(columns))
db.executemany("insert into t values (%s)" % marks,
               [[row[name] for name in columns] for row in args["rows"]])
cursor = db.execute("select count(*), sum(amount) from t where kind = ?", [args["kind"]])
count, total = cursor.fetchone()
print(json.dumps({"count": count, "total": total or 0}))
""",
    payloads=[
        {
            "rows": [{"kind": "in", "amount": 5}, {"kind": "out", "amount": 2}],
            "kind": "in",
        },
        {
            "rows": [{"kind": "out", "amount": 1}, {"kind": "out", "amount": 4}],
            "kind": "out",
        },
    ],
    check="""
def check(payload, output):
    amounts = [row["amount"] for row in payload["rows"] if row["kind"] == payload["kind"]]
    assert output == {"count": len(amounts), "total": sum(amounts)}
""",
)

ZIP_LIST = OrdinaryTool(
    code=ARGUMENTS
    + """import base64, io, zipfile
archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(args["archive"])))
names = sorted(archive.namelist())
text = archive.read(args["member"]).decode() if args.get("member") in names else None
print(json.dumps({"names": names, "text": text}))
""",
    payloads=[
        {
            "archive": "UEsDBBQAAAAAAAAAIQCFEUoNCwAAAAsAAAAFAAAAYS50eHRoZWxsbyB3b3JsZFBL"
            "AQIUAxQAAAAAAAAAIQCFEUoNCwAAAAsAAAAFAAAAAAAAAAAAAACAAQAAAABhLnR4dFBLBQYAAAAA"
            "AQABADMAAAAuAAAAAAA=",
            "member": "a.txt",
        },
    ],
    check="""
import base64, io, zipfile

def check(payload, output):
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(payload["archive"]))) as archive:
        assert output["names"] == sorted(info.filename for info in archive.infolist())
        if payload.get("member") in output["names"]:
            with archive.open(payload["member"]) as file:
                assert output["text"] == file.read().decode()
        else:
            assert output["text"] is None
""",
)

XML_TEXTS = OrdinaryTool(
    code=ARGUMENTS
    + """import xml.etree.ElementTree as ET
root = ET.fromstring(args["xml"])
found = [element.text or "" for element in root.iter(args["tag"])]
print(json.dumps({"count": len(found), "texts": found}))
""",
    payloads=[
        {"xml": "<feed><title>One</title><entry><title>Two</title></entry></feed>", "tag": "title"},
        {"xml": "<a><b>1</b><b>2</b><c>3</c></a>", "tag": "b"},
    ],
    check="""
import re

def check(payload, output):
    tag = re.escape(payload["tag"])
    texts = re.findall(f"<{tag}>([^<]*)", payload["xml"])
    assert output == {"count": len(texts), "texts": texts}
""",
)

HTTP_STARS = OrdinaryTool(
    code=ARGUMENTS
    + """from urllib.error import HTTPError
from urllib.request import Request, urlopen
url = "https://api.example.org/repos/" + args["repo"]
try:
    with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=10) as answer:
        found = json.load(answer)
except HTTPError as error:
    sys.exit(f"{args['repo']}: {error.code}")
print(json.dumps({"repo": args["repo"], "stars": found["stars"], "open": found["issues"] > 0}))
""",
    payloads=[{"repo": "ada/engine"}, {"repo": "bob/tool"}],
    check="""
STARS = {"ada/engine": (12, True), "bob/tool": (340, False)}

def check(payload, output):
    stars, is_open = STARS[payload["repo"]]
    assert output == {"repo": payload["repo"], "stars": stars, "open": is_open}
""",
    needs={"hosts": ["api.example.org"]},
    fixtures={
        "requests": [
            {
                "url": "https://api.example.org/repos/ada/engine",
                "body": {"stars": 12, "issues": 3},
            },
            {
                "url": "https://api.example.org/repos/bob/tool",
                "body": {"stars": 340, "issues": 0},
            },
        ]
    },
)

FOLDER_SEARCH = OrdinaryTool(
    code=ARGUMENTS
    + """from pathlib import Path
hits = []
for path in sorted(Path("/folders/notes").rglob("*.md")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if args["word"].lower() in line.lower():
            hits.append({"file": path.name, "line": number, "text": line})
print(json.dumps({"count": len(hits), "hits": hits}))
""",
    payloads=[{"word": "budget"}, {"word": "meeting"}, {"word": "zebra"}],
    check="""
TEXT = {"plan.md": "# Plan\\nThe budget is open.\\nNext meeting: Monday\\n",
        "log.md": "Meeting notes\\nBudget agreed\\n"}

def check(payload, output):
    word = payload["word"].lower()
    wanted = sum(word in line.lower() for text in TEXT.values() for line in text.splitlines())
    assert output["count"] == wanted == len(output["hits"])
    assert all(word in hit["text"].lower() for hit in output["hits"])
""",
    needs={"folders": {"notes": "read"}},
    fixtures={
        "folders": {
            "notes": {
                "plan.md": "# Plan\nThe budget is open.\nNext meeting: Monday\n",
                "old/log.md": "Meeting notes\nBudget agreed\n",
            }
        }
    },
)

MARKDOWN_TABLE = OrdinaryTool(
    code=ARGUMENTS
    + """rows = args["rows"]
headers = list(rows[0])
lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
for row in rows:
    lines.append("| " + " | ".join(str(row.get(name, "")) for name in headers) + " |")
print("\\n".join(lines))
""",
    payloads=[
        {"rows": [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 41}]},
        {"rows": [{"city": "Oslo", "temp": 4, "sky": "clear"}]},
    ],
    check="""
def check(payload, output):
    lines = output.splitlines()
    assert len(lines) == len(payload["rows"]) + 2
    for line, row in zip(lines[2:], payload["rows"]):
        for value in row.values():
            assert str(value) in line
    assert all(name in lines[0] for name in payload["rows"][0])
""",
)

REGEX_EXTRACT = OrdinaryTool(
    code=ARGUMENTS
    + """import re
emails = re.findall(r"[\\w.+-]+@[\\w-]+\\.[\\w.]+", args["text"])
print(json.dumps({"emails": sorted(set(emails)), "count": len(emails)}))
""",
    payloads=[
        {"text": "Write to ada@example.org or bob.b@mail.example.com, not to ada@example.org"},
        {"text": "From: eve@example.net To: zoe+list@example.org"},
    ],
    check="""
def check(payload, output):
    words = [word.strip(".,;:<>()") for word in payload["text"].split()]
    wanted = [word for word in words if "@" in word]
    assert set(output["emails"]) == set(wanted) and output["count"] == len(wanted)
""",
)

UNITS = OrdinaryTool(
    code=ARGUMENTS
    + """FACTORS = {"m": 1, "km": 1000, "mi": 1609.344, "ft": 0.3048, "cm": 0.01}
if args["from"] not in FACTORS or args["to"] not in FACTORS:
    sys.exit("unknown unit")
print(json.dumps({"value": args["value"] * FACTORS[args["from"]] / FACTORS[args["to"]]}))
""",
    payloads=[
        {"value": 10, "from": "km", "to": "mi"},
        {"value": 6, "from": "ft", "to": "cm"},
        {"value": 250, "from": "m", "to": "km"},
    ],
    check="""
METRES = {"m": 1, "km": 1000, "mi": 1609.344, "ft": 0.3048, "cm": 0.01}

def check(payload, output):
    back = output["value"] * METRES[payload["to"]]
    assert abs(back - payload["value"] * METRES[payload["from"]]) < 1e-6 * max(1, abs(back))
""",
)

HASHES = OrdinaryTool(
    code=ARGUMENTS
    + """import base64, hashlib
data = args["text"].encode()
print(json.dumps({
    "sha256": hashlib.sha256(data).hexdigest(),
    "base64": base64.b64encode(data).decode(),
}))
""",
    payloads=[{"text": "hello"}, {"text": "A longer text, with commas."}],
    check="""
import binascii, hashlib

def check(payload, output):
    assert binascii.a2b_base64(output["base64"]).decode() == payload["text"]
    digest = hashlib.new("sha256", payload["text"].encode())
    assert output["sha256"] == digest.hexdigest()
""",
)

LOG_SUMMARY = OrdinaryTool(
    code=ARGUMENTS
    + """from collections import Counter
levels = Counter()
errors = []
for line in args["log"].splitlines():
    parts = line.split(" ", 2)
    levels[parts[1]] += 1
    if parts[1] == "ERROR":
        errors.append(parts[2])
print(json.dumps({"levels": levels, "errors": errors}))
""",
    payloads=[
        {"log": "10:00:01 INFO started\n10:00:02 ERROR no disk\n10:00:03 INFO stopped"},
        {"log": "09:00:00 WARN slow\n09:00:04 ERROR timeout on a\n09:00:05 ERROR timeout on b"},
    ],
    check="""
def check(payload, output):
    lines = payload["log"].splitlines()
    assert sum(output["levels"].values()) == len(lines)
    wanted = [line.split(" ERROR ")[1] for line in lines if " ERROR " in line]
    assert output["errors"] == wanted and output["levels"].get("ERROR", 0) == len(wanted)
""",
)

CONFIG = OrdinaryTool(
    code=ARGUMENTS
    + """import configparser, tomllib
text = args["text"]
try:
    data = tomllib.loads(text)
except tomllib.TOMLDecodeError:
    parser = configparser.ConfigParser()
    parser.read_string(text)
    data = {name: dict(parser[name]) for name in parser.sections()}
print(json.dumps({"sections": sorted(data), "data": data}, default=str))
""",
    payloads=[
        {"text": '[server]\nhost = "localhost"\nport = 80\n'},
        {"text": "[paths]\nhome = /srv/app\nlogs = /var/log\n"},
    ],
    check="""
def check(payload, output):
    lines = [line.strip() for line in payload["text"].splitlines()]
    sections = [line[1:-1] for line in lines if line.startswith("[")]
    assert output["sections"] == sorted(sections)
    pairs = [line.split(" = ") for line in lines if " = " in line]
    values = {key: str(value) for part in output["data"].values() for key, value in part.items()}
    assert all(values[key] == value.strip('"') for key, value in pairs)
""",
)

HTML_TEXT = OrdinaryTool(
    code=ARGUMENTS
    + """from html.parser import HTMLParser

class Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts, self.links = [], []
    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href", ""))
    def handle_data(self, data):
        if data.strip():
            self.parts.append(data.strip())

parser = Texts()
parser.feed(args["html"])
print(json.dumps({"text": " ".join(parser.parts), "links": parser.links}))
""",
    payloads=[
        {"html": "<h1>Title</h1><p>Some <b>bold</b> text.</p>"},
        {"html": '<p>See <a href="https://example.org/x">this page</a> now</p>'},
    ],
    check="""
import re

def check(payload, output):
    plain = re.sub(r"<[^>]*>", " ", payload["html"])
    assert output["text"].split() == plain.split()
    assert output["links"] == re.findall(r'href="([^"]*)"', payload["html"])
""",
)

STATISTICS = OrdinaryTool(
    code=ARGUMENTS
    + """import statistics
numbers = args["numbers"]
print(json.dumps({
    "mean": statistics.fmean(numbers),
    "median": statistics.median(numbers),
    "stdev": statistics.stdev(numbers),
}))
""",
    payloads=[{"numbers": [1, 2, 3, 4]}, {"numbers": [10, 12, 23, 23, 16]}],
    check="""
def check(payload, output):
    numbers = sorted(payload["numbers"])
    mean = sum(numbers) / len(numbers)
    middle = len(numbers) // 2
    median = numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2
    spread = (sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)) ** 0.5
    assert abs(output["mean"] - mean) < 1e-6 and output["median"] == median
    assert abs(output["stdev"] - spread) < 1e-6 * max(1, spread)
""",
)

TOOLS = {
    name.lower(): tool for name, tool in dict(globals()).items() if isinstance(tool, OrdinaryTool)
}


def build(name: str) -> Program:
    """Return the program of a tool, as create_skill makes it."""
    tool = TOOLS[name]
    draft = ProgramDraft(
        name=name,
        description=f"Does {name.replace('_', ' ')}",
        code=tool.code,
        payloads=tool.payloads,
        check=tool.check,
        needs=tool.needs,
        fixtures=read_fixture_files(tool.fixtures),
    )
    return build_program(draft, lambda code: {})
