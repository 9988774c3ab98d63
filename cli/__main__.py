"""`python -m brain_cli`: the same as the installed command.

Python puts the current folder first on the path for `-m`; it is taken off again,
so that a file there is not run in place of a module. `python -P -m brain_cli`
does the same before anything of ours runs.
"""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from .main import main

main()
