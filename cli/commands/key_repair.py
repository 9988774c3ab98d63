"""`brain key repair`."""

from __future__ import annotations

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..trusting import change, signing_options


@brain_command(
    "repair", examples=("brain key repair", "brain key repair --key laptop"), exits=WRITES
)
@signing_options
def command(app: App, own: str | None, passphrase_file: str | None) -> None:
    """Put the last good trust file back.

    While trust.json is broken, those whom the last good one entitles have to sign. The
    repair is a snapshot, which your own key signs; 'brain verify' then only warns of
    the broken file.
    """
    change(app, own, passphrase_file, lambda brain: brain.repair_trust())
