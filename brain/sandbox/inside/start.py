"""The first file that runs in a sandbox: waits until the sandbox is complete, then runs the job.

It runs inside, as .start.py in the folder of the job, and imports nothing of the project. The
parent answers only while it lives; by then the kernel ends the sandbox with it, so no job outlives
it unseen.
"""

import posix
import sys

posix.closerange(5, 1 << 20)  # whatever else the parent had open as it started this
posix.write(3, b"?\n")
if posix.read(4, 2) != b"!\n":
    posix._exit(125)
# Not on the command line, where all users of the machine would see them.
_folder = sys.argv[0].rpartition("/")[0]
with open(_folder + "/.arguments", "rb") as _file:
    sys.argv[:] = _file.read().decode("utf-8", "surrogateescape").split("\0")
sys.path.append(_folder + "/modules")
_main = type(sys)("__main__")
_main.__file__ = sys.argv[0]
with open(_main.__file__, "rb") as _file:
    _code = compile(_file.read(), _main.__file__, "exec")
# `site` gives these, which is left out for speed.
vars(sys.modules["builtins"]).update(exit=sys.exit, quit=sys.exit)
_start = sys.modules["__main__"]
sys.modules["__main__"] = _main
exec(_code, vars(_main))
