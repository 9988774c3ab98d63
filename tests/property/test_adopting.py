"""Skills keep what they are through adoption, publication and adoption again."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref.validator import validate

from brain import Brain
from brain.adopting import PublishRequest, publish
from brain.adopting.publish_manifest import RECORD_NAME

SLUGS = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4}){0,2}", fullmatch=True)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], max_codepoint=0x2FFF),
    min_size=1,
    max_size=60,
).filter(str.strip)
VERSIONS = st.sampled_from(
    ["", "version: 3\n", "version: 1.4.0\n", "metadata:\n  version: '2.1'\n"]
)
FIELDS = st.sampled_from(
    ["", "license: MIT\n", "model: opus\n", "tags: [a, b]\n", "platforms: [linux]\n"]
)
FILES = st.dictionaries(
    st.sampled_from(["scripts/run.sh", "references/a.md", "data.json", "sub/deep/er.txt"]),
    st.binary(max_size=40),
    max_size=3,
)
SKILLS = st.dictionaries(
    SLUGS, st.tuples(WORDS, VERSIONS, FIELDS, WORDS, FILES), min_size=1, max_size=4
)
CLIENTS = st.sampled_from(["claude", "codex", "hermes", "openclaw", "agentskills"])


@settings(max_examples=10, deadline=None)
@given(skills=SKILLS, client=CLIENTS, strict=st.booleans())
def test_adopted_published_and_adopted_again_skills_are_the_same(
    tmp_path_factory, skills, client, strict
):
    root = tmp_path_factory.mktemp("skills")
    for slug, (about, version, field, body, files) in skills.items():
        folder = root / "home/skills" / slug
        folder.mkdir(parents=True)
        head = f"name: {slug}\ndescription: {json.dumps(about, ensure_ascii=False)}\n"
        text = f"---\n{head}{version}{field}---\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, newline="")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    Brain.adopt(root / "home", root / "one")
    with Brain.open(root / "one") as one:
        done = publish(one, client, root / "out", PublishRequest(strict=strict))
        assert not [row for row in done.left_out if row.path.startswith("skills/")]
        assert publish(one, client, root / "out", PublishRequest(strict=strict)).unchanged == len(
            done.written
        )
        if strict or client == "agentskills":
            for place in (root / "out").rglob("SKILL.md"):
                assert validate(place.parent) == []
        assert not Brain.adopt(root / "out", root / "one", kind=client).changed
        (root / "out" / RECORD_NAME).unlink()
        Brain.adopt(root / "out", root / "two", kind=client)
        with Brain.open(root / "two") as two:
            assert [row[:4] for row in one.skills.list()] == [row[:4] for row in two.skills.list()]
            for row in one.skills.list():
                assert one.skills.view(row.slug).body == two.skills.view(row.slug).body
            now = {info.path: info.blob for info in two.files.list()}
            for info in one.files.list():
                if info.path.startswith("skills/") and not info.path.endswith("SKILL.md"):
                    assert now[info.path] == info.blob
