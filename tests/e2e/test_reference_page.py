"""docs/reference.md names each variable and field of the manifest; its example is one."""

import json
import re

import yaml

from brain.repo.manifest import find_manifest_problems, parse_manifest


def test_every_variable_that_the_code_reads_is_named_and_no_other(project):
    code = "\n".join(
        path.read_text("utf-8")
        for room in ("brain", "cli")
        for path in (project / room).rglob("*.py")
    )
    read = set(re.findall(r'"((?:BRAIN|SKILLS?)_[A-Z_]+[A-Z]|NO_COLOR|PAGER)"', code))
    page = (project / "docs/reference.md").read_text("utf-8")
    named = set(re.findall(r"`((?:BRAIN|SKILLS?)_[A-Z_]+|NO_COLOR|PAGER)`", page))
    assert named - {"BRAIN_GRIND_MAX_CYCLES"} == read


def test_the_manifest_of_the_page_is_valid_and_has_every_field(project):
    schema = json.loads((project / "schemas/manifest.json").read_text("utf-8"))
    page = (project / "docs/reference.md").read_text("utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shown = yaml.load(block, yaml.BaseLoader)
    assert find_manifest_problems(block.encode()) == []
    assert parse_manifest(block.encode()).pinned == ("vault",)
    assert fields_of(schema) == fields_of_value(shown)


def fields_of(schema, above=""):
    found = set()
    for name, below in schema.get("properties", {}).items():
        found |= {above + name, *fields_of(below, f"{above}{name}.")}
    return found


def fields_of_value(value, above=""):
    found = set()
    for name, below in value.items() if isinstance(value, dict) else ():
        found |= {above + name, *fields_of_value(below, f"{above}{name}.")}
    return found
