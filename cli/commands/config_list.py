"""`brain config list`."""

from __future__ import annotations

from collections.abc import Iterator

from ..command import command as brain_command
from ..configured import described, lines
from ..context import App
from ..ledgers import LOCAL, book, folder
from ..output import emit
from ..terminal import escape


@brain_command(
    "list", examples=("brain config list", "brain config list --json"), exits=(0, 1, 2, 130)
)
def command(app: App) -> None:
    """List the ledgers.

    Of the nodes only the host is shown, for the rest of an address often holds a key.
    """
    from brain.chain import book as settings

    found = [described(name, one) for name, one in settings.load(book()).items()]
    document = {"file": str(book()), "local": str(folder() / LOCAL), "ledgers": found}
    emit(app, document, _lines(found))


def _lines(found: list[dict[str, object]]) -> Iterator[str]:
    yield f"{LOCAL}: the log of this machine, in {escape(str(folder() / LOCAL))}"
    for one in found:
        yield from lines(one)
