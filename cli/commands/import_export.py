"""Commands that move skills in and out of other programs: adopt, publish."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError, Conflict
from brain.util.utc_time import utc_time

from ..command import (
    OVERWRITE_EXITS,
    argument,
    brain_command,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..options import allow_option, no_record_option, revision_argument
from ..output import emit
from ..params import TextType
from ..render.changes import conflict_line, copy_hint_lines, notice_lines, skipped_lines
from ..render.human_format import align_columns, local_time, pluralize, short_id
from ..render.run_report import record_for_patterns, source_text
from ..terminal import ProgressBar, escape
from ..trust_changes import pin_and_report_roots
from ..user_files import named_in_errors, read_input, write_output_file

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import Adopted, Notice, Published


@brain_command(
    "adopt",
    examples=(
        "brain adopt ~/.hermes --dry-run",
        "brain adopt ~/.hermes",
        "brain adopt ~/code/project my-agent",
        "brain adopt ~/.codex my-agent --as codex",
        "brain adopt ~/code/skills my-agent",
        "brain adopt https://github.com/anthropics/skills my-agent",
        "brain adopt pdf.skill my-agent",
        "brain adopt session.jsonl receipt.json",
        "brain adopt sessions.jsonl receipts/ --as hermes",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("path", metavar="PATH", type=TextType("bad_path"))
@argument("into", metavar="[INTO]", required=False, type=TextType("bad_path"))
@option("--as", "kind", metavar="KIND", help="The program that PATH belongs to.")
@option("--name", metavar="TEXT", help="Name of a new brain.")
@flag("--dry-run", help="Print what would be imported; write nothing.")
@flag("--overwrite", help="Replace receipts in INTO whose content differs.")
@allow_option("Import a file")
def adopt_command(
    app: App,
    path: str,
    into: str | None,
    kind: str | None,
    name: str | None,
    dry_run: bool,
    overwrite: bool,
    allow: tuple[str, ...],
) -> None:
    """Import from other programs.

    Takes skills, memory and prompts. Without INTO, PATH itself becomes a brain, and program and
    brain share the files; but inside a brain, or with -C, INTO is that brain. With INTO, the
    files are copied to a separate brain, new or existing; adopting again merges what changed in
    PATH since.

    Supports Hermes, OpenClaw, Claude Code, Codex, Gemini CLI, Qwen Code, opencode, Copilot,
    Cursor, Cline, Zed, Windsurf, Goose and Continue (homes, projects, workspaces), agents of
    Letta (MemFS), and any folder with skills, at any depth, also packed as a .skill or .zip
    file. PATH may be the URL of a git
    repository (https, ssh, file), of which the files of the newest commit are taken; outside of
    a brain INTO is then, as for a packed file, a folder with its name by default. Secrets,
    databases and caches are left out; a file that only may hold a secret is imported and
    reported.

    PATH may also be the transcript of a session: of Claude Code, Codex or Gemini CLI, `opencode
    export`, `hermes sessions export`, or messages of OpenAI; - is standard input. Its runs are
    listed, and in a brain the order in which they used skills is recorded for 'brain evolve
    patterns'. With INTO, a file, or a folder for the runs of several sessions, their receipts
    are written there, with excerpts of the texts, without secrets: pass one to `brain skill
    upsert --receipt`. --as names the format (claude, codex, gemini, hermes, opencode, openai).
    """
    from brain import Brain

    if "" in (path, into):
        raise click.BadParameter("the folder name is empty", param_hint="PATH")
    if _is_transcript(path):
        _adopt_transcript(app, path, into, kind, dry_run, overwrite)
        return
    target = Path(into) if into is not None else _default_target(app, path)
    changes = ""
    if dry_run:
        with ProgressBar(app) as bar:
            result = Brain.preview_adoption(path, target, kind, allow, progress=bar)
    else:
        new = not Brain.exists(target or Path(path))
        with ProgressBar(app) as bar:
            result = Brain.adopt(
                path,
                target,
                kind,
                allow,
                name=name or "",
                author=app.author,
                sign_with=app.signing_key(),
                ledgers=app.open_ledger,
                progress=bar,
            )
        if new and result.brain:
            with Brain.open(result.path) as made:
                pin_and_report_roots(app, made, [one.key for one in made.signatures.list(made.id)])
        elif result.changed and result.snapshot and not app.as_json:
            with Brain.open(result.path) as known:
                counts = known.history.show(result.snapshot).counts
            names = ("added", "modified", "removed")
            changes = ": " + ", ".join(f"{counts[name]} {name}" for name in names)
    emit(app, result, _adoption_lines(result, changes))
    if result.conflicts:
        files = pluralize(len(result.conflicts), "file")
        raise Conflict(
            f"{files} changed both in the brain and at the source",
            code="merge_conflict",
            hint="resolve them with `brain resolve`, then `brain merge --continue`, or `--abort`",
        )


def _is_transcript(path: str) -> bool:
    """Tell the transcript of a session from a home, a URL and a packed skill."""
    from brain.adopting.archive import archive_name

    return path == "-" or (os.path.isfile(path) and archive_name(Path(path)) is None)


def _adopt_transcript(
    app: App, file: str, into: str | None, form: str | None, dry_run: bool, overwrite: bool
) -> None:
    from brain import Brain
    from brain.limits import MAX_TRANSCRIPT_BYTES
    from brain.receipts.transcripts import TRANSCRIPT_FORMATS

    if form is not None and form not in TRANSCRIPT_FORMATS:
        raise click.BadParameter(
            f"a transcript is one of {', '.join(TRANSCRIPT_FORMATS)}", param_hint="--as"
        )
    transcript = read_input(file, MAX_TRANSCRIPT_BYTES, "the transcript")
    with named_in_errors(file):
        receipts = Brain.receipts.import_transcripts(transcript, form or "")
    runs = list(_import_runs(receipts, None if dry_run else into, overwrite))
    emit(app, {"runs": runs}, _run_lines(runs))
    if not dry_run:
        record_for_patterns(app, receipts)


def _import_runs(
    receipts: list[Receipt], into: str | None, overwrite: bool
) -> Iterator[dict[str, Any]]:
    """Yield each run, after its receipt was written to the file or the folder `into`."""
    from brain.digest import blob_id
    from brain.receipts import encode_receipt
    from brain.receipts.receipt import receipt_to_json

    taken: Counter[str] = Counter()
    is_folder = into is not None and (len(receipts) > 1 or os.path.isdir(into))
    for receipt in receipts:
        data, path = encode_receipt(receipt), into
        if into is not None and is_folder:
            name = re.sub(r"^[.-]", "_", re.sub(r"[^A-Za-z0-9._-]", "_", receipt.run)[:100])
            taken[name.casefold()] += 1
            number = taken[name.casefold()]
            os.makedirs(into, exist_ok=True)
            path = os.path.join(into, f"{name}~{number}.json" if number > 1 else f"{name}.json")
        if path is not None:
            write_output_file(path, data, overwrite)
        yield {
            "receipt": blob_id(data).hex(),
            "run": receipt.run,
            "task": receipt.task,
            "started": receipt.started,
            "steps": len(receipt.steps),
            "outcome": receipt.outcome,
            "source": receipt_to_json(receipt)["source"],
            "file": path,
        }


def _run_lines(runs: list[dict[str, Any]]) -> Iterator[str]:
    yield from align_columns(
        (
            (
                one["run"],
                local_time(utc_time(one["started"])) if one["started"] else "-",
                pluralize(one["steps"], "step"),
                one["outcome"],
                one["task"].partition("\n")[0],
            )
            for one in runs
        ),
        limit=120,
    )
    for one in runs:
        if one["file"] is not None:
            steps = f"{pluralize(one['steps'], 'step')} of {source_text(one['source'])}"
            yield escape(f"Receipt in {one['file']}: {steps}")


def _default_target(app: App, path: str) -> Path | None:
    """Return the brain that commands use here, else the folder of a repository, else None.

    None adopts in place. A home is never made a brain by somebody who works in another one.
    """
    from brain import Brain, NoBrain
    from brain.adopting.archive import archive_name
    from brain.adopting.clone import parse_repository_url

    if not Brain.exists(Path(path)):
        with suppress(NoBrain):
            here = app.brain_folder()
            if Brain.exists(here):
                return here
    url = parse_repository_url(path)
    name = archive_name(Path(path)) if url is None else url.name
    return None if name is None else Path(name)


def _adoption_lines(result: Adopted, changes: str) -> Iterator[str]:
    from brain.adopting.source_files import SECRET_CODE
    from brain.folder.handles import UNREADABLE

    what = f"{result.kind} at {escape(result.source)}"
    if result.brain and not result.changed and not result.conflicts:
        yield f"Nothing changed since {what} was adopted; snapshot {short_id(result.snapshot)}"
    else:
        verb = "Adopted" if result.brain else "Would adopt"
        yield f"{verb} {', '.join(_adopted_counts(result))} from {what}"
    if result.brain and result.changed:
        yield f"Snapshot {short_id(result.snapshot)} of the brain in {escape(result.path)}{changes}"
    is_news = result.changed or not result.brain or result.conflicts
    urgent = {SECRET_CODE, UNREADABLE, "too_large", "case_collision"}
    left_out = [
        _with_way_to_take(result, one) for one in result.left_out if is_news or one.code in urgent
    ]
    if left_out:
        yield "Left out:"
        yield from (f"  {line}" for line in skipped_lines(left_out))
    if result.in_place:
        yield from copy_hint_lines(result.path, _folders_with_skills(result))
    yield from notice_lines(result.notices)
    yield from map(conflict_line, result.conflicts)


def _with_way_to_take(result: Adopted, left_out: Notice) -> Notice:
    """Return the notice of a file that a text imports with what takes it into this brain."""
    reason, _, command = left_out.message.partition("; take it with mkdir ")
    if not command or not result.brain:
        return left_out
    if result.in_place:
        line = f"!/{left_out.path.partition('/')[0]}"
        way = f"add the line {line} to .brainignore, and record it with `brain snapshot`"
        return left_out._replace(message=f"{reason}; {way}")
    own = left_out.message.replace("BRAIN/", f"{shlex.quote(result.path)}/")
    return left_out._replace(message=own)


def _folders_with_skills(result: Adopted) -> Iterator[str]:
    """Yield the folders whose skills a home that is adopted in place leaves out."""
    for notice in result.left_out:
        if notice.code == "not_in_place":
            yield notice.path.rpartition("/")[0] or notice.path
        elif notice.code == "other_skills":
            yield notice.path


def _adopted_counts(result: Adopted) -> Iterator[str]:
    """Yield the counts of skills and files."""
    from brain.skills.skill_layout import FOLDER_SUFFIXES, find_skill_paths

    skills = find_skill_paths(placed.path for placed in result.taken)
    if count := sum(path.endswith(FOLDER_SUFFIXES) for path in skills):
        yield pluralize(count, "skill")
    yield pluralize(len(result.taken), "file")


PUBLISH_CLIENTS = (
    *("hermes", "openclaw", "claude", "codex", "gemini", "qwen", "opencode", "copilot", "cursor"),
    *("cline", "zed", "windsurf", "devin", "goose", "continue", "agentskills"),
)


@brain_command(
    "publish",
    examples=(
        "brain publish ~/.hermes --dry-run",
        "brain publish --to claude ~/code/project",
        "brain publish --to agentskills dist/skills",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("directory", metavar="DIR", type=TextType("bad_path"))
@revision_argument
@option(
    "--to",
    "client",
    type=click.Choice(PUBLISH_CLIENTS),
    help="The program that reads DIR (default: that from which DIR was adopted).",
)
@flag("--overwrite", help="Replace files that this brain did not write.")
@repeated_option(
    "--include",
    metavar="PATH",
    help="Write a file that came from another home, too; repeatable.",
)
@flag("--dry-run", help="Print what would be written; write nothing.")
@allow_option("Publish")
@no_record_option
def publish_command(
    app: App,
    directory: str,
    client: str | None,
    rev: str | None,
    overwrite: bool,
    include: tuple[str, ...],
    dry_run: bool,
    allow: tuple[str, ...],
) -> None:
    """Export to other programs.

    DIR is a project or the home of the program, or a folder of skills; REV is the snapshot to
    publish (default: @, the head). Each file is copied as the brain has it. Memory and
    prompts are exported too if the program has a place for them. Published files that
    the brain no longer has are removed; files that were edited there are kept. A file
    with a secret is held back and reported; the exit status is then 1.
    """
    if directory == "":
        raise click.BadParameter("the folder name is empty", param_hint="DIR")
    if not dry_run:
        app.record_edits(rev=rev)
    with ProgressBar(app) as bar:
        result = app.brain.publish(
            client,
            directory,
            rev or "@",
            overwrite=overwrite,
            include=include,
            allow=allow,
            dry_run=dry_run,
            progress=bar,
        )
    emit(app, result, _publication_lines(result, dry_run))
    if result.conflicts:
        files = pluralize(len(result.conflicts), "file")
        raise Conflict(
            f"{files} there changed since they were published; nothing was written",
            code="not_ours",
            hint=f"import them with `brain adopt {shlex.quote(directory)}`, or replace them with"
            " --overwrite",
        )
    if result.held_back:
        raise BrainError(
            f"{pluralize(len(result.held_back), 'file')} held back because of secrets",
            code="secrets_found",
            hint="remove the secrets, or publish a false positive with --allow ID",
        )
    behind = [row for row in result.left_out if row.code == "behind_link"]
    if behind:
        raise BrainError(
            f"{pluralize(len(behind), 'file')} changed in the brain and not there, behind links",
            code="behind_link",
            hint="adopt the folder to which the link leads, and publish into that",
        )


def _publication_lines(result: Published, dry_run: bool) -> Iterator[str]:
    for row in result.conflicts:
        yield escape(f"C {row.path}: {row.message}")
    if not result.conflicts:
        verb = "Would write" if dry_run else "Wrote"
        yield (
            f"{verb} {pluralize(len(result.written), 'file')}, {len(result.removed)} removed, "
            f"{result.unchanged} unchanged, in {escape(result.path)}"
        )
        yield f"Snapshot {short_id(result.snapshot)} in the form of {escape(result.kind)}"
    if result.left_out:
        yield "Not published:"
        yield from (f"  {line}" for line in skipped_lines(result.left_out))
    if result.held_back:
        yield "Held back:"
        yield from (escape(f"  {row.path}: {row.message}") for row in result.held_back)
    yield from notice_lines(result.notices)
