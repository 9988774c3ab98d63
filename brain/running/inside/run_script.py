"""Runs a skill that is a script and has needs. It runs inside the sandbox."""

import sys

import needed

skill = type(sys)("__main__")
skill.__file__ = sys.argv[0] = __file__.rpartition("/")[0] + "/skill.py"
sys.modules["__main__"] = skill
folders = needed.prepare()
with open(skill.__file__, "rb") as source:
    code = compile(source.read(), skill.__file__, "exec")
try:
    exec(code, vars(skill))
finally:
    if folders:
        needed.send({"files": needed.give_back(folders)})
