"""`python -m brain_cli`: the same as the installed command.

For `-m`, Python adds the current folder to the module path; this removes it, so that a
file there cannot replace a module. `python -P -m brain_cli` does not add it at all.
"""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from .main import main

main()
