"""`brain key list`."""

from __future__ import annotations

from .. import keys
from ..command import command as brain_command
from ..context import App
from ..output import emit, iso
from ..text import columns, when


@brain_command("list", examples=("brain key list", "brain key list --json"), exits=(0, 1, 2, 130))
def command(app: App) -> None:
    """List your own keys.

    Who may sign a brain is another list: see 'brain key trusted'.
    """
    from brain.trust import keyfile
    from brain.trust.statement import key_text

    own = keyfile.every(keys.folder())
    rows = [
        {
            "name": key.name,
            "key": key_text(key.key),
            "encrypted": key.encrypted,
            "time": iso(key.created),
        }
        for key in own
    ]
    lines = columns(
        (key.name, key_text(key.key), when(key.created), "with passphrase" if key.encrypted else "")
        for key in own
    )
    emit(app, {"keys": rows}, lines)
