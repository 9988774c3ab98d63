"""A session of an agent with its brain over the Model Context Protocol.

    python mcp_session.py [FOLDER]

The client is the protocol's own Python SDK (`pip install 'agent-brain[serve]'`), the
server is `brain mcp`, started by the client as Claude Code or Codex start it. The agent
lists its skills, reads one, writes a new one, improves it, and has the lineage checked.
In a second session its changes wait until a person accepts them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import Implementation, TextContent

from brain import Brain

AGENT = Implementation(name="auditor-agent", version="1")


def server(folder: Path, *options: str) -> StdioServerParameters:
    """Return how a client starts the server; `brain mcp install` writes the same."""
    arguments = ["-P", "-m", "brain_cli", "-C", str(folder), "mcp", *options]
    return StdioServerParameters(command=sys.executable, args=arguments)


async def call(client: Client, tool: str, **given: str) -> None:
    """Call a tool and print what the model would read."""
    result = await client.call_tool(tool, given)
    for content in result.content:
        if isinstance(content, TextContent):
            print(f"{tool}: {content.text.splitlines()[0]}")


async def learn(folder: Path) -> None:
    """List, view, create, improve, verify."""
    async with Client(server(folder), client_info=AGENT) as client:
        told = (client.instructions or "").splitlines()
        print("told at the start:", next(line for line in told if line.startswith("▸")))
        await call(client, "skills_list")
        await call(client, "skill_view", name="oracle-manipulation")
        await call(
            client,
            "skill_manage",
            action="create",
            name="reentrancy",
            description="Find calls that come back before a state change",
            content="1. List external calls.\n2. Look for writes after them.\n",
        )
        await call(
            client,
            "skill_manage",
            action="patch",
            name="reentrancy",
            old_string="writes after them",
            new_string="writes after them, in callbacks of tokens too",
        )
        (content,) = (await client.read_resource("brain://skills/reentrancy/versions/1")).contents
        print("version 1 is still there:", content.mime_type)
        await call(client, "brain_verify")


async def propose(folder: Path) -> None:
    """Write where a person has to agree first."""
    async with Client(server(folder, "--approve"), client_info=AGENT) as client:
        await call(
            client,
            "skill_manage",
            action="patch",
            name="oracle-manipulation",
            old_string="Check the age of every price.",
            new_string="Trust the first price.",
        )


def main(folder: Path) -> None:
    """Make a brain, and let an agent work on it."""
    with Brain.init(folder, author="person") as brain:
        brain.skills.upsert(
            "Oracle manipulation",
            "Check the age of every price.\n",
            description="Check where prices come from",
        )
        asyncio.run(learn(folder))
        for version in brain.skills.history("reentrancy"):
            print(f"reentrancy {version.version} by {version.author}")
        asyncio.run(propose(folder))
        (found,) = brain.proposals.list()
        change = found.skills[0]
        print(f"proposed: {change.slug} {change.from_version} → {change.to_version}")
        for line in "".join(
            brain.history.patch(brain.history.diff(found.base, found.snapshot))
        ).splitlines():
            if line.startswith(("+", "-")) and "price" in line:
                print(f"  {line}")
        brain.proposals.reject(found.name)  # brain.proposals.accept(found.snapshot) would merge it
        print(f"rejected; the skill is at version {brain.skills.view(change.slug).version}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "auditor")
