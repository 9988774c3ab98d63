import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.programs.python_code import normalize_source
from tests.support.refusals import raises_code

CODE = "import sys\n\nfor n in range(3):\n    if n < 2 and n > 0:\n        print(\"n\", n, '&')\n"
HTML = CODE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


@pytest.mark.parametrize(
    "damaged",
    [
        f"<![CDATA[{CODE}]]>",
        f"<![CDATA[\n{CODE}\n]]>\n",
        f"  <![CDATA[{CODE}",
        f"{CODE}]]>",
        f"{CODE}]]></parameter>",
        f"<![CDATA[{CODE}]]>\n</parameter>\n",
        HTML,
        f"<![CDATA[{HTML}]]>",
        f"```python\n{CODE}```",
        f"```\n{CODE}\n```\n",
        f"~~~py\n{CODE}~~~",
        f"Here is the skill:\n\n```python\n{CODE}```\nIt prints numbers.\n",
        f"```python\n{CODE}",
        f"```python\n{HTML}```",
        f"<![CDATA[```python\n{CODE}```]]>",
        CODE.replace('"', r"\"").replace("\n", r"\n"),
        "\ufeff" + CODE,
        "".join(f"    {line}" for line in CODE.splitlines(keepends=True)),
    ],
)
def test_what_a_model_damaged_is_repaired(damaged):
    repaired = normalize_source(damaged)
    assert ast.dump(ast.parse(repaired)) == ast.dump(ast.parse(CODE))


def test_the_longest_block_of_several_is_the_program():
    text = f"```sh\npip install x\n```\nthen\n```python\n{CODE}```\n"
    assert normalize_source(text) == CODE


@pytest.mark.parametrize(
    "clean",
    [
        CODE,
        "",
        "# <![CDATA[ x ]]>\n",
        "x = '&lt;b&gt; &amp;'\n",
        'doc = """\n```python\nx = 1\n```\n"""\n',
        r"print('a\nb')",
        "x = 1 \t\r\n\f\ny = 2",
        r'"print(1)\n"',
    ],
)
def test_python_stays_as_it_is(clean):
    assert normalize_source(clean) == clean


def test_entities_in_texts_of_damaged_code_stay_if_another_repair_is_enough():
    code = "x = '&lt;'\ny = 1\n"
    for damaged in (f"<![CDATA[{code}]]>", code.replace("\n", r"\n"), textwrap.indent(code, "  ")):
        assert normalize_source(damaged).strip() == code.strip()


@given(
    st.sampled_from(sorted(Path(ast.__file__).parent.glob("*.py"))),
    st.sampled_from([ast.FunctionDef, ast.ClassDef, ast.Assign, ast.If]),
    st.integers(0, 10_000),
)
def test_any_part_of_the_standard_library_stays_as_it_is(path, kind, pick):
    text = path.read_text("utf-8", errors="replace")
    try:
        found = [node for node in ast.parse(text).body if isinstance(node, kind)]
    except SyntaxError:
        return
    if found and len(text) < 200_000:
        node = found[pick % len(found)]
        part = "".join(text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno])
        assert normalize_source(part) == part


@given(st.text(alphabet="<![CDATA]>&lt;gt`~python \\n\"'#:=x1()\n", max_size=60))
@example("x = 1 # ]]>")
@example("```\n1\n```")
def test_any_text_that_is_python_stays_and_any_other_is_repaired_or_refused(text):
    try:
        ast.parse(text)
        is_python = True
    except (SyntaxError, ValueError):
        is_python = False
    try:
        repaired = normalize_source(text)
    except InvalidInput as error:
        assert not is_python and error.code == "bad_python"
    else:
        ast.parse(repaired)
        assert not is_python or repaired == text


@pytest.mark.parametrize(
    "broken", ["def f(:\n    pass\n", "print('a", "if x:\n", "```python\nprint(\n```", "\ud800"]
)
def test_what_cannot_be_repaired_is_refused_with_the_usual_causes(broken):
    with raises_code("bad_python", InvalidInput) as caught:
        normalize_source(broken)
    assert "does not parse" in caught.value.message
    for cause in ("CDATA", "HTML entities", "cut off", r"\n in JSON"):
        assert cause in caught.value.hint


def test_the_line_of_the_fault_is_that_of_the_text_as_it_came():
    with pytest.raises(InvalidInput, match="line 3: it is not Python"):
        normalize_source("x = 1\ny = 2\nz = = 3\n")


def test_a_huge_text_is_refused_unread():
    with raises_code("too_large", InvalidInput):
        normalize_source("`" * (1 << 21))


@pytest.mark.parametrize("text", ["`" * 500_000, "~~~\n" * 100_000, "&" * 500_000, "]]>" * 100_000])
def test_repairs_take_linear_time(text):
    with pytest.raises(InvalidInput):  # a quadratic one does not end here
        normalize_source(text)
