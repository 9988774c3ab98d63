import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.programs.advice import ADVICE, CODE_PROFILES, MAX_FINDINGS, check_code
from brain.programs.python_code import find_shape
from tests.support.honest_programs import HONEST
from tests.support.program_evasions import EVASIONS
from tests.support.refusals import raises_code

SKILL = next(code for name, code, _ in HONEST if name == "skill_class").encode()


@pytest.mark.parametrize(("name", "code"), [row[:2] for row in HONEST])
def test_what_agents_write_honestly_is_accepted(name, code):
    assert check_code(code.encode(), ADVICE) == []


def test_there_are_enough_honest_programs_of_both_shapes():
    shapes = [find_shape(code.encode()) for _, code, _ in HONEST]
    assert len(HONEST) >= 30 and shapes.count("class") >= 4


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        (b"import requests", "line 1: it imports requests, which is not in the standard library"),
        (b"\nfrom yaml import load", "line 2: it imports yaml, which is not"),
        (b"from .near import x", "line 1: it imports .near, which is not"),
        (b"def f(:", "line 1: it is not Python"),
        (b"if 1:\nx", "line 2: it is not Python: expected an indented block"),
        (b"x = '\xff'", "line 1: it is not UTF-8"),
        (b"x\0", "line 1: it holds a NUL byte"),
        (b"\n# coding: latin-1\n", "line 2: it names the encoding latin-1"),
        (b"#" * (1 << 20), "it has 1048576 bytes, more than 262144"),
    ],
)
def test_a_finding_names_line_and_reason(code, finding):
    assert check_code(code, ADVICE)[0].startswith(finding)


def test_a_comment_that_names_utf_8_changes_nothing():
    for cookie in (b"# -*- coding: utf-8 -*-", b"#!/usr/bin/python3\n# coding=UTF8"):
        assert check_code(cookie + b"\nprint('\xc3\xa9')\n", ADVICE) == []


def test_findings_are_ordered_by_line_and_bounded():
    code = b"".join(b"import os%d\n" % n for n in range(100))
    findings = check_code(code, ADVICE)
    assert len(findings) == MAX_FINDINGS
    assert findings[:2] == [
        "line 1: it imports os0, which is not in the standard library",
        "line 2: it imports os1, which is not in the standard library",
    ]


def test_an_escape_that_python_warns_of_is_no_fault():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_code(b"x = '\\d'\nprint(x)\n", ADVICE) == []


@pytest.mark.parametrize("name", ["deep nesting", "deep brackets", "long chain"])
def test_deep_code_is_refused_in_a_thread_too(name):
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: [check_code(EVASIONS[name], one) for one in CODE_PROFILES])
        assert all("nested too deeply" in findings[0] for findings in found.result())


def test_what_a_person_wrote_may_use_the_whole_standard_library():
    code = b"import os, subprocess\nfrom urllib import request\nimport skillapi\nopen(os.devnull)\n"
    assert check_code(code, ADVICE) == []


def test_an_optional_import_of_a_script_is_no_fault():
    code = b"try:\n    import yaml\nexcept (ImportError, OSError):\n    yaml = None\n"
    assert check_code(code, ADVICE) == []
    assert check_code(code.replace(b"(ImportError, OSError)", b"OSError"), ADVICE)


@pytest.mark.parametrize("profile", ["seed-000", "seed-002"])
def test_the_profiles_of_other_agents_accept_their_own_skills(profile):
    assert check_code(SKILL, profile, name="greet") == []


@pytest.mark.parametrize(
    ("profile", "code", "said"),
    [
        ("seed-000", b"import os\n" + SKILL, "line 1: it uses os, which is on the blocklist"),
        ("seed-000", b"print(1)", "no class has SkillBase as its base"),
        ("seed-000", SKILL.replace(b"execute", b"run"), "has no method execute"),
        ("seed-002", b"from os import system\n" + SKILL, "it uses os.system"),
        ("seed-002", b"open('x')\n" + SKILL, "it uses open"),
        ("seed-002", SKILL.replace(b"GeneratedSkill", b"Other"), "no class GeneratedSkill"),
        ("seed-002", SKILL.replace(b"async def", b"def"), "has no async method execute"),
        ("seed-002", SKILL.replace(b'"greet"', b'"x"'), "the name greet does not stand in"),
    ],
)
def test_the_profiles_of_other_agents_refuse_what_those_do(profile, code, said):
    assert said in "\n".join(check_code(code, profile, name="greet"))


def test_a_name_has_the_form_that_the_profile_wants():
    assert "the name Greet is not" in check_code(SKILL, "seed-000", name="Greet")[0]


def test_blocklists_miss_most_ways_around_them():
    missed = sum(
        not any("blocklist" in finding for finding in check_code(code, "seed-000"))
        for code in EVASIONS.values()
    )
    assert missed > len(EVASIONS) // 2


@given(st.binary() | st.text().map(str.encode))
@example(b"\\")
@example(b'"""')
def test_any_bytes_are_checked_without_an_exception(code):
    for profile in CODE_PROFILES:
        assert all(isinstance(finding, str) for finding in check_code(code, profile))


def test_an_unknown_profile_is_refused():
    with raises_code("bad_code_profile", InvalidInput):
        check_code(b"", "lenient")
