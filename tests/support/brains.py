"""Files of a brain as a person would write them."""

from pathlib import Path

from brain import Brain


def write_file(brain: Brain, path: str, text: str) -> Path:
    """Write a file of the brain by hand."""
    target = brain.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8", newline="")
    return target


def skill_text(name: str, version: object = 1, body: str = "Do it.\n") -> str:
    """Return the text of a SKILL.md."""
    return f"---\nname: {name}\ndescription: About {name}\nversion: {version}\n---\n{body}"
