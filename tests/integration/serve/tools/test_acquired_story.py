"""The whole life of a tool that an agent makes: it breaks, is mended, and rolled back."""

import pytest

from brain import Brain
from brain.serve.tools import Toolbox, ToolFailure
from tests.support.acquired import creation

FIRST = """\
import json, sys

payload = json.loads(sys.argv[1])
words = payload["text"].split()
print(json.dumps({"words": len(words), "first": words[0] if words else ""}))
"""
WORSE = FIRST.replace(
    'words = payload["text"].split()',
    'words = payload["text"].split()\nif len(words) > 40:\n    raise ValueError("too many words")',
)
CHECK = """\
def check(payload, output):
    words = payload["text"].split()
    assert output["words"] == len(words)
    assert output["first"] == "".join(words[:1])
"""
LONG = {"text": "w " * 60}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))


def test_a_worse_version_is_rolled_back_and_the_lineage_tells_the_story(tmp_path):
    with Brain.init(tmp_path / "b", author="agent") as brain:
        task = brain.task("Count words")
        tools = Toolbox(brain, task)
        tools.call("create_skill", creation("count_words", FIRST, CHECK))
        for number in range(6):
            text = {"text": "w " * (60 + number)}
            assert tools.call("count_words", text).data["output"]["words"] == 60 + number
        made = tools.call("create_skill", creation("count_words", WORSE, CHECK))
        assert made.data["version"] == 2
        texts = []
        for number in range(3):
            with pytest.raises(ToolFailure) as failed:
                tools.call("count_words", {"text": "w " * (60 + number)})
            texts.append(failed.value.text)
        assert "ValueError: too many words" in texts[0]
        assert "version 1 did better, and is back as version 3" in texts[-1]
        assert tools.call("count_words", LONG).data["version"] == "3"
        task.close()
        verified = brain.verify(deep=True)
        assert verified.ok and not verified.findings
        kinds = [info.operation["kind"] for info in brain.history.log()]
        assert kinds == ["task", "reinstate", "admit", "admit", "genesis"]
