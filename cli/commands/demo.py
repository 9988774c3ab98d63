"""x"""

from __future__ import annotations

from ..command import command as brain_command
from ..context import App


@brain_command("demo", examples=("brain demo",), exits=(0, 1, 2, 130))
def command(app: App) -> None:
    """Tell the whole story on an example."""
