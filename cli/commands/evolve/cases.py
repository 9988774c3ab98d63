"""The commands of `brain evolve case`: what changes of a skill are tried on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from brain import limits
from brain.errors import InvalidInput, NotFound, printable_text

from ...command import WRITE_EXITS, argument, brain_command, option, repeated_option
from ...context import App
from ...output import emit
from ...params import NonEmptyType, SlugType
from ...render.human_format import align_columns, short_id
from ...render.run_report import read_named_run
from ...terminal import escape, escape_lines
from ...user_files import read_text_input

if TYPE_CHECKING:
    from brain.gating.case_files import Expectation
    from brain.results import SkillCase

_SHOWN_CHARS = 60


@brain_command(
    "add",
    examples=(
        'brain evolve case add words --input \'{"text": "a b"}\' --equals \'{"words": 2}\'',
        "brain evolve case add sort-tickets --input 'The site is down' --contains urgent",
        "brain evolve case add count-words --from @~1",
    ),
    exits=WRITE_EXITS,
)
@argument("slug", type=SlugType())
@option("--input", metavar="JSON|TEXT", help="The arguments of a program, or a text for a model.")
@option("--equals", metavar="JSON|TEXT", help="What the output must be.")
@repeated_option("--contains", metavar="TEXT", help="What the output must hold; repeatable.")
@repeated_option("--excludes", metavar="TEXT", help="What the output must not hold; repeatable.")
@option("--check", metavar="FILE", type=None, help="Python with check(input, output).")
@option("--from", "source", metavar="REV|FILE", help="Make the case of a recorded run.")
@option("--step", type=click.IntRange(1), metavar="N", help="Of its step N.")
@option("--name", type=NonEmptyType(), help="The name of the case.  [default: by its input]")
def evolve_case_add_command(
    app: App,
    slug: str,
    input: str | None,
    equals: str | None,
    contains: tuple[str, ...],
    excludes: tuple[str, ...],
    check: str | None,
    source: str | None,
    step: int | None,
    name: str | None,
) -> None:
    """Add a case: an input, and what the output must be like.

    A change of the skill is tried on its cases, without the change and with it. The hash of
    the input says whether a case is held out: such cases decide, and agents and evolvers
    never see them. The others are for practice. The skill need not exist yet.

    --from takes input and output of a call of the skill in a recorded run; of a run without
    such a call it takes the task as the input. Other options replace the expected output, and
    are required if there is none. Truncated or masked texts are refused.
    """
    from brain.gating.output_check import read_output
    from brain.repo.learning.cases import CaseOfRun, case_of_run

    if (input is None) == (source is None):
        raise click.UsageError("Give either --input or --from.")
    expect = _read_expectation(equals, contains, excludes, check)
    if source is None:
        if expect is None:
            raise click.UsageError("Give --equals, --contains, --excludes or --check.")
        value = read_output((input or "").encode("utf-8", "surrogatepass"))
        value = value if isinstance(value, dict) else input or ""
        _doubt_input(app, slug, value, equals)
        case = CaseOfRun(input=value, expect=expect, source="")
    else:
        case = case_of_run(read_named_run(app, source), slug, step or 0, expect)
    added = app.brain.gate.add_case(slug, case.input, case.expect, case.source, name=name or "")
    verb = "added" if added.changed else "is there already"
    done = escape(f"Case {added.name} of {added.slug} {verb}: {added.split}")
    emit(app, added, [done, f"Snapshot {short_id(added.snapshot)}"])


def _doubt_input(app: App, slug: str, value: Any, equals: str | None) -> None:
    """Refuse an input that the program of a skill cannot get; note what is suspicious."""
    try:
        found = app.brain.skills.view(slug)
    except NotFound:
        app.print_note(escape(f"Note: the skill {slug} does not exist yet"))
        return
    if found.path.rpartition("/")[0] + "/skill.py" not in found.files:
        return
    if isinstance(value, str):
        raise InvalidInput(
            f"{slug} is a program, and its input is not a JSON object",
            code="bad_case",
            hint='give --input its arguments, such as \'{"text": "a b"}\'',
        )
    try:
        json.loads(equals or "null")
    except ValueError:
        app.print_note("Note: --equals is not JSON, so the output must be that text")


def _read_expectation(
    equals: str | None, contains: Sequence[str], excludes: Sequence[str], check: str | None
) -> Expectation | None:
    from brain.gating.case_files import Expectation
    from brain.gating.output_check import read_output

    if equals is None and not contains and not excludes and check is None:
        return None
    text = "" if check is None else read_text_input(check, limits.MAX_PROGRAM_BYTES, "the check")
    if check is not None and not text.strip():
        raise InvalidInput(
            "the check is empty", code="bad_case", hint="write a function check(input, output)"
        )
    return Expectation(
        has_equals=equals is not None,
        equals=None if equals is None else read_output(equals.encode()),
        contains=tuple(contains),
        excludes=tuple(excludes),
        check=text,
    )


@brain_command("list", examples=("brain evolve case list", "brain evolve case list count-words"))
@argument("slug", metavar="[SKILL]", required=False, default="")
def evolve_case_list_command(app: App, slug: str) -> None:
    """List the cases of a skill, or of all skills.

    Held-out cases are listed too: this command is for people.
    """
    found = app.brain.gate.list_cases(slug)
    emit(app, {"cases": found}, _list_lines(found))


def _list_lines(found: Sequence[SkillCase]) -> Iterator[str]:
    if not found:
        yield "No cases."
    yield from align_columns(
        (
            escape(one.slug),
            escape(one.name),
            one.split or "broken",
            escape(one.problem or printable_text(_as_text(one.input), _SHOWN_CHARS)),
        )
        for one in found
    )


@brain_command("show", examples=("brain evolve case show count-words two-words",))
@argument("slug", type=SlugType())
@argument("name", type=NonEmptyType())
def evolve_case_show_command(app: App, slug: str, name: str) -> None:
    """Show a case: its input, and what is expected."""
    found = next((one for one in app.brain.gate.list_cases(slug) if one.name == name), None)
    if found is None:
        raise NotFound(
            f"{slug} has no case {name}",
            code="no_case",
            hint=f"`brain evolve case list {slug}` lists them",
        )
    emit(app, found, _case_lines(found))


def _case_lines(case: SkillCase) -> Iterator[str]:
    yield escape(f"{case.path}: {case.problem or case.split}")
    if case.problem:
        return
    yield escape_lines(f"input: {_as_text(case.input)}")
    for name, value in case.expect.items():
        shown = f"\n{value.rstrip()}" if name == "check" else f" {_as_text(value)}"
        yield escape_lines(f"{name}:{shown}")
    if case.source:
        yield escape(f"source: {case.source}")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
