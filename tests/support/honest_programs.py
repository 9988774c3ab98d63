"""Programs as agents write them, which the profile `generated` accepts: name, code, payload.

Each runs with its payload, exits 0 and prints something (a class returns something).
"""

from __future__ import annotations

from typing import Any

_CLASS = """
from src.skills.base import SkillBase
from src.skills.types import SkillDefinition, SkillParameter, SkillResult
"""

HONEST: list[tuple[str, str, dict[str, Any]]] = [
    (
        "word_count",
        "import sys, json\nprint(len(json.loads(sys.argv[1])['text'].split()))\n",
        {"text": "a b"},
    ),
    (
        "slugify",
        '''"""Make a slug."""
import json
import re
import sys
import unicodedata

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def slugify(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _SEPARATORS.sub("-", plain.lower()).strip("-")


def main() -> None:
    payload = json.loads(sys.argv[1])
    print(json.dumps({"slug": slugify(payload["text"])}))


if __name__ == "__main__":
    main()
''',
        {"text": "Ünder the Sea"},
    ),
    (
        "errors_are_reported",
        """import json, sys
try:
    payload = json.loads(sys.argv[1])
    print(10 / payload["by"])
except (KeyError, ZeroDivisionError) as e:
    print(f"{type(e).__name__}: {e}", file=sys.stderr)
    sys.exit(1)
""",
        {"by": 4},
    ),
    (
        "statistics_of_numbers",
        """import json, math, statistics, sys
numbers = json.loads(sys.argv[1]).get("numbers", [])
if not numbers:
    raise SystemExit("give numbers")
print(json.dumps({
    "mean": statistics.mean(numbers), "median": statistics.median(numbers),
    "stdev": statistics.pstdev(numbers), "root": math.sqrt(abs(sum(numbers))),
}, indent=2))
""",
        {"numbers": [1, 2, 4]},
    ),
    (
        "days_between",
        """import json, sys
from datetime import date, datetime, timedelta, timezone

args = json.loads(sys.argv[1])
start, end = date.fromisoformat(args["start"]), date.fromisoformat(args["end"])
weekdays = sum(1 for n in range((end - start).days) if (start + timedelta(days=n)).weekday() < 5)
stamp = datetime(2024, 1, 1, tzinfo=timezone.utc).isoformat()
print(json.dumps({"days": (end - start).days, "weekdays": weekdays, "epoch": stamp}))
""",
        {"start": "2024-01-01", "end": "2024-02-01"},
    ),
    (
        "group_rows",
        """import json, sys
from collections import Counter, defaultdict
from itertools import groupby, islice
from operator import itemgetter

rows = json.loads(sys.argv[1])["rows"]
groups = defaultdict(list)
for row in rows:
    groups[row["kind"]].append(row["n"])
top = Counter({kind: sum(values) for kind, values in groups.items()}).most_common(3)
ordered = [key for key, _ in groupby(sorted(rows, key=itemgetter("kind")), key=itemgetter("kind"))]
print(json.dumps({"top": top, "kinds": list(islice(ordered, 5))}))
""",
        {"rows": [{"kind": "a", "n": 1}, {"kind": "b", "n": 3}]},
    ),
    (
        "cached_fibonacci",
        """import json, sys
from functools import lru_cache, reduce

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

n = json.loads(sys.argv[1])["n"]
print(fib(n), reduce(lambda a, b: a * b, range(1, n + 1), 1), fib.cache_info().hits)
""",
        {"n": 7},
    ),
    (
        "wrap_text",
        """import json, string, sys, textwrap
text = json.loads(sys.argv[1])["text"]
table = str.maketrans("", "", string.punctuation)
print(textwrap.fill(textwrap.dedent(text), width=30))
print(text.translate(table).title())
""",
        {"text": "one, two. three"},
    ),
    (
        "digest_text",
        """import base64, hashlib, hmac, json, sys
data = json.loads(sys.argv[1])["text"].encode("utf-8")
digest = hashlib.sha256(data)
digest.update(b"x")
mac = hmac.new(b"key", data, hashlib.sha256).hexdigest()
print(digest.hexdigest(), base64.b64encode(data).decode("ascii"), mac[:8])
""",
        {"text": "abc"},
    ),
    (
        "csv_to_json",
        """import csv, io, json, sys

def convert(text):
    reader = csv.DictReader(io.StringIO(text))
    return [dict(row) for row in reader]

def to_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0].keys()))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()

rows = convert(json.loads(sys.argv[1])["csv"])
print(json.dumps({"rows": rows, "csv": to_csv(rows)}))
""",
        {"csv": "a,b\n1,2\n"},
    ),
    (
        "data_class",
        """import json, sys
from dataclasses import asdict, dataclass, field
from typing import Optional

@dataclass(order=True)
class Task:
    title: str
    minutes: int = 0
    tags: list[str] = field(default_factory=list)
    parent: Optional[str] = None

    def __post_init__(self) -> None:
        self.title = self.title.strip()

    @property
    def hours(self) -> float:
        return self.minutes / 60

    def __str__(self) -> str:
        return f"{self.title} ({self.hours:.1f} h)"

tasks = [Task(**row) for row in json.loads(sys.argv[1])["tasks"]]
print(*map(str, tasks), sep="\\n")
print(json.dumps([asdict(t) for t in tasks]))
""",
        {"tasks": [{"title": " a ", "minutes": 90}]},
    ),
    (
        "private_members",
        """import json, sys

class Parser:
    def __init__(self, text):
        self._text = text
        self._position = 0

    def _peek(self):
        return self._text[self._position] if self._position < len(self._text) else ""

    def number(self):
        digits = ""
        while self._peek().isdigit():
            digits += self._peek()
            self._position += 1
        return int(digits or 0)

class Twice(Parser):
    def __init__(self, text):
        super().__init__(text)
        self.factor = 2

    def number(self):
        return self.factor * super().number()

print(Twice(json.loads(sys.argv[1])["text"]).number())
""",
        {"text": "21x"},
    ),
    (
        "roman_numerals",
        """import json, sys
VALUES = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
          (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
n, out = int(json.loads(sys.argv[1])["n"]), []
for value, letters in VALUES:
    count, n = divmod(n, value)
    out.append(letters * count)
print("".join(out))
""",
        {"n": 1987},
    ),
    (
        "match_statement",
        """import json, sys
def area(shape):
    match shape:
        case {"kind": "circle", "r": r}:
            return 3.14 * r ** 2
        case {"kind": "box", "sides": [a, b, *_]}:
            return a * b
        case _:
            raise ValueError(f"unknown shape: {shape!r}")
print(area(json.loads(sys.argv[1])["shape"]))
""",
        {"shape": {"kind": "box", "sides": [2, 3]}},
    ),
    (
        "decimal_money",
        """import json, sys
from decimal import Decimal, ROUND_HALF_UP, getcontext
from fractions import Fraction
getcontext().prec = 30
args = json.loads(sys.argv[1])
net = Decimal(str(args["net"]))
gross = (net * (1 + Decimal(args["rate"]) / 100)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
print(f"{gross:,}", Fraction(1, 3).limit_denominator(10))
""",
        {"net": 10.5, "rate": 19},
    ),
    (
        "parse_urls",
        """import json, sys
from urllib.parse import parse_qs, urlparse, urlencode, quote
parts = urlparse(json.loads(sys.argv[1])["url"])
query = {k: v[0] for k, v in parse_qs(parts.query).items()}
print(json.dumps({"host": parts.hostname, "port": parts.port, "path": parts.path, "query": query,
                  "again": urlencode(query), "quoted": quote("a b")}))
""",
        {"url": "https://example.org:8080/a?x=1"},
    ),
    (
        "log_levels",
        r"""import json, re, sys
LINE = re.compile(r"^(?P<time>\S+) \[(?P<level>[A-Z]+)\] (?P<text>.*)$", re.MULTILINE)
found = {}
for match in LINE.finditer(json.loads(sys.argv[1])["log"]):
    found.setdefault(match.group("level"), []).append(match["text"])
    assert match.start() >= 0 and match.groupdict()
print(json.dumps(found, sort_keys=True))
""",
        {"log": "10:00 [INFO] up\n10:01 [WARN] slow"},
    ),
    (
        "named_tuples",
        """import json, sys
from collections import namedtuple, deque, OrderedDict
Point = namedtuple("Point", ["x", "y"])
points = [Point(*p) for p in json.loads(sys.argv[1])["points"]]
queue = deque(points, maxlen=5)
first = queue.popleft()
print(first.x + first.y, first._replace(x=0), first._asdict(), OrderedDict(a=1))
""",
        {"points": [[1, 2], [3, 4]]},
    ),
    (
        "shortest_path",
        """import heapq, json, sys
payload = json.loads(sys.argv[1])
graph, start, goal = payload["graph"], payload["start"], payload["goal"]
heap, seen = [(0, start, [start])], set()
while heap:
    cost, node, path = heapq.heappop(heap)
    if node == goal:
        print(json.dumps({"cost": cost, "path": path}))
        break
    if node in seen:
        continue
    seen.add(node)
    for other, weight in graph.get(node, {}).items():
        heapq.heappush(heap, (cost + weight, other, [*path, other]))
else:
    sys.exit("there is no path")
""",
        {"graph": {"a": {"b": 1}, "b": {"c": 2}}, "start": "a", "goal": "c"},
    ),
    (
        "format_constant",
        """import json, sys
TEMPLATE = "{name:>10} | {total:.2f}"
p = json.loads(sys.argv[1])
print(TEMPLATE.format(name=p["name"], total=p["total"]))
print("{0}-{1}".format(*p["name"][:2]), "%s" % p["name"], f"{p['total']:{8}.1f}")
""",
        {"name": "Ada", "total": 3.14159},
    ),
    (
        "generators",
        """import json, sys
from typing import Iterator

def chunks(items: list, size: int) -> Iterator[list]:
    for i in range(0, len(items), size):
        yield items[i : i + size]

def flat(nested):
    for item in nested:
        if isinstance(item, list):
            yield from flat(item)
        else:
            yield item

p = json.loads(sys.argv[1])
print([*chunks(list(flat(p["items"])), p.get("size", 2))])
""",
        {"items": [1, [2, [3]], 4]},
    ),
    (
        "enumeration",
        """import json, sys
from enum import Enum

class Level(Enum):
    LOW = 1
    HIGH = 2

    @classmethod
    def of(cls, n):
        return cls.HIGH if n > 5 else cls.LOW

level = Level.of(json.loads(sys.argv[1])["n"])
print(level.name, level.value)
""",
        {"n": 9},
    ),
    (
        "optional_field_by_hasattr",
        """import json, sys
value = json.loads(sys.argv[1]).get("value")
text = value.strip() if hasattr(value, "strip") else str(value)
upper = getattr(text, "upper")
print(upper())
""",
        {"value": " a "},
    ),
    (
        "stdin_and_write",
        """import json
import sys


def run(payload):
    sys.stdout.write(json.dumps({"n": len(payload)}) + "\\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read())))
""",
        {"a": 1},
    ),
    (
        "context_manager",
        """import json, sys, time
from contextlib import contextmanager, suppress

@contextmanager
def section(title, lines):
    lines.append(f"<{title}>")
    try:
        yield lines
    finally:
        lines.append(f"</{title}>")

lines = []
with section(json.loads(sys.argv[1])["title"], lines) as inner:
    with suppress(ValueError):
        inner.append(str(int("x")))
print("".join(lines), time.strftime("%Y", time.gmtime(0)))
""",
        {"title": "h1"},
    ),
    (
        "diff_texts",
        """import difflib, json, sys
p = json.loads(sys.argv[1])
ratio = difflib.SequenceMatcher(None, p["a"], p["b"]).ratio()
print(round(ratio, 3), *difflib.unified_diff(p["a"].split(), p["b"].split(), lineterm=""))
""",
        {"a": "one two", "b": "one three"},
    ),
    (
        "skill_class",
        f"""{_CLASS}
class GeneratedSkill(SkillBase):
    name = "greet"

    def definition(self) -> SkillDefinition:
        return SkillDefinition(
            name=self.name, description="Greets", category="generated",
            params=[SkillParameter(name="who", type="string", required=True)],
            capability_level="safe", timeout_seconds=10.0,
        )

    async def execute(self, **kwargs) -> SkillResult:
        try:
            return SkillResult(skill_name=self.name, success=True, output="Hello " + kwargs["who"])
        except Exception as e:
            return SkillResult(skill_name=self.name, success=False, output="", error=str(e))
""",
        {"who": "Ada"},
    ),
    (
        "async_class",
        f"""import asyncio
{_CLASS}
LIMIT = 4

class Gather(SkillBase):
    def definition(self):
        return SkillDefinition(name="gather", description="Squares",
                               parameters=[SkillParameter("numbers", "integer")])

    async def _square(self, n: int) -> int:
        await asyncio.sleep(0)
        return n * n

    async def execute(self, numbers: int, **_: object) -> SkillResult:
        squares = await asyncio.gather(*(self._square(n) for n in range(min(numbers, LIMIT))))
        return SkillResult(success=True, output={{"squares": squares}})
""",
        {"numbers": 3},
    ),
    (
        "sync_class",
        """import re
from skillapi import SkillBase, SkillDefinition, SkillParam, SkillResult

EMAIL = re.compile(r"[\\w.]+@[\\w.]+")

class FindEmails(SkillBase):
    name = "find_emails"

    def definition(self):
        return SkillDefinition(self.name, "Finds e-mail addresses",
                               [SkillParam("text", "string", "The text")])

    def execute(self, text):
        found = EMAIL.findall(text)
        if not found:
            return SkillResult(self.name, False, error="there is none")
        return SkillResult(self.name, True, found)
""",
        {"text": "a@b.org, c@d.org"},
    ),
    (
        "class_with_helpers",
        """from __future__ import annotations
import json
import skillapi

def normalise(text: str) -> str:
    return " ".join(text.split()).lower()

class Skill(skillapi.SkillBase):
    def definition(self):
        return skillapi.SkillDefinition("normalise", params=[skillapi.SkillParam("text")])

    async def execute(self, text: str):
        return skillapi.SkillResult(output=json.dumps(normalise(text)))
""",
        {"text": " A  b"},
    ),
    (
        "sets_and_bits",
        """import json, sys
p = json.loads(sys.argv[1])
a, b = set(p["a"]), frozenset(p["b"])
total = 0
for i, n in enumerate(sorted(a | b)):
    total ^= n << i
print(sorted(a & b), sorted(a ^ b), total, bin(total), hex(total), bool(a.issubset(b)))
""",
        {"a": [1, 2], "b": [2, 3]},
    ),
    (
        "own_exception",
        """import json, sys

class BadInput(ValueError):
    def __init__(self, field, reason):
        super().__init__(f"{field}: {reason}")
        self.field = field

def check(payload):
    if payload.get("age", 0) < 0:
        raise BadInput("age", "must not be negative")
    return payload["age"]

try:
    print(check(json.loads(sys.argv[1])))
except BadInput as error:
    print(error.field, error.args, file=sys.stderr)
    raise SystemExit(2) from error
""",
        {"age": 3},
    ),
    (
        "matrix_product",
        """import json, sys
def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
if (p := json.loads(sys.argv[1])).get("a"):
    print(json.dumps(product(p["a"], p["b"])))
""",
        {"a": [[1, 2]], "b": [[3], [4]]},
    ),
]
"""At least 30; of both shapes."""
