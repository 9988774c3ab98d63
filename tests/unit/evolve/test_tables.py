"""The tables of docs/evolution.md say where each part of the originals is."""

import re


def test_each_file_that_the_tables_name_is_there(project):
    text = (project / "docs/evolution.md").read_text("utf-8")
    tables = re.findall(r"(?m)^\| (?!there \|).*\| .*\|$", text)
    named = re.findall(r"`((?:brain|cli|examples|tests)/[\w./-]+)`", "\n".join(tables))
    assert len(set(named)) > 40
    assert [path for path in set(named) if not (project / path).exists()] == []
    assert text.count("\n### ") == 5
