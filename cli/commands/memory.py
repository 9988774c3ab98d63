"""The commands of `brain memory`: show, add and remove entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from brain import limits
from brain.errors import InvalidInput, printable_text

from ..command import OVERWRITE_EXITS, WRITE_EXITS, argument, brain_command, option
from ..context import App
from ..options import no_record_option
from ..output import emit
from ..params import NonEmptyType
from ..render.human_format import short_id
from ..render.ledgers import commitment_lines, raise_if_not_committed
from ..terminal import escape, escape_lines
from ..user_files import read_text_input

if TYPE_CHECKING:
    from brain.merging.memory_entries import MemoryOperation
    from brain.results import MemoryChanged, MemoryRead

_DEFAULT_NAME = "memory"
_NAME_HELP = "`memory`, `user`, or a file as in `brain memory show`.  [default: memory]"


@brain_command(
    "show",
    examples=("brain memory show", "brain memory show user", "brain memory show notes.jsonl"),
    exits=WRITE_EXITS,
)
@argument("name", metavar="[NAME]", required=False, type=NonEmptyType())
@no_record_option
def memory_show_command(app: App, name: str | None) -> None:
    """List the entries of a memory.

    NAME is `memory` (MEMORY.md, the default), `user` (USER.md) or the name of a file of JSON
    Lines. The last line says which there are, and how full this one is. Edits of the folder are
    recorded first.
    """
    app.show_folder()
    found = app.brain.memory.read(name or _DEFAULT_NAME)
    names = app.brain.memory.list_targets()
    emit(app, {**found._asdict(), "names": names}, _memory_lines(found, names))


def _memory_lines(found: MemoryRead, names: Sequence[str]) -> Iterator[str]:
    for number, entry in enumerate(found.entries, 1):
        first, *more = escape_lines(entry).split("\n")
        yield f"{number:>3}. {first}"
        yield from (f"     {line}" for line in more)
    yield f"{_usage(found, len(found.entries))}; there are: {escape(', '.join(names))}"


def _usage(found: MemoryRead | MemoryChanged, count: int) -> str:
    size = f"{found.characters} of {found.limit} characters"
    return f"{escape(found.path)}: {_count_text(count)}, {size}"


def _count_text(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


@brain_command(
    "add",
    examples=(
        'brain memory add "Tests need the database running."',
        'brain memory add "Prefers short answers." --to user',
        "summarize | brain memory add -",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("text", type=NonEmptyType())
@option("--to", "name", type=NonEmptyType(), metavar="NAME", help=_NAME_HELP)
def memory_add_command(app: App, text: str, name: str | None) -> None:
    """Add an entry to a memory.

    TEXT is the entry; - reads standard input. Of a file of JSON Lines it is one JSON object. An
    entry that exists is not added again, and one that does not fit into the limit is refused.
    Text that is certainly a secret is refused, too.
    """
    from brain.merging.memory_entries import MemoryOperation

    if text == "-":
        text = read_text_input("-", limits.MAX_EDIT_BYTES, "the entry")
    _change_memory(app, name, MemoryOperation("add", content=text), "Added")


@brain_command(
    "remove",
    examples=("brain memory remove 2", 'brain memory remove "database" --from user'),
    exits=OVERWRITE_EXITS,
)
@argument("entry", metavar="TEXT|NUMBER", type=NonEmptyType())
@option("--from", "name", type=NonEmptyType(), metavar="NAME", help=_NAME_HELP)
def memory_remove_command(app: App, entry: str, name: str | None) -> None:
    """Remove an entry of a memory; its history stays.

    NUMBER is that of `brain memory show`, TEXT is part of exactly one entry. 'brain undo'
    brings it back.
    """
    from brain.merging.memory_entries import MemoryOperation

    if entry.isascii() and entry.isdigit():
        app.show_folder()  # numbers are those of the folder as it is
        entry = _find_entry(app.brain.memory.read(name or _DEFAULT_NAME), int(entry[:9]))
    _change_memory(app, name, MemoryOperation("remove", old_text=entry), "Removed")


def _find_entry(found: MemoryRead, number: int) -> str:
    if not 1 <= number <= len(found.entries):
        raise InvalidInput(
            f"there is no entry {number}: {found.path} has {_count_text(len(found.entries))}",
            code="no_match",
            hint="`brain memory show` lists them with their numbers",
        )
    return found.entries[number - 1]


def _change_memory(app: App, name: str | None, operation: MemoryOperation, verb: str) -> None:
    from brain.serve.tools.checks import NewSecretCheck

    check = NewSecretCheck(app.brain)
    try:
        changed = app.brain.memory.apply(name or _DEFAULT_NAME, [operation], check=check)
    except InvalidInput as error:
        if error.code == "memory_full":  # its hint is about a call of the tool
            error.hint = "make room first: `brain memory show`, then `brain memory remove NUMBER`"
        raise
    emit(app, changed, _changed_lines(changed, verb))
    for doubt in check.doubts:
        app.print_note(f"Note: {printable_text(doubt.message)}")
    raise_if_not_committed(changed.commitment)


def _changed_lines(changed: MemoryChanged, verb: str) -> Iterator[str]:
    done = verb if changed.changed else "Nothing to do: it is there already"
    yield f"{done}. {_usage(changed, changed.entries)}"
    if changed.changed:
        yield f"Snapshot {short_id(changed.snapshot)}"
    yield from commitment_lines(changed.commitment)
