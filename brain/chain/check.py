"""`python -m brain.chain.check FILE`: an alias of the command `brain verify FILE`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder; see cli/__main__.py
    import runpy

    sys.argv[1:1] = ["verify"]
    runpy.run_module("brain_cli")  # by its name: the library knows no terminal
