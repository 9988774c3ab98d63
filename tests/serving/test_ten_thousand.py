"""Ten thousand skills flood no context: each answer keeps to its stated size."""

import json
import re

import pytest

from brain import Brain
from brain.serve.mcp import brain_pool, resources
from brain.serve.mcp.brain_pool import READ_MODE, WRITE_MODE, BrainPool
from brain.serve.tools import definitions
from brain.serve.tools import skills as skill_read
from tests.support.index_text import parse_index

COUNT = 10_000
MAX_TOOLS_CHARS, MAX_INSTRUCTION_CHARS = 8450, 4096
CLIENT = "c"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A brain with ten thousand skills in a hundred categories, and one that was learned."""
    root = tmp_path_factory.mktemp("large") / "b"
    with Brain.init(root, author="person") as brain:
        (root / "MEMORY.md").write_text("A fact.\n" * 400)
        for number in range(COUNT):
            slug = f"skill-{number // 2 if number < 20 else number:05d}"
            folder = root / "skills" / f"category-{number % 100:02d}" / slug
            folder.mkdir(parents=True)
            words = f"Use it for purpose {number}. " + "Or for something like it, " * (number % 30)
            (folder / "SKILL.md").write_text(f"---\nname: {slug}\ndescription: {words}\n---\nDo.\n")
        brain.snapshot()
        brain.skills.upsert("what-was-learned", "x\n", description="The last thing learned")
    return root


@pytest.fixture
def served(large):
    pool = BrainPool(lambda author: Brain.open(large, author=author), READ_MODE)
    yield pool
    pool.close()


def test_the_tools_and_the_instructions_keep_to_their_sizes(served):
    tools = json.dumps(definitions.anthropic(), separators=(",", ":"))
    assert len(tools) <= MAX_TOOLS_CHARS
    text = served.instructions(CLIENT)
    for_skills = MAX_INSTRUCTION_CHARS * (1 - 1 / brain_pool.MEMORY_SHARE)
    assert for_skills * 0.9 < len(text) <= MAX_INSTRUCTION_CHARS
    part = text[text.index("[Skills.") :].partition("\n\n[Memory.")[0]
    _, *lines, last = part.split("\n")
    assert all(line.startswith(("▸ ", "▹ ")) for line in lines)
    shown = parse_index("\n".join(lines))
    assert len(shown) > 25
    left = re.fullmatch(r"(\d+) more skills are not shown: skills_list finds them.*", last)
    assert left is not None and int(left[1]) == COUNT + 1 - len(shown)


@pytest.mark.parametrize("most", [0, 400, 1200, 4096, 20_000])
def test_every_limit_is_kept_and_the_index_marked_as_data(large, monkeypatch, most):
    monkeypatch.setattr(brain_pool, "MAX_INSTRUCTION_CHARS", most)
    pool = BrainPool(lambda author: Brain.open(large, author=author), WRITE_MODE)
    text = pool.instructions(CLIENT)
    assert len(text) <= max(most, len(brain_pool.INSTRUCTIONS_GUIDE) + 600)
    assert len(re.findall(r"^\[Skills\. .*\]$", text, re.M)) == 1
    assert f"\n{COUNT + 1 - shown_in(text)} more skills" in text
    pool.close()


def shown_in(text: str) -> int:
    return len(parse_index(text[text.index("[Skills.") :]))


def test_the_index_is_read_page_by_page_with_the_uris_that_the_pages_give(served):
    uri, seen = "brain://index", []
    for _ in range(1000):
        text = resources.resource_reader(served, uri)(CLIENT, "").text
        assert len(text) <= brain_pool.MAX_INDEX_PAGE_CHARS + 400
        assert len(re.findall(r"^\[Skills\. .*\]$", text, re.M)) == 1
        seen += [one.address for one in parse_index(text)]
        following = re.search(r"The next are in (brain://index\S+)$", text)
        if following is None:
            break
        uri = following[1]
    assert len(seen) == len(set(seen)) == COUNT + 1
    with Brain.open(served.root) as brain:
        assert {skill.address for skill in brain.skills.list()} == set(seen)


def test_the_prompt_and_the_lists_keep_to_their_sizes(served):
    prompt = served.read_prompt(CLIENT)
    assert len(prompt) <= brain_pool.MAX_PROMPT_PAGE_CHARS + 100
    assert "▹ category-00/skill-00000, " in prompt and " more skills are not shown" in prompt
    for given in ({}, {"task": "purpose 77"}, {"category": "category-07"}):
        answer = served.call(CLIENT, "skills_list", given)
        assert len(answer.text) <= skill_read.MAX_LIST_CHARS
        assert answer.data["skills"]
    for tool, given in (("brain_diff", {"from": "@~1", "to": "@"}), ("brain_log", {})):
        assert len(served.call(CLIENT, tool, given).text) <= 20_000
    skills = served.list_skills(CLIENT)
    page = resources.list_page(skills, "")
    assert len(page.model_dump_json()) <= 64_000 and page.next_cursor
    second = resources.list_page(skills, page.next_cursor)
    uris = [one.uri for one in (*page.resources, *second.resources)]
    assert len(set(uris)) == len(uris) == 2 * resources.PAGE_SIZE + 1
    for uri in uris[1:4]:
        assert "Do." in resources.resource_reader(served, uri)(CLIENT, "").text
