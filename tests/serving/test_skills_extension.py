"""What a host of the Skills extension (SEP-2640) finds, reads and verifies, by the SDK's client."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, MCPError
from mcp import types as wire
from pydantic import BaseModel, ConfigDict

from brain import Brain
from brain.serve.mcp import resources
from brain.serve.mcp.resources import EXTENSION
from tests.serving.test_server import ERAS, connected, within


class Entries(BaseModel):
    model_config = ConfigDict(extra="allow")
    skills: list[dict[str, Any]] = []
    skill: dict[str, Any] = {}
    nextCursor: str | None = None


async def ask(client: Client, method: str, **params: Any) -> Entries:
    request = wire.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, Entries)


async def read(client: Client, uri: str) -> bytes:
    (found,) = (await client.read_resource(uri)).contents
    if isinstance(found, wire.BlobResourceContents):
        return b64decode(found.blob)
    return found.text.encode()


async def verify(client: Client, entry: dict[str, Any]) -> dict[str, bytes]:
    """Do what a host must: read each file, and compare size, digest and front matter."""
    files = {}
    for one in entry["resources"]:
        content = await read(client, one["uri"])
        assert one["size"] == len(content)
        assert one["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        files[one["uri"]] = content
    head = files[entry["uri"]].decode().split("---\n")[1]
    assert yaml.safe_load(head) == entry["frontmatter"]
    return files


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with Brain.open(folder) as brain:
        brain.snapshot()


def skill(name: str, more: str = "") -> str:
    return f"---\nname: {name}\ndescription: About {name}\n{more}---\nDo it.\n"


@pytest.mark.parametrize("era", ERAS)
def test_a_host_finds_every_skill_and_its_files_as_their_digests_say(desk, folder, era):
    write(
        folder,
        {
            "skills/devops/deploy/SKILL.md": skill("deploy", "license: MIT\nrate: 1.5\nn: 3\n"),
            "skills/devops/deploy/references/a b.md": "One.\r\nTwo.\r\n",
            "skills/devops/deploy/assets/x.bin": b"\xff\x00\xfe",
            "skills/other-folder/SKILL.md": skill("named"),
        },
    )

    async def session() -> None:
        async with connected(desk, era) as client:
            extensions = client.server_capabilities.extensions or {}
            assert extensions[EXTENSION] == {}
            listed = await ask(client, "skills/list")
            entries = {entry["uri"]: entry for entry in listed.skills}
            assert list(entries) == [
                "skill://devops/deploy/SKILL.md",
                "skill://oracle/SKILL.md",
                "skill://other-folder/named/SKILL.md",
            ]
            deploy = entries["skill://devops/deploy/SKILL.md"]
            assert {one["uri"] for one in deploy["resources"]} == {
                "skill://devops/deploy/SKILL.md",
                "skill://devops/deploy/references/a%20b.md",
                "skill://devops/deploy/assets/x.bin",
            }
            for uri, entry in entries.items():
                files = await verify(client, entry)
                assert (await ask(client, "skills/get", uri=uri)).skill == entry
            assert b"Do it." in files["skill://other-folder/named/SKILL.md"]

    within(60, session)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("skills/flat.md", skill("flat")),
        ("skills/bare/SKILL.md", "No front matter.\n"),
        ("skills/mute/SKILL.md", "---\nname: mute\n---\nNo description.\n"),
        ("skills/Upper/SKILL.md", skill("Upper Case")),
        ("skills/late/SKILL.md", f"\n{skill('late')}"),
        ("skills/open/SKILL.md", "---\nname: open\ndescription: Never closed\n"),
        ("skills/bad/SKILL.md", skill("bad", "x: [1\n")),
        ("skills/user/SKILL.md", skill("user", "disable-model-invocation: true\n")),
    ],
)
def test_a_skill_that_no_host_could_take_is_left_to_the_tools(desk, folder, path, text):
    write(folder, {path: text})

    async def session() -> None:
        async with connected(desk) as client:
            listed = await ask(client, "skills/list")
            assert [entry["uri"] for entry in listed.skills] == ["skill://oracle/SKILL.md"]
            uri = f"skill://{path.removeprefix('skills/').removesuffix('/SKILL.md')}/SKILL.md"
            for refused in (ask(client, "skills/get", uri=uri), read(client, uri)):
                with pytest.raises(MCPError) as caught:
                    await refused
                assert caught.value.error.code == wire.INVALID_PARAMS

    within(60, session)


@pytest.mark.parametrize(
    "uri",
    [
        "skill://none/SKILL.md",
        "skill://oracle",
        "skill://oracle/",
        "skill://oracle/../oracle/SKILL.md",
        "skill://oracle/..%2F..%2Fprompts/system.md",
        "skill://oracle/references/none.md",
        "skill://",
        "brain://skills/oracle",
        "skill://" + "a/" * 4000,
    ],
)
def test_what_is_no_skill_is_refused_as_the_extension_says(desk, uri):
    async def session() -> None:
        async with connected(desk) as client:
            with pytest.raises(MCPError) as caught:
                await ask(client, "skills/get", uri=uri)
            assert caught.value.error.code == wire.INVALID_PARAMS
            assert caught.value.error.message == "no skill is served at this URI"
            if uri.startswith("skill:"):
                with pytest.raises(MCPError) as caught:
                    await read(client, uri)
                assert caught.value.error.code == wire.INVALID_PARAMS

    within(60, session)


def test_hidden_characters_and_held_out_cases_are_served_to_no_host(desk, folder):
    case = "input:\n  text: a\nexpect:\n  contains: b\n"
    write(
        folder,
        {
            "skills/x/SKILL.md": skill("x") + "Tag: \U000e0041\u200b.\r\n",
            **{f"skills/x/cases/c{number}.yaml": case + f"# {number}\n" for number in range(20)},
        },
    )
    with Brain.open(folder) as brain:
        hidden = brain.gate.find_hidden_files("x")
    assert hidden

    async def session() -> None:
        async with connected(desk) as client:
            entry = (await ask(client, "skills/get", uri="skill://x/SKILL.md")).skill
            files = await verify(client, entry)
            assert files["skill://x/SKILL.md"].endswith(b"Tag: .\r\n")
            assert not {f"skill://x/{path}" for path in hidden} & files.keys()
            for path in hidden:
                with pytest.raises(MCPError):
                    await read(client, f"skill://x/{path}")

    within(60, session)


def test_a_proposing_client_is_served_its_own_text_and_a_changed_file_has_another_digest(proposing):
    async def session() -> None:
        async with connected(proposing) as client, connected(proposing, name="other") as other:
            before = (await ask(client, "skills/get", uri="skill://oracle/SKILL.md")).skill
            given = {"action": "patch", "name": "oracle", "old_string": "Two.", "new_string": "3."}
            await client.call_tool("skill_manage", given)
            after = (await ask(client, "skills/get", uri="skill://oracle/SKILL.md")).skill
            assert after["resources"][0]["digest"] != before["resources"][0]["digest"]
            assert b"3." in (await verify(client, after))["skill://oracle/SKILL.md"]
            assert (await ask(other, "skills/get", uri="skill://oracle/SKILL.md")).skill == before

    within(60, session)


def test_many_skills_come_in_pages_and_a_wrong_cursor_is_refused(desk, folder):
    count = resources.PAGE_SIZE + 3
    write(folder, {f"skills/s{n:03}/SKILL.md": skill(f"s{n:03}") for n in range(count)})

    async def session() -> None:
        async with connected(desk) as client:
            first = await ask(client, "skills/list")
            rest = await ask(client, "skills/list", cursor=first.nextCursor)
            assert rest.nextCursor is None
            uris = [entry["uri"] for entry in (*first.skills, *rest.skills)]
            assert len(uris) == len(set(uris)) == count + 1
            for ask_list in ("skills/list", "resources/list"):
                with pytest.raises(MCPError) as caught:
                    await ask(client, ask_list, cursor="nonsense")
                assert caught.value.error.code == wire.INVALID_PARAMS

    within(60, session)


def test_a_skill_beyond_the_limits_of_hosts_is_not_served(desk, folder, monkeypatch):
    monkeypatch.setattr(resources, "MAX_FILES", 3)
    monkeypatch.setattr(resources, "MAX_SKILL_BYTES", 2000)
    write(
        folder,
        {
            "skills/many/SKILL.md": skill("many"),
            **{f"skills/many/references/{n}.md": "x" for n in range(3)},
            "skills/large/SKILL.md": skill("large"),
            "skills/large/references/x.md": "x" * 2000,
        },
    )

    async def session() -> None:
        async with connected(desk) as client:
            listed = await ask(client, "skills/list")
            assert [entry["uri"] for entry in listed.skills] == ["skill://oracle/SKILL.md"]

    within(60, session)
