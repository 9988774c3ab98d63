"""The session of docs/evolution/gate.md runs as written."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from brain import Brain
from tests.support.acquired import COUNT_WORDS, creation
from tests.support.scripted_model import FakeModel

DOCUMENT = Path("docs/evolution/gate.md")


@pytest.fixture
def count_words(cli, agent):
    """Acquire count-words, and write a changed copy of it to the folder new."""
    given = creation("count_words")
    Path("code.py").write_text(COUNT_WORDS)
    Path("check.py").write_text(given["check"])
    made = ["evolve", "acquire", "count-words", "--code", "code.py", "--check", "check.py"]
    assert cli(*made, "--payload", '{"text": "a b"}', "-d", "Count words").status == 0
    shutil.copytree("skills/count-words", "new")
    for name in ("skill.py", "tests/check.py"):
        file = Path("new", name)
        text = file.read_text()
        assert ".split()" in text
        file.write_text(text.replace(".split()", '.replace("-", " ").split()'))
    return agent


def test_the_session_prints_what_the_document_shows(cli, count_words, project):
    text = (project / DOCUMENT).read_text("utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for block in blocks:
        for call in block.split("$ brain ")[1:]:
            line, *shown = call.rstrip("\n").split("\n")
            ended = cli(*shlex.split(line))
            assert ended.status == 0, ended.err
            for expected, printed in zip(shown, ended.out.split("\n"), strict=False):
                pattern = re.escape(expected).replace("…", "[0-9a-f]+")
                assert re.fullmatch(pattern, printed), (expected, printed)


def test_its_python_runs(agent, project):
    text = (project / DOCUMENT).read_text("utf-8")
    block = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    with Brain.open(agent) as brain:
        exec(compile(block, str(DOCUMENT), "exec"), {"brain": brain, "model": FakeModel()})
        assert [one.name for one in brain.proposals.list()]
