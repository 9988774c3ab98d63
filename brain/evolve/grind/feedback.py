"""What an evolver is shown of a verifier's output: nothing that the tests expect, below `full`.

Values are not searched for. What is kept is a list: words of error reports, names of tests that
their own source defines, and words of the task's instruction; anything else becomes <VALUE>. So
it can still be seen which of these words stand in the output, how many lines and in which order,
and how many tests it says that passed.
"""

from __future__ import annotations

import builtins
import html
import re
from collections.abc import Collection, Iterator, Sequence
from string import punctuation
from typing import Literal, NamedTuple

from ...errors import printable_text
from ...secrets import mask_secrets

FeedbackLevel = Literal["none", "score", "tests", "masked", "full"]
_MAX_OUTPUT_CHARS = 64 << 10
_MAX_SHOWN_CHARS = 6_000
"""Characters of an output that are shown; of a longer one the beginning and the end."""
_MAX_LINE_CHARS = 1_000
_MAX_NAMES = 50
_VALUE, _PARAMS = "<VALUE>", "[<PARAMS>]"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")

_FAILURES = {  # in the order of SkillForge; the first line is the reason of the score
    "verifier_timeout": r"\A.*took more than",
    "reward_missing": r"\A.*left no reward",
    "reward_parse_error": r"\A.*(holds no numbers|cannot be read)",
    "assertion": r"assertion(failed)?error|comparisonfailure|^e? *assert\b|failed asserting"
    r"|assertion.{0,200}failed|\bexpect\(|^[^\w\n]*expected\b.{0,200}(:|got|but)|not equal",
    "module_missing": r"modulenotfounderror|no module named|cannot find module",
    "file_missing": r"filenotfounderror|no such file or directory|enoent\b",
    "test_fail": r"\bfail(ed|ures?|ing)?\b|^ *(not ok\b|[✕✗✘✖×] )",
    "runtime_exception": r"traceback|exception|error\b|panic|segmentation fault",
}
_LINES = [
    re.compile(pattern)
    for pattern in (
        r"(?P<name>[^\s:]+::.*?) (?P<status>PASSED|FAILED|ERROR)\b",  # pytest -v
        r"(?:\[gw\d+\] )?(?:\[ *\d+%\] )?(?P<status>PASSED|FAILED|ERROR) "
        r"(?P<name>[^\s:]+::[^\s\[]*(?:\[.*?\])?)(?= - |$)",  # its summary, and xdist
        r"(?P<method>\w+) \((?P<name>[\w.]+)\)(?P<more>.*?) \.\.\. (?P<status>ok|FAIL|ERROR)$",
        r"(?P<status>FAIL|ERROR): (?P<method>\w+) \((?P<name>[\w.]+)\)(?P<more>.*)",  # unittest
        r"--- (?P<status>PASS|FAIL): (?P<name>\S+) \(",  # go
        r"test (?P<name>.+?) \.\.\. (?P<status>ok|FAILED)$",  # cargo
        r"(?P<status>[✓✔√✕✗✘✖×●]|FAIL(?= +\S+ > ))\s+(?!\S+ \(\d+ tests?\b)"
        r"(?P<title>.+?)(?: \(?[\d.]+ ?m?s\)?)?$",  # jest, vitest, mocha, node, testdox
        r"(?P<status>\d+\)) (?!(?:Failure|Error):$)(?P<name>.+)$",  # mocha, rspec, phpunit
        r"(?P<status>ok|not ok) (?P<name>\d+.*)$",  # TAP, bats
        r"\[ +(?P<status>OK|FAILED) +\] (?P<name>[\w/]+\.[\w/]+)",  # googletest
        r"\d+/\d+ Test +#\d+: (?P<name>.+?) \.\.+ *(?P<status>Passed|\*\*\*\w+)",  # ctest
        r"(?P<status>Passed|Failed) (?P<name>\S.*?) \[[^\[\]]*\]$",  # dotnet
        r"\[ERROR\] +(?!Tests run)(?P<name>\S+) .*Time elapsed: .*<<< (?P<status>\w+)!",  # surefire
        r"(?P<name>[^\s#]+#.+?) = [\d.]+ s = (?P<status>[.FE])$",  # minitest -v
        r"(?P<name>\w+#\S.*?) \[[^\[\]]*\](?P<status>:)$",  # minitest, of a failure
        r"\[(?P<status>PASSED|FAILED|PASS|FAIL)\] +(?P<name>\S.*)$",  # scripts
    )
]
_PASSED = frozenset("passed pass ok ✓ ✔ √ .".split())
_TOTALS = re.compile(
    r"=* ?\d+ (?:failed|passed|errors?|skipped|x\w+|deselected|warnings?)\b.* in [\d.]+m?s|"
    r"test result: |Tests:? +\d|\d+ (?:passing|failing)\b|\d+ examples?, |\d+ \w+, \d+ assertions|"
    r"OK \(\d|(?:\[\w+\] )?Tests run: \d|(?:Failed|Passed)!  - |"
    r"Ran \d+ tests? in|FAILED \(|[#ℹ] (?:tests|pass|fail) \d|(?:Total tests|Passed|Failed): +\d+$"
)
_COUNT = re.compile(
    r"(?:(\d+) )?(pass|fail|error|skip|pending|ignored|total|test|run|example)[a-z]*"
    r"(?: run)?(?:[:= ] *(\d+)(?! *[a-z\d]))?"
)
_JSON_FIELD = re.compile(
    r"(?<!\\)\"(name|fullName|status|Test|Action)\" ?: ?\"((?:[^\"\\\n]|\\.)*+)\""
)
_DEFINED = re.compile(
    r"(?m)\b(?:def|class|func|fn|function|fun|module|mod|void|Task|sub)[ \t]{1,8}"
    r"(?:\([^)\n]{0,80}\) ?)?(?:self\.)?([A-Za-z_]\w*)(?= ?[(:{<]| extends|$)|"
    r"\b(?:TYPED_)?TEST(?:_[FP])?\((\w+), ?(\w+)|\badd_test\((?:NAME )?(\w+)|^(\w+) ?\(\) ?\{"
)

_QUOTED = re.compile(r"(?<![A-Za-z])[\"'`“‘„«‹].*?(?:[\"'`”’“»›](?![A-Za-z])|$)")
_TOKEN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?")
_OPERATORS = frozenset("== != < > <= >= =".split())
_RANKS = {
    (1, 0): """a an the of for with by from as and or on has have had should must cannot can't
    doesn't didn't isn't wasn't couldn't does did traceback most recent call last file files module
    modules test tests testing case cases suite session starts short summary captured stdout stderr
    fail failed fails failing failure failures passed passes passing error errors exception
    exceptions raised raises thrown caused during handling another occurred attribute object type
    argument arguments positional required unexpected keyword missing exist exists created read
    parsed match matches mismatch differ differs different difference compare compared value values
    column columns row rows key keys field fields number numbers list length size count string text
    output input result results content contents header index range between return returned returns
    exit exited code command process timed timeout killed collected collecting import syntax""",
    (2, 0): " ".join(name for name in vars(builtins) if name.endswith(("Error", "Exception")))
    + """ AssertionFailedError CalledProcessError ComparisonFailure IllegalArgumentException
    IllegalStateException IndexOutOfBoundsException IOException JSONDecodeError NoMethodError
    NullPointerException NullReferenceException RangeError RuntimeException TimeoutExpired""",
    (3, 1): "is are was were be to not than in at line found",
    (3, 2): """assert assertion expect expected expecting got actual received want wanted equal
    equals but""",
}
VOCABULARY = {
    form: rank
    for rank, words in _RANKS.items()
    for word in words.split()
    for form in (word, word.capitalize(), word.upper())
}
"""Words that are kept, none of which a test expects, with their rank and what is kept after one.

A line begins at 0, and a value takes it to 1: a word is kept if its rank is higher. So words of
reports stand before the first value, names of errors not where a value is compared.
"""


class Tests(NamedTuple):
    """What an output says of tests: which failed, as they are named there, and how many passed.

    The names have parameters: they are not to be shown. `total` is without skipped tests.
    """

    failed: tuple[str, ...]
    passed: int
    total: int


def classify(score: float | None, reason: str, output: str) -> str:
    """Return the failure class of a score and its reason; "" for a score of 1."""
    text = f"{reason}\n{output[-_MAX_OUTPUT_CHARS:]}"
    flags = re.IGNORECASE | re.MULTILINE
    found = (name for name, pattern in _FAILURES.items() if re.search(pattern, text, flags))
    return "" if score is not None and score >= 1 else next(found, "verifier_fail")


def read_tests(output: str) -> Tests:
    """Return what a verifier's output says of tests.

    Known are pytest, unittest, go, cargo, jest, vitest, mocha, TAP, bats, rspec, googletest, ctest,
    phpunit, dotnet, surefire, minitest, JUnit's XML, CTRF, and `[PASSED] name` of scripts.
    """
    text = _ANSI.sub("", output[-_MAX_OUTPUT_CHARS:])
    lines = [line.strip()[:_MAX_LINE_CHARS] for line in text.splitlines() if line.strip()]
    tests: dict[str, tuple[str, bool]] = {}
    for key, name, passed in (*_read_lines(lines), *_read_documents(text)):
        first, has_passed = tests.get(key, (name, True))
        tests[key] = first, has_passed and passed
    failed = tuple(name for name, passed in tests.values() if not passed)
    counts: dict[str, int] = {}
    for line in filter(_TOTALS.match, lines):
        for before, what, after in _COUNT.findall(line.partition(" in ")[0].lower()):
            if before or after:
                counts[what] = int((before or after)[:9])
    failures = counts.get("fail", 0) + counts.get("error", 0)
    total = counts.get("pass", 0) + failures
    for what in ("example", "run", "test", "total"):
        if what in counts:
            total = counts[what] - sum(counts.get(one, 0) for one in ("skip", "pending", "ignored"))
    if total <= len(tests):
        return Tests(failed, len(tests) - len(failed), len(tests))
    return Tests(failed, min(counts.get("pass", total), max(0, total - failures)), total)


def _read_lines(lines: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    for line in lines:
        found = next(filter(None, (pattern.match(line) for pattern in _LINES)), None)
        if found is None or re.search(r" # (?i:SKIP|TODO)", line):
            continue
        parts = found.groupdict()
        name, status = parts.get("name") or parts["title"], parts["status"]
        if "title" in parts:  # the suites before it are named in one place, not in another
            name = re.split(" [>›] ", name)[-1]
        if method := parts.get("method"):
            name = f"{name.removesuffix(f'.{method}')}.{method}{parts['more']}"
        # Mocha lists what failed a second time, under the same number and another name.
        is_numbered = status.endswith(")") and "::" not in name
        yield status if is_numbered else name, name, status.lower() in _PASSED


def _read_documents(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the tests of JUnit's XML, and of JSON by CTRF and go."""
    for piece in text.split("<testcase ")[1:]:
        head, _, inner = piece.partition(">")
        inner = "" if head.endswith("/") else inner.partition("</testcase>")[0]
        names = dict(re.findall(r"\b(classname|name)=\"([^\"]*)\"", head))
        name = html.unescape(".".join(filter(None, map(names.get, ("classname", "name")))))
        if name and "<skipped" not in inner:
            yield name, name, "<failure" not in inner and "<error" not in inner
    name = action = ""
    for key, value in _JSON_FIELD.findall(text):
        if key == "Action":
            action = value
        elif key in ("name", "fullName"):
            name = value
        elif key == "Test" and action in ("pass", "fail"):  # go names the action first
            yield value, value, action == "pass"
        elif key == "status" and name and value in ("passed", "failed"):
            if not name.endswith((".js", ".ts")):  # jest gives a file a status, too
                yield name, name, value == "passed"
            name = ""


def show_feedback(
    level: FeedbackLevel,
    score: float | None,
    reason: str,
    output: str,
    sources: Sequence[str] = (),
    public: str = "",
) -> str:
    """Return what an evolver is shown of one score, as lines of text.

    `sources` are the texts of the task's tests, `public` is its instruction. `full` shows what the
    tests expect; secrets are masked there, and control characters escaped. The output is quoted
    line by line with "> ", which no text can leave.
    """
    output = output[-_MAX_OUTPUT_CHARS:]
    tests = read_tests(output)
    count = f" ({tests.passed}/{tests.total} tests)" if tests.total else ""
    shown = [
        f"failure_class: {classify(score, reason, output) or 'passed'}",
        f"score: {'none' if score is None else f'{score:.3f}'}{count}",
    ]
    if level in ("none", "score"):
        return "\n".join(shown[: 1 if level == "none" else 2])
    source = "\n".join(sources)
    literals = {one or other for one, other in _LITERAL.findall(source)}  # may be expected labels
    words = {one for one in _TOKEN.findall(public) if not (one.isalnum() and one in literals)}
    found = _DEFINED.findall(_LITERAL.sub("''", source))
    defined = {name for names in found for name in names if name}
    named = {name[:_MAX_LINE_CHARS]: _show_name(name, defined) for name in tests.failed}
    names = dict.fromkeys(named[name] or mask_values(name, words, ()) for name in named)
    if names:
        shown.append(f"failed tests: {', '.join([*names][:_MAX_NAMES])}")
    text = f"{reason}\n{output}".strip()
    if level == "tests" or not text:
        return "\n".join(shown)
    if level == "masked":
        known = {part for name in names for part in name.partition("[")[0].split("::")}
        text = mask_values(text, words, known & defined)
    else:
        text = mask_secrets(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace")
    lines = (printable_text(line, _MAX_LINE_CHARS) for line in _ANSI.sub("", text).splitlines())
    text = "\n".join(f"> {line}".rstrip() for line in lines)
    if len(text) > _MAX_SHOWN_CHARS:
        third = _MAX_SHOWN_CHARS // 3
        text = "\n> […]\n".join((text[:third], text[-2 * third :].partition("\n")[2]))
    return "\n".join([*shown, "verifier output:", text])


def _show_name(name: str, known: Collection[str]) -> str:
    """Return the known parts of a name, from the first to one that is not; "" if none is."""
    parts: list[str] = []
    place = 0
    name = re.sub(r"^[^\s:\[]*\.\w+::", "", name)  # a file may be called as a test
    for found in re.finditer(r"\w+", name):
        if found[0] in known and (not parts or name[place : found.start()] in ("::", ".", "#")):
            parts.append(found[0])
            place = found.end()
    has_more = parts and name[place:].strip(" ():,;.'\"_")
    return "::".join(parts) + (_PARAMS if has_more else "")


def mask_values(text: str, public: Collection[str], names: Collection[str]) -> str:
    """Return a text in which all but listed words is <VALUE>; equal lines in a row are one.

    Kept are VOCABULARY and, before the first value of a line, parts of `names` of tests and the
    `public` words that a kept word follows: a label that the tests expect stands at the end.
    """
    lines: list[str] = []
    is_open = False  # a value goes on in the next line
    for line in (re.sub(r"^E?\s+", "", one) for one in _ANSI.sub("", text).splitlines()):
        is_open = is_open and bool(line) and not re.match("[=_-]{3}", line)
        is_value = is_open or (line[:1] in "+-<>?@" and not line.startswith("--- "))
        chunks = _QUOTED.sub(" \0 ", line).split()
        out = _mask_chunks(chunks, 2 if is_value else 0, public, names)
        ranks = [VOCABULARY.get(word.rstrip(":")) for word in out]
        is_open = is_open or ranks[-1:] == [(3, 2)]
        if all(word == _VALUE or rank == (3, 1) for word, rank in zip(out, ranks, strict=True)):
            out = [_VALUE] if out else []
        if out and lines[-1:] != [" ".join(out)]:
            lines.append(" ".join(out))
    return "\n".join(lines)


def _mask_chunks(
    chunks: list[str], state: int, public: Collection[str], names: Collection[str]
) -> list[str]:
    cores = [chunk.strip(punctuation) for chunk in chunks]
    follows = False
    stay = [follows := core in VOCABULARY or (core in public and follows) for core in cores[::-1]]
    out: list[str] = []
    for chunk, core, stays in zip(chunks, cores, reversed(stay), strict=True):
        last = out[-1] if out else ""
        shown = core.rpartition(".")[2]
        rank, then = VOCABULARY.get(shown, (0, 1))
        if not rank and core in public and stays:
            shown, rank, then = core, 1, 0
        elif not rank and (name := _show_name(core, names)):
            shown, rank, then = name, 1, int(name.endswith(_PARAMS))
        elif not rank and last == _VALUE and chunk in _OPERATORS:
            shown, rank, then = chunk, 3, 2
        elif not rank and out and last != _VALUE and chunk == "-":
            shown, rank, then = chunk, 2, 0
        if rank > state:
            out.append(f"{shown}:" if chunk[-1] == ":" else shown)
            state = max(state, then)
        elif core or state:  # at the beginning of a line punctuation is left out
            out += [_VALUE] if last != _VALUE else []
            state = max(state, 1)
    return out


_LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)'")
_PIECE = re.compile(r"[^\s\"'`,;()\[\]{}<>=|*]+")
_LIST = re.compile(r"[\[{]([^\[\]{}]*)[\]}]")
_NO_VALUE = re.compile(
    r"10{2,6}|1024|4096|3600|0\.0{0,2}1|[01]\.5|\d{0,2}(?:\.0)?|"  # round and small
    r"(?=.*[^\d.]).{0,3}|"
    r"[A-Za-z]+[-_]?\d{1,3}|.*(?:%\w|[{\\]).*"  # such as utf-8, int64 and %Y
)


def find_answers(
    text: str, outputs: Sequence[str], sources: Sequence[str], public: str
) -> list[str]:
    """Return the values in `text` that outputs of verifiers or sources of tests have, sorted.

    Values are numbers of three digits or with decimals, pieces of four characters with a digit,
    quoted texts with a digit or a capital letter, and lists of three words; neither case nor the
    punctuation of a list count. What `public` has, or the sources use as an identifier, is none.
    Not seen is what is computed, split, encoded, translated, rounded or sorted, a small or round
    number, a single word in lower case, and what a test reads from a file that is not given.
    """
    comma = re.compile(r"(?<=\d),(?=\d{3}\b)")
    hidden = comma.sub("", "\n".join((*outputs, *sources)))
    code = set(re.findall(r"[a-z_]\w*", _LITERAL.sub(" ", "\n".join(sources)).lower()))
    code.update(word.lower() for word in (*VOCABULARY, *vars(builtins)))
    values = {piece.strip(".:!?/-_%$€") for piece in _PIECE.findall(hidden)}
    values = {one for one in values if re.search(r"\d", one)}
    quoted = {" ".join((one or other).split()) for one, other in _LITERAL.findall(hidden)}
    values |= {one for one in quoted if one != one.lower() or re.search(r"\d", one)}
    quoting = (one for one in _LIST.findall(hidden) if re.search("[\"']", one))
    lists = {" ".join(re.findall(r"\w+", one)) for one in quoting}
    lists = {one for one in lists if one.count(" ") > 1}

    def stand_in(content: str) -> set[str]:
        plain = " ".join(comma.sub("", content).lower().split())
        words = " ".join(re.findall(r"\w+", plain))
        return {
            one
            for kind, place in ((values, plain), (lists, words))
            for one in kind
            if one.lower() in place
            and re.search(rf"(?<!\w)(?<!\d\.){re.escape(one.lower())}(?!\w|\.\d)", place)
        }

    found = stand_in(text) - stand_in(public)
    return sorted(one for one in found if not _NO_VALUE.fullmatch(one) and one.lower() not in code)
