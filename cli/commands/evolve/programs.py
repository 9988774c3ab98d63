"""The commands for skills that run: acquire, admit, attempts, allow and `brain skill run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from brain import evolve, limits
from brain.errors import InvalidInput, ToolFailure
from brain.programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from brain.programs.advice import ADVICE, CODE_PROFILES
from brain.programs.needs import FIXTURES_FOLDER, pin_resources, read_needs
from brain.programs.program import is_program_file
from brain.skills.skill_layout import SKILL_FILES

from ...command import (
    OVERWRITE_EXITS,
    TRIAL_EXITS,
    argument,
    brain_command,
    flag,
    option,
    repeated_option,
)
from ...context import App
from ...error_report import NOT_ADMITTED, Failure
from ...options import message_option
from ...output import emit
from ...params import SlugType
from ...render.human_format import align_columns, local_time, pluralize, short_id
from ...terminal import escape, escape_lines, is_terminal
from ...user_files import read_input, read_text_input

if TYPE_CHECKING:
    from brain.repo.learning.admission import Approvals
    from brain.repo.learning.change import SkillEdit
    from brain.results import AttemptView, Decided, ImportedRegistry

profile_option = option(
    "--profile",
    type=click.Choice(CODE_PROFILES),
    help="How the code is read before the trial: script gives advice alone, the others refuse"
    " what is on the blocklist of an agent.  [default: script]",
)


@brain_command(
    "acquire",
    examples=(
        "brain evolve acquire count-words -f count-words -d 'Count the words of a text'",
        'brain evolve acquire count-words --code w.py --payload \'{"text": "a b"}\' '
        "--check check.py -d 'Count the words of a text'",
        "brain evolve acquire weather --attempt weather/1f00c2d4 --approve-needs",
    ),
    exits=TRIAL_EXITS,
)
@argument("name", type=SlugType())
@option("-f", "--folder", metavar="FOLDER", type=None, help="Take all files of it from FOLDER.")
@option("--code", metavar="FILE", type=None, help="Take the code from FILE; - is standard input.")
@option("--lang", type=click.Choice(("python", "bash")), help="Of the code.  [default: python]")
@option("--schema", metavar="FILE", type=None, help="The JSON Schema of the parameters.")
@repeated_option("--payload", metavar="JSON", help="Arguments to try it with; repeatable.")
@option("--check", metavar="FILE", type=None, help="Python with check(payload, output).")
@option("--needs", metavar="FILE", type=None, help="What it needs, as JSON, such as hosts.")
@option("--fixtures", metavar="FOLDER", type=None, help="What stands for its hosts in the trial.")
@option("--attempt", metavar="ATTEMPT", type=None, help="Take all files of a rejected attempt.")
@flag("--approve-needs", help="Approve what it needs, without a question.")
@option("-d", "--description", metavar="TEXT", help="One line that says when to use the skill.")
@profile_option
@message_option
def evolve_acquire_command(
    app: App,
    name: str,
    folder: str | None,
    code: str | None,
    lang: Literal["python", "bash"] | None,
    schema: str | None,
    payload: tuple[str, ...],
    check: str | None,
    needs: str | None,
    fixtures: str | None,
    attempt: str | None,
    approve_needs: bool,
    description: str | None,
    profile: str | None,
    message: str | None,
) -> None:
    """Make a skill that runs, if it passes its tests.

    The code is tried in a sandbox with your payloads and with others that are made from the
    schema. check(payload, output) raises if an output is wrong, for any payload; without one
    that tells right from wrong, wrong programs pass, too, and the skill is not admitted. What it
    needs of the world you approve before: you are asked, or give --approve-needs. In the trial,
    recorded answers and sample files stand for it. If the skill has held-out cases, these run
    too, and one that gets worse rejects it. The skill and its verdict are one snapshot.
    A rejected attempt is kept: see 'brain evolve attempts', and 'accept' there.
    """
    if sum(source is not None for source in (folder, code, attempt)) != 1:
        raise click.UsageError("Give one of --folder, --code and --attempt.")
    if folder is not None:
        edit = _edit_from_folder(name, Path(folder), description)
    elif attempt is not None:
        edit = _edit_from_attempt(app, name, attempt, description)
    else:
        from brain.evolve.acquire import ProgramDraft, build_edit, build_program

        if not payload:
            raise InvalidInput(
                "there is no payload to try the skill with",
                code="no_payload",
                hint='give one with --payload, as a JSON object such as \'{"text": "a b"}\'',
            )
        stand_ins = {} if fixtures is None else _read_folder(Path(fixtures))
        draft = ProgramDraft(
            name=name.replace("-", "_"),
            description=description or "",
            code=_read_text(code or "-", "the code"),
            payloads=[_parse_object(text, "--payload") for text in payload],
            schema=None
            if schema is None
            else _parse_object(_read_text(schema, "the schema"), "--schema"),
            check="" if check is None else _read_text(check, "the check"),
            needs=None
            if needs is None
            else _parse_object(_read_text(needs, "the needs"), "--needs"),
            fixtures={f"{FIXTURES_FOLDER}{path}": data for path, data in stand_ins.items()},
            lang=lang or "python",
        )
        program = build_program(draft, app.brain.programs.read_definition)
        edit = build_edit(app.brain, program, description)
    from brain.repo.learning.gate import TrialOptions

    decided = app.brain.programs.acquire(
        edit,
        options=TrialOptions(code_profile=profile or ADVICE),
        message=message or "",
        are_needs_approved=approve_needs or _ask_for_needs(app, edit),
    )
    emit(app, decided, _decided_lines(decided))
    _raise_if_rejected(decided)


def _ask_for_needs(app: App, edit: SkillEdit) -> bool:
    """Ask a person at a terminal to approve what a program needs; elsewhere nobody does."""
    from brain.programs.program import Program

    needs = read_needs(Program(slug=edit.name, files=dict(edit.files))).describe()
    if not needs or app.as_json or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    question = f"{escape(edit.name)} needs {escape(', '.join(needs))}. Approve that?"
    return click.confirm(question, err=True)


def _edit_from_attempt(app: App, name: str, attempt: str, description: str | None) -> SkillEdit:
    from brain.programs.program import Program
    from brain.repo.learning.change import SkillEdit
    from brain.skills.frontmatter import load_leniently

    files = app.brain.programs.read_attempt(attempt).files
    body = files.get(SKILL_FILES[0])
    described = load_leniently(body)[0].get("description") if body else None
    program = {path: data for path, data in files.items() if is_program_file(path)}
    needs = read_needs(Program(slug=name, files=program))
    return SkillEdit(
        name=name,
        files=program,
        resources={path: files[path] for path in needs.resources if path in files},
        description=description or (described if isinstance(described, str) else None),
        body=body,
    )


def _edit_from_folder(name: str, folder: Path, description: str | None) -> SkillEdit:
    from brain.programs.program import check_tool_name
    from brain.repo.learning.change import SkillEdit

    check_tool_name(name.rpartition("/")[2].replace("-", "_"))
    found = {path: data for path, data in _read_folder(folder).items() if _is_taken(path)}
    files = {path: data for path, data in found.items() if is_program_file(path)}
    text = folder / "SKILL.md"
    body = read_input(str(text), limits.MAX_SKILL_BYTES, "SKILL.md") if text.is_file() else None
    resources = {path: data for path, data in found.items() if path not in files}
    if resources:
        files = pin_resources(files, resources)
    return SkillEdit(
        name=name, files=files, resources=resources, description=description, body=body
    )


def _is_taken(path: str) -> bool:
    """Tell whether a file of a folder is part of what runs: no text, cache or case of a gate."""
    is_other = path in (*SKILL_FILES, "README.md", "LICENSE", "LICENSE.txt")
    is_other = is_other or path.startswith(("cases/", "evals/"))
    return not is_other and not any(
        part.startswith(".") or part == "__pycache__" for part in path.split("/")
    )


def _read_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by path. Raises `InvalidInput` for a link that leaves it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(paths) > limits.MAX_PROGRAM_FILES:
        raise InvalidInput(
            f"{folder} has {len(paths)} files",
            code="too_large",
            hint=f"name a folder of one skill, with at most {limits.MAX_PROGRAM_FILES} files",
        )
    for path in paths:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput(
                f"{path} is a link that leads out of the folder",
                code="bad_path",
                hint="put the file itself there",
            )
    return {
        path.relative_to(folder).as_posix(): read_input(
            str(path), limits.MAX_PROGRAM_BYTES, path.name
        )
        for path in paths
    }


def _parse_object(text: str, option: str) -> dict[str, Any]:
    """Return the object in a JSON text; `option` is the one that gave it."""
    from brain.serve.tools.checks import parse_arguments

    try:
        return parse_arguments(text)
    except ToolFailure as error:
        fault = error.message.removeprefix("These arguments are refused: they are ").rstrip(".")
        raise InvalidInput(
            f"{option} is {fault}",
            code="bad_arguments",
            hint=f'give {option} a JSON object, such as \'{{"text": "a b"}}\'',
        ) from error


def _read_text(name: str, what: str) -> str:
    return read_text_input(name, limits.MAX_PROGRAM_BYTES, what)


@brain_command(
    "admit",
    examples=("brain evolve admit count-words", "brain evolve admit --all"),
    exits=TRIAL_EXITS,
)
@argument("slug", metavar="[SKILL]", required=False, type=SlugType())
@flag("--all", "every", help="Try all skills that do not run here.")
@profile_option
@message_option
def evolve_admit_command(
    app: App, slug: str | None, every: bool, profile: str | None, message: str | None
) -> None:
    """Try the program of a skill, so that it may run here.

    Whatever way skill.py came or was changed, it runs only after its tests passed on this
    machine: after a clone, a merge or an edit, try it again. What the lineage admits already
    is only noted for this machine; else a snapshot records the admission.
    """
    from brain.repo.learning.gate import TrialOptions

    if (slug is None) != every:
        raise click.UsageError("Name a skill, or give --all.")
    programs = app.brain.programs
    slugs = [slug] if slug else [one.slug for one in programs.list() if one.status != "runnable"]
    options = TrialOptions(code_profile=profile or ADVICE)
    decided = [programs.admit(one, options=options, message=message or "") for one in slugs]
    lines = [line for one in decided for line in (*_decided_lines(one), *_missing_lines(app, one))]
    emit(app, {"decided": decided} if every else decided[0], lines or ["All programs may run."])
    for one in decided:
        _raise_if_rejected(one)


def _decided_lines(decided: Decided) -> Iterator[str]:
    if decided.decision == "reject":
        yield escape(f"{decided.slug} was not admitted: {decided.reason}")
        yield escape(f"Attempt {decided.attempt}, {pluralize(decided.cases, 'case')}")
        return
    what = "admitted" if decided.changed else "was admitted before, and may run here now"
    yield escape(f"{decided.slug} {what}, version {decided.version}: {decided.cases} cases passed")
    yield f"Snapshot {short_id(decided.snapshot)}"


def _missing_lines(app: App, decided: Decided) -> Iterator[str]:
    """Yield what an admitted program needs that nobody approved on this machine."""
    from brain.repo.learning.approvals import find_missing

    if decided.decision == "admit":
        runnable = app.brain.programs.find_runnable(decided.slug)
        for one in find_missing(read_needs(runnable.program), runnable.tried):
            yield escape(f"It needs {one}: approve it with `brain evolve allow {decided.slug}`")


def _raise_if_rejected(decided: Decided) -> None:
    from brain.repo.learning.gate import WAITING

    waits = decided.reason.startswith(WAITING)
    if decided.decision == "reject":
        raise Failure(
            "needs_approval" if waits else "rejected",
            f"{decided.slug} {'waits' if waits else 'did not pass its tests'}",
            f"`brain evolve acquire {decided.slug} --attempt {decided.attempt} --approve-needs`"
            " approves and tries it"
            if waits
            else f"`brain evolve attempts {decided.attempt}` shows what was tried",
            NOT_ADMITTED,
        )


@brain_command(
    "attempts",
    examples=("brain evolve attempts", "brain evolve attempts count-words"),
)
@argument("skill", metavar="[SKILL|ATTEMPT]", required=False, default="")
def evolve_attempts_command(app: App, skill: str) -> None:
    """List rejected attempts, or show one.

    ATTEMPT is a name from the list, such as count-words/1f00c2d4: its verdict and its code
    or text are printed. Garbage collection keeps the newest 20.
    """
    if "/" in skill:
        view = app.brain.programs.read_attempt(skill)
        files = {path: data.decode(errors="replace") for path, data in view.files.items()}
        emit(app, {**view._asdict(), "files": files}, _attempt_lines(view, files))
        return
    found = app.brain.programs.attempts(skill)
    rows = [(one.attempt, local_time(one.time), one.author, one.reason) for one in found]
    lines = align_columns(rows) if found else ["No rejected attempts are kept."]
    emit(app, {"attempts": found}, lines)


def _attempt_lines(view: AttemptView, files: Mapping[str, str]) -> Iterator[str]:
    yield escape(f"{view.attempt} by {view.author}, {local_time(view.time)}: {view.reason}")
    for case in view.verdict.get("cases", ()):
        if case["outcome"] == "fail":
            yield escape(f"  {case['name']}: {case.get('detail', '')}")
    shown = (PROGRAM_FILE, SCHEMA_FILE, CASES_FILE, CHECK_FILE)
    for path in shown if PROGRAM_FILE in files else SKILL_FILES:
        if path in files:
            yield ""
            yield escape(path)
            yield escape_lines(files[path].rstrip("\n"))


@brain_command(
    "allow",
    examples=(
        "brain evolve allow log-summary --read ~/logs",
        "brain evolve allow weather --host api.example.org",
        "brain evolve allow weather --needs",
        "brain evolve allow weather --remove",
    ),
    exits=TRIAL_EXITS,
)
@argument("slug", type=SlugType())
@repeated_option("--read", "folders", metavar="[NAME=]PATH", help="A folder or file it may read.")
@repeated_option("--write", metavar="[NAME=]FOLDER", help="A folder that takes what it writes.")
@repeated_option("--host", "hosts", metavar="HOST", help="A host that it may reach; repeatable.")
@flag("--needs", help="All that it needs, but for folders, which have a place here alone.")
@flag("--remove", help="Remove these, or all if none is named.")
@flag("--yes", help="Allow also what has consequences, without a question.")
def evolve_allow_command(
    app: App,
    slug: str,
    folders: tuple[str, ...],
    write: tuple[str, ...],
    hosts: tuple[str, ...],
    needs: bool,
    remove: bool,
    yes: bool,
) -> None:
    """Show or change what the program of a skill may reach.

    By default that is nothing: no files and no network. What you allow is for exactly these
    bytes, on this machine, and is kept outside the brain: a changed program has to be allowed
    again. A folder is found at /folders/NAME inside, without keys, brains, FIFOs, sockets and
    devices; hosts are reached by https with skillapi.fetch. Your home folder, the brain and
    this machine's own places are refused; for a folder with keys and for private addresses
    you are asked.
    """
    from brain.repo.learning.approvals import approve_needs, change_approvals, find_missing

    runnable = app.brain.programs.find_runnable(slug)
    wanted = read_needs(runnable.program)
    if folders or write or hosts or needs or remove:
        approved: Approvals = runnable.tried
        if folders or write or hosts or remove:
            approved = change_approvals(approved, folders, hosts, write, remove=remove)
        if needs:
            approved = approve_needs(approved, wanted)
        _approve(app, slug, approved, yes or remove)
    tried = app.brain.programs.find_runnable(slug).tried
    missing = find_missing(wanted, tried)
    names = ("folders", "write", "hosts", "secrets", "minutes", "memory_mb")
    document = {name: getattr(tried, name) for name in names}
    document = {"skill": slug, **document, "missing": missing}
    emit(app, document, _approval_lines(slug, tried, missing))


def _approve(app: App, slug: str, approved: Approvals, knowingly: bool) -> None:
    """Approve it; what has consequences, only if the user says so, at a terminal or by --yes."""
    from dataclasses import fields

    from brain.repo.learning.admission import Approvals

    parts = {one.name: getattr(approved, one.name) for one in fields(Approvals)}
    try:
        app.brain.programs.approve(slug, **parts, knowingly=knowingly)
    except InvalidInput as error:
        asks = error.code == "consequences" and is_terminal(sys.stdin) and is_terminal(sys.stderr)
        question = f"{escape(error.message)}. Allow it?"
        if not asks or app.as_json or not click.confirm(question, err=True):
            raise
        app.brain.programs.approve(slug, **parts, knowingly=True)


def _approval_lines(slug: str, known: Approvals, missing: Sequence[str]) -> Iterator[str]:
    from brain.repo.learning.approvals import explain_host

    if not known.folders and not known.write and not known.hosts:
        yield escape(f"{slug} may reach nothing: no files and no network.")
    for name, path in known.folders.items():
        yield escape(f"{slug} may read {path}, inside at /folders/{name}")
    for name, path in known.write.items():
        yield escape(f"{slug} may write to {path} what it leaves at /tmp/{name}")
    for host in known.hosts:
        yield escape(f"{slug} may reach {host}")
        yield from (escape(f"  {consequence}") for consequence in explain_host(host))
    for secret in known.secrets:
        yield escape(f"{slug} has the value of {secret} put into its requests, and never sees it")
    if known.minutes or known.memory_mb:
        yield f"{slug} may take {known.minutes:g} minutes and {known.memory_mb} MB, if that is more"
    for one in missing:
        yield escape(f"{slug} needs {one}, which is not approved")


@brain_command(
    "import-registry",
    examples=("brain evolve import-registry ~/.assistant/acquired_skills",),
    exits=OVERWRITE_EXITS,
)
@argument("folder", type=None)
def evolve_import_registry_command(app: App, folder: str) -> None:
    """Import the acquired skills of another assistant.

    FOLDER has skills_registry.json or index.json, and a file NAME.py for each skill. They
    come as not admitted: give each tests, then 'brain evolve admit' tries it. Unsafe names
    are left out and named. A damaged registry is an error, and imports nothing.
    """
    result = evolve.import_registry(app.brain, Path(folder))
    emit(app, result, _registry_lines(result))


def _registry_lines(result: ImportedRegistry) -> Iterator[str]:
    for skill in result.skills:
        verb = "imported" if skill.changed else "is here already"
        yield escape(f"{skill.slug} {verb}, version {skill.version}: {skill.next_step}")
    for refused in result.refused:
        yield escape(f"{refused.name} left out: {refused.reason}")
    yield f"{pluralize(len(result.skills), 'skill')}, {len(result.refused)} left out"


@brain_command(
    "run",
    examples=(
        'brain skill run count-words \'{"text": "a b c"}\'',
        "generate | brain skill run count-words -",
    ),
    exits=TRIAL_EXITS,
)
@argument("slug", type=SlugType())
@argument("payload", metavar="[JSON]", default="{}")
def skill_run_command(app: App, slug: str, payload: str) -> None:
    """Run the program of a skill in the sandbox.

    JSON is an object with its arguments; - reads it from standard input. The output is
    printed as text, or as JSON. Only what was admitted, and tried on this machine, runs.
    The run is counted: see 'brain evolve stats'.
    """
    from brain.serve.tools.checks import parse_arguments

    text: str | bytes = (
        payload
        if payload != "-"
        else read_input("-", limits.MAX_CALL_BYTES, "the arguments, as JSON,")
    )
    run = app.brain.programs.run(slug, parse_arguments(text))
    output = run.output
    shown = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    emit(app, run, [escape_lines(shown)] if run.ok else ())
    if run.uncounted:
        app.print_note(f"Note: the run was not counted: {run.uncounted}")
    if run.health is not None:
        app.print_note(f"Note: {run.health.slug}: {run.health.reason}")
    if not run.ok:
        raise Failure(
            "skill_refused" if run.refused else "skill_failed",
            f"{slug} {'refused these arguments' if run.refused else 'failed'}: {run.error}",
        )
