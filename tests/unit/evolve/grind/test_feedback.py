"""What an evolver sees of a verifier's output: classes, names of tests, and no value."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.evolve.grind.feedback import (
    VOCABULARY,
    classify,
    find_answers,
    mask_values,
    read_tests,
    show_feedback,
)
from tests.support.cases import read_texts

LEVELS = ("none", "score", "tests", "masked")

# Framework, output, failed tests, passed, total.
OUTPUTS = {
    "pytest": (
        "..F\n=== short test summary info ===\n"
        "FAILED tests/test_a.py::TestX::test_b[1-x - y] - AssertionError: assert [1] == [2]\n"
        "ERROR tests/test_a.py::test_c\n=== 1 failed, 3 passed, 1 skipped, 1 error in 61.2s ===\n",
        ["tests/test_a.py::TestX::test_b[1-x - y]", "tests/test_a.py::test_c"],
        (3, 5),
    ),
    "pytest -v": (
        "tests/test_a.py::test_b[x y] PASSED   [ 50%]\ntests/test_a.py::test_c FAILED   [100%]\n"
        "FAILED tests/test_a.py::test_c - KeyError: 'x'\n1 failed, 1 passed in 0.12s\n",
        ["tests/test_a.py::test_c"],
        (1, 2),
    ),
    "xdist": (
        "[gw0] [ 50%] PASSED test_a.py::test_b \n[gw1] [100%] FAILED test_a.py::test_c\n",
        ["test_a.py::test_c"],
        (1, 2),
    ),
    "unittest": (
        "..F\n=====\nFAIL: test_b (m.TestX.test_b) (i=3)\n-----\nAssertionError: 1 != 2\n"
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n",
        ["m.TestX.test_b (i=3)"],
        (1, 2),
    ),
    "unittest -v, old": (
        "test_a (m.TestX) ... ok\ntest_b (m.TestX) ... FAIL\nFAIL: test_b (m.TestX)\n"
        "Ran 2 tests in 0.001s\n",
        ["m.TestX.test_b"],
        (1, 2),
    ),
    "go": (
        "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x=1 (0.00s)\n"
        "        a_test.go:7: got 1, want 2\n--- PASS: TestB (0.00s)\nFAIL\n",
        ["TestA", "TestA/x=1"],
        (1, 3),
    ),
    "go -json": (
        '{"Action":"run","Package":"p","Test":"TestA"}\n'
        '{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA\\n"}\n'
        '{"Time":"T","Action":"fail","Package":"p","Test":"TestA","Elapsed":0}\n'
        '{"Action":"pass","Package":"p","Test":"TestB"}\n{"Action":"fail","Package":"p"}\n',
        ["TestA"],
        (1, 2),
    ),
    "cargo": (
        "test tests::adds ... ok\ntest tests::grows - should panic ... FAILED\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; finished in 0.00s\n",
        ["tests::grows - should panic"],
        (1, 2),
    ),
    "jest": (
        " FAIL  ./a.test.js\n  Sums\n    ✓ adds (3 ms)\n    ✕ grows 5 times\n\n"
        "  ● Sums › grows 5 times\n\nTests:       1 failed, 2 passed, 3 total\n",
        ["grows 5 times"],
        (2, 3),
    ),
    "vitest": (
        " ❯ test/a.test.ts (2 tests | 1 failed) 5ms\n   × test/a.test.ts > sums > grows 3ms\n"
        " ✓ test/b.test.ts (3 tests) 4ms\n FAIL  test/a.test.ts > sums > grows\n"
        "      Tests  1 failed | 4 passed (5)\n",
        ["grows"],
        (4, 5),
    ),
    "mocha": (
        "  sums\n    ✔ adds\n    1) grows\n\n  1 passing (5ms)\n  1 failing\n\n"
        "  1) sums\n       grows:\n      AssertionError: 1 == 2\n",
        ["grows"],
        (1, 2),
    ),
    "TAP": (
        "1..4\nok 1 - adds\nnot ok 2 - grows\nok 3 - later # SKIP no disk\nnot ok 4 - x # TODO y\n",
        ["2 - grows"],
        (1, 2),
    ),
    "bats": (
        " ✓ adds\n ✗ grows\n   (in test file a.bats, line 7)\n\n2 tests, 1 failure\n",
        ["grows"],
        (1, 2),
    ),
    "JUnit XML": (
        '<testsuite tests="4"><testcase classname="m.TestX" name="test_a[&lt;1&gt;]" time="0.1"/>'
        '<testcase classname="m.TestX" name="test_b"><failure message="1 != 2">t</failure>'
        '</testcase><testcase name="test_c"><error/></testcase>'
        '<testcase name="test_d"><skipped/></testcase></testsuite>',
        ["m.TestX.test_b", "test_c"],
        (1, 3),
    ),
    "CTRF": (
        '{"results": {"tool": {"name": "pytest"}, "tests": [\n  {"name": "a.py::test_a",'
        ' "status": "passed", "duration": 1},\n  {"name": "a.py::test_b[\\"x\\"]", "duration": 2,'
        ' "status": "failed", "message": "{\\"name\\": 1}"}]}}',
        ['a.py::test_b[\\"x\\"]'],
        (1, 2),
    ),
    "jest --json": (
        '{"name":"toBe","fullName":"sums grows","status":"failed","title":"grows"},'
        '{"fullName":"sums adds","status":"passed"}],"name":"/a.test.js","status":"failed"}',
        ["sums grows"],
        (1, 2),
    ),
    "rspec": (
        "Failures:\n\n  1) Sums grows\n     Failure/Error: expect(x).to eq 4\n\n"
        "4 examples, 1 failure, 1 pending\n\nrspec ./a_spec.rb:4 # Sums grows\n",
        ["Sums grows"],
        (2, 3),
    ),
    "googletest": (
        "[ RUN      ] Sums.Adds\n[       OK ] Sums.Adds (0 ms)\n"
        "[  FAILED  ] Sums.Grows (0 ms)\n[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n"
        "[  FAILED  ] Sums.Grows\n",
        ["Sums.Grows"],
        (1, 2),
    ),
    "ctest": (
        "1/2 Test #1: adds .............   Passed    0.00 sec\n"
        "2/2 Test #2: grows ............***Failed    0.01 sec\n50% tests passed, 1 tests failed"
        " out of 2\n",
        ["grows"],
        (1, 2),
    ),
    "phpunit": (
        'There was 1 error:\n\n1) Tests\\SumTest::testA with data set "x" (1)\n\n'
        "There was 1 failure:\n\n1) Tests\\SumTest::testB\n\n"
        "Tests: 4, Assertions: 3, Errors: 1, Failures: 1.\n",
        ['Tests\\SumTest::testA with data set "x" (1)', "Tests\\SumTest::testB"],
        (2, 4),
    ),
    "dotnet": (
        "  Passed N.SumTest.Adds [2 ms]\n  Failed N.SumTest.Grows(x: 1) [< 1 ms]\n"
        "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 15 ms\n",
        ["N.SumTest.Grows(x: 1)"],
        (2, 3),
    ),
    "surefire": (
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE!"
        " -- in c.SumTest\n[ERROR] c.SumTest.testB -- Time elapsed: 0.01 s <<< FAILURE!\n"
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n",
        ["c.SumTest.testB"],
        (2, 3),
    ),
    "minitest": (
        "SumTest#test_a = 0.00 s = .\nSumTest#test_b = 0.01 s = F\n\n  1) Failure:\n"
        "SumTest#test_b [a.rb:4]:\nExpected: 1\n\n2 runs, 2 assertions, 1 failures, 0 errors\n",
        ["SumTest#test_b"],
        (1, 2),
    ),
    "a script": ("[PASSED] adds\n\x1b[31m[FAILED]\x1b[0m grows: 3\n", ["grows: 3"], (1, 2)),
    "totals alone": ("Passed: 7\nFailed: 2\n", [], (7, 9)),
    "nothing": ("Reading package lists...\n", [], (0, 0)),
}


@pytest.mark.parametrize("framework", OUTPUTS)
def test_tests_are_read(framework):
    output, failed, counts = OUTPUTS[framework]
    tests = read_tests(output)
    assert (list(tests.failed), (tests.passed, tests.total)) == (failed, counts)


@pytest.mark.parametrize(
    ("reason", "output", "wanted"),
    [
        ("the verifier took more than 60 s", "AssertionError", "verifier_timeout"),
        ("the verifier left no reward", "AssertionError", "reward_missing"),
        ("reward.txt holds no numbers from 0 to 1: x", "", "reward_parse_error"),
        ("", "E       assert 1 == 2\nNo module named 'x'", "assertion"),
        ("", "thread 'x' panicked: assertion `left == right` failed", "assertion"),
        ("", "    expect(received).toBe(expected)", "assertion"),
        ("", "  Expected: 3\n  Received: 4", "assertion"),
        ("", "ModuleNotFoundError: No module named 'x'\nFAILED", "module_missing"),
        ("", "Error: Cannot find module 'x'", "module_missing"),
        ("", "cat: x: No such file or directory\n1 failed", "file_missing"),
        ("", "--- FAIL: TestA (0.00s)\nerror: timeout", "test_fail"),
        ("", "not ok 1 - x", "test_fail"),
        ("", "Traceback (most recent call last):", "runtime_exception"),
        ("the verifier ended early: memory", "", "verifier_fail"),
    ],
)
def test_failures_are_classified_in_the_order_of_the_original(reason, output, wanted):
    assert classify(0.0, reason, output) == wanted
    assert classify(1.0, reason, output) == ""


SOURCES = [
    "# The class Hamburg, def test_hamburg!\nclass TestCity:\n"
    "    @parametrize('a', ['def otter():'])\n    def test_growth(self, name): ...\n",
    "func TestGrowth(t *testing.T) {}\nfunc (s *Suite) TestSum() {}\n",
    "TEST_F(Sums, Grows) {}\nadd_test(NAME growth_check COMMAND x)\n",
]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tests/test_a.py::TestCity::test_growth[Hamburg-3]", "TestCity::test_growth[<PARAMS>]"),
        ("tests/Hamburg.py::test_growth", "test_growth"),
        ("tests/test_growth.py::TestCity::test_growth", "TestCity::test_growth"),
        ("a.py::TestCity::test_growth[TestCity]", "TestCity::test_growth[<PARAMS>]"),
        ("a.py::TestCity::test_hamburg", "TestCity[<PARAMS>]"),
        ("a.py::test_hamburg", "<VALUE>"),
        ("a.py::otter[Hamburg]", "<VALUE>"),
    ],
)
def test_names_are_shown_as_far_as_the_source_defines_them(name, shown):
    text = show_feedback("tests", 0, "", f"FAILED {name} - x", SOURCES)
    assert text.endswith(f"\nfailed tests: {shown}")


def test_names_of_subtests_titles_and_fixtures_are_values():
    output = (
        "--- FAIL: TestGrowth/Hamburg (0.00s)\n[  FAILED  ] Sums.Grows/3, where GetParam() = 7\n"
        "  ✕ returns the sum for Hamburg\n--- FAIL: TestSum (0.00s)\n"
        "1/1 Test #1: growth_check ......***Failed 0.1 sec\n"
    )
    assert show_feedback("tests", 0, "", output, SOURCES).splitlines()[-1] == (
        "failed tests: TestGrowth[<PARAMS>], Sums::Grows[<PARAMS>], returns the <VALUE>, TestSum,"
        " growth_check"
    )


FAILED = """\
tests/test_a.py::TestCity::test_growth[Hamburg-3] FAILED                    [100%]
___________________ TestCity.test_growth[Hamburg-3] ___________________
name = 'Hamburg'
>       assert growth(name) == 42
E       AssertionError: assert 41 == 42
E         - Hamburg
tests/test_a.py:7: AssertionError
Traceback (most recent call last):
  File "/tests/test_a.py", line 12, in test_growth
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
KeyError: 'Hamburg'
AssertionError: the report.csv has a different number of rows: expected 3, got 4
AssertionError: Expected: INFO
AssertionError: level is CRITICAL
WARNING
=== short test summary info ===
FAILED tests/test_a.py::TestCity::test_growth[Hamburg-3] - AssertionError: assert 41 == 42
"""
PUBLIC = "Write the report.csv with a level: INFO, WARNING or CRITICAL."


def test_each_level_shows_more():
    seen = [show_feedback(level, 0.5, "", FAILED, SOURCES, PUBLIC) for level in (*LEVELS, "full")]
    none, score, tests, masked, full = seen
    assert none == "failure_class: assertion"
    assert score == f"{none}\nscore: 0.500 (0/1 tests)"
    assert tests == f"{score}\nfailed tests: TestCity::test_growth[<PARAMS>]"
    assert masked == f"{tests}\nverifier output:\n" + "\n".join(
        f"> {line}"
        for line in """\
TestCity::test_growth[<PARAMS>] <VALUE>
<VALUE> = <VALUE>
<VALUE> assert <VALUE> == <VALUE>
AssertionError: assert <VALUE> == <VALUE>
<VALUE>
<VALUE> AssertionError
Traceback most recent call last:
File <VALUE> line <VALUE> in <VALUE>
JSONDecodeError: Expecting <VALUE> line <VALUE>
KeyError: <VALUE>
AssertionError: the report.csv has a different number of rows: expected <VALUE> got <VALUE>
AssertionError: Expected: <VALUE>
AssertionError: level is <VALUE>
<VALUE>
short test summary <VALUE>
FAILED TestCity::test_growth[<PARAMS>] - AssertionError: assert <VALUE> == <VALUE>""".splitlines()
    )
    assert full == f"{tests}\nverifier output:\n" + "\n".join(
        f"> {line}" for line in FAILED.splitlines()
    )


def test_a_word_of_the_instruction_that_the_tests_quote_is_a_value():
    output = "AssertionError: CRITICAL is not in the report.csv\nthe report.csv has a level column"
    for source, shown in (("", "CRITICAL is"), ("x = 'CRITICAL'", "<VALUE> is")):
        text = show_feedback("masked", 0, "", output, [source, "open('report.csv')"], PUBLIC)
        assert text.endswith(
            f"> AssertionError: {shown} not in <VALUE>\n> the report.csv has a level column"
        )


def test_labels_of_the_instruction_are_values_where_the_tests_expect_them():
    lines = ["expected INFO got WARNING", "Expected:", "INFO", "", "+ CRITICAL", "INFO != WARNING"]
    shown = mask_values("\n".join(lines), PUBLIC.replace(",", "").split(), ())
    assert not re.search("INFO|WARNING|CRITICAL", shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("KeyError: 'file'", "KeyError: <VALUE>"),
        ("the file `test` isn't “read” from", "the file <VALUE>"),
        ("Expected:\nerror\nfile\n\nfile error", "Expected:\n<VALUE>\nfile error"),
        ("Expected:\n=== FAILURES ===", "Expected:\nFAILURES"),
        ("--- FAIL: TestSum (0.00s)\n-- FAIL", "FAIL: TestSum <VALUE>\n<VALUE>"),
        ("expected failed got KeyError", "expected <VALUE> got <VALUE>"),
        ("Ｅrror еrror eRRor error", "<VALUE>"),
        ("x\nis\ny is x\n\x1b[31mer\x1b[0mror", "<VALUE>\nerror"),
    ],
)
def test_words_of_reports_are_kept_before_values_alone(text, shown):
    assert mask_values(text, (), {"TestSum"}) == shown


def test_a_full_output_cannot_leave_its_quotation():
    key = "AKIA" + "Q3EGRZ7LV2XWPM5T"
    output = f"a\r# Task\u2028```\n> x\x1b[2J\x07\u202eb\n{key}\n" + "y\n" * 4500 + "\nend"
    shown = show_feedback("full", 0, "", output).partition("verifier output:\n")[2]
    assert all(line[:1] == ">" for line in shown.split("\n"))
    assert len(shown.splitlines()) == len(shown.split("\n")) > 900 and "> # Task" in shown
    assert 5900 < len(shown) < 6100 and shown.endswith("\n> end")
    assert "\n> > x\\x07\\u202eb\n" in shown and key not in shown


ALWAYS_SHOWN = " ".join([*VOCABULARY, "failure_class", *(PUBLIC.split())]).casefold()
"""Among what four letters of a hash, such as those in Traceback, are no leak."""
WORDS = (
    "Hamburg violet Otter Dubrovnik März Москва 東京都庁舎 crimson Quixote yes42 Null True".split()
)
TEMPLATES = [text.rstrip("\n") for text in read_texts("verifier_outputs.txt").values()]
"""Outputs in which a test expects {a}, the solver gave {b}, and names and paths have {p}."""


def make_secret(random):
    """Return what a test may expect: a number, word, date, hash, list, JSON or several lines."""
    word, number = random.choice(WORDS), str(random.randrange(10**6, 10**9))
    return random.choice(
        [
            word,
            word.swapcase(),
            f"{word}{number}",
            number,
            f"{number[:3]}.{number[3:]}",
            f"-{number}e5",
            f"20{number[:2]}-0{number[2]}-1{number[3]}T{number[4:6]}:00",
            f"{random.getrandbits(128):032x}",
            f"{word}/{number}.csv",
            f"{word} {random.choice(WORDS)} {number}",
            f'{{"{word}": [{number}, "{word}"]}}',
            f"{word}\n{number}\n{word}",
            f"x@{word}.org",
            " ".join(word),
            word.encode().hex(),
            "\u200b".join(word),
            "\x1b[31m".join((word[:2], word[2:])),
        ]
    )


def make_outputs(seed, count):
    """Yield outputs of verifiers with the secrets in them, of each template in order."""
    random = Random(seed)
    for number in range(count):
        lines, secrets = [], []
        for template in (TEMPLATES[number % len(TEMPLATES)], random.choice(TEMPLATES)):
            a, b = make_secret(random), make_secret(random)
            p = re.sub(r"\s", "_", make_secret(random))
            secrets += [a, b, p]
            lines += (
                template.replace("|-", "¦")
                .replace("|", "\n")
                .replace("¦", "|-")
                .format(a=a, b=b, p=p)
                .split("\n")
            )
        if random.random() < 0.3:
            lines = [random.choice(["E   ", "\t", "> ", "\x1b[1m", ""]) + line for line in lines]
        yield random.choice(["\n", "\r\n"]).join(lines), secrets


def parts_of(secret):
    """Return what must not be seen of a secret: itself, and each four characters of its words."""
    plain = secret.replace("\x1b[31m", "").replace("\u200b", "").casefold()
    words = re.findall(r"\w{4,}", plain)
    parts = {word[n : n + 4] for word in words for n in range(len(word) - 3)}
    return {secret.casefold(), *(part for part in parts if part not in ALWAYS_SHOWN)}


def leaks_in(shown, secrets):
    folded = shown.casefold()
    return [part for secret in secrets for part in parts_of(secret) if part in folded]


def check_no_leak(seed, count):
    for output, secrets in make_outputs(seed, count):
        sources = [*SOURCES, *(f"def test_it():\n    assert f() == {one!r}" for one in secrets)]
        reason = f"reward.txt holds no numbers from 0 to 1: {secrets[0]}"
        for level in LEVELS:
            shown = show_feedback(level, 0.0, reason, output, sources, PUBLIC)
            assert not leaks_in(shown, secrets), (level, output, shown)


def test_no_level_below_full_shows_a_secret():
    check_no_leak(seed=1, count=len(TEMPLATES) * 7)


def test_no_level_below_full_shows_a_secret_in_many_outputs():
    for seed in range(2, 22):
        check_no_leak(seed, 1_000)


def test_masks_of_numbers_alone_show_secrets():
    def mask(text):
        text = re.sub(r"(?i)\b(expected|got)\s+[-+\d.e]+", r"\1 <VALUE>", text)
        text = re.sub(r"(?i)assert\s+[-+\d.e]+\s*([=!<>]+)\s*[-+\d.e]+", r"assert \1", text)
        return re.sub(r"\[[^\]]*\d[^\]]*\]", "[<PARAMS>]", text)

    outputs = list(make_outputs(1, 210))
    assert sum(bool(leaks_in(mask(output), secrets)) for output, secrets in outputs) > 200
    assert all(leaks_in(output, secrets) for output, secrets in outputs)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*VOCABULARY]),
            st.sampled_from(
                ["test_growth", "test_growth[x", "a.py::test_growth", "==", "-", '"', "'"]
            ),
            st.sampled_from(["report.csv", "INFO", "\n", "E  ", "expected:", "\x1b[1m", "Ｅrror"]),
            st.text(max_size=8),
        )
    ).map(" ".join)
)
def test_a_masked_text_has_public_words_those_of_reports_and_names_alone(text):
    public = {"report.csv", "INFO"}
    allowed = {*VOCABULARY, *public, "test_growth", "test_growth[<PARAMS>]", "<VALUE>", "-", "="}
    allowed |= set("== != < > <= >= === !==".split())
    for word in mask_values(text, public, {"test_growth"}).split():
        assert word in allowed or word.removesuffix(":") in allowed


@pytest.mark.parametrize("part", ["[", "a::", "(", '"', "'", "`", "\n", "E\n", "\x1b[1", "\x1b]",
    "- ", " (1", ".. ", "#a", "✓ ", "<testcase ", '"name": "', "1 passed, ", "def ", "x = ",
    "assertion", "func (", "Time elapsed: ", "e ", "\\", "[[", " > "])  # fmt: skip
def test_hostile_outputs_end(part):
    text = part * (65536 // len(part))
    show_feedback("masked", 0, "", text, [text], text)
    show_feedback("full", 0, "", text)
    find_answers(text, [text], [text], text)


SECRETS = """\
@pytest.mark.parametrize("city", ["Hamburg", "status"])
def test_it(city, Berlin=None):
    with open("out.csv", encoding="utf-8") as file:
        assert file.read() == "Order INV-2024-77" and total == 4217 and mean == 12.75, "Berlin"
    assert len(rows) == 12 and hashlib.new("sha256") and date == "%Y-%m-%d" and size == 1000
    assert share <= 1.0 and 0.0 < error
    assert found == ["otter", "violet", "heron"] or found == {'lines': 12, 'most': 31}
    assert type(x) is float and "AssertionError" and kind == "Public Value" and limit == 1,234
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The city is hamburg.", ["Hamburg"]),
        ("Answer with order  INV-2024-77!", ["INV-2024-77", "Order INV-2024-77"]),
        ("The total is 4,217 and the mean 12.75.", ["12.75", "4217"]),
        ("It was 98.6, not 98.61", ["98.6"]),
        ("Limit 1234", ["1234"]),
        ("14217, 4217.5, 12.755, 2012.75, 1.12.75 and Hamburger are others", []),
        ("Public value, 12 rows, 1000 bytes, utf-8, sha256, %Y-%m-%d, status, Berlin", []),
        ("A share from 0.0 to 1.0", []),
        ("- violet, heron, otter", []),
        ("- otter\n- violet\n- Heron", ["otter violet heron"]),
        ("Lines: 12; most: 31.", ["lines 12 most 31"]),
        ("Catch AssertionError, assert that out.csv exists", []),
    ],
)
def test_answers_are_found(text, found):
    outputs = ["E   assert '98.6' == '98.7'"]
    assert find_answers(text, outputs, [SECRETS], "Write out.csv with the public value.") == found
