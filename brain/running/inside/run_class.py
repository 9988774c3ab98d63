"""Runs a skill that is a class: its definition, or its work. It runs inside the sandbox.

Standard input is a JSON object: `{"payload": {…}}`, or `{}` for the definition. The result goes to
descriptor 3.
"""

import json
import posix
import sys
import types

import skillapi


def load_instance():
    module = types.ModuleType("skill")
    module.__file__ = __file__.rpartition("/")[0] + "/skill.py"
    sys.modules["skill"] = module
    with open(module.__file__, "rb") as file:
        exec(compile(file.read(), module.__file__, "exec"), module.__dict__)
    made = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, skillapi.SkillBase)
        and value.__module__ == module.__name__
    ]
    if len(made) != 1:
        raise TypeError(f"{len(made)} classes on SkillBase; a skill is one")
    return made[0]()


def describe(skill):
    answer = skill.definition()
    return {
        "name": answer.name,
        "description": answer.description,
        "params": [
            {
                "name": param.name,
                "type": param.param_type,
                "description": param.description,
                "required": bool(param.required),
                "default": param.default,
            }
            for param in answer.params
        ],
        "capability_level": answer.capability_level,
        "timeout_seconds": answer.timeout_seconds,
    }


def execute(skill, payload):
    work = skill.execute(**payload)
    if "asyncio" in sys.modules:  # else it can wait for nothing, and importing it takes longest
        import asyncio

        answer = asyncio.run(work)
    elif isinstance(work, types.CoroutineType):
        answer = finish(work)
    else:
        answer = work
    if not isinstance(answer, skillapi.SkillResult):
        answer = skillapi.SkillResult(output=answer)
    return {
        "success": bool(answer.success),
        "output": answer.output,
        "error": str(answer.error or ""),
    }


def finish(work):
    try:
        while True:
            work.send(None)
    except StopIteration as end:
        return end.value


def main():
    asked = json.load(sys.stdin)
    try:
        skill = load_instance()
        answer = execute(skill, asked["payload"]) if "payload" in asked else describe(skill)
        result = json.dumps(answer, allow_nan=False)
    except Exception:
        import traceback  # which takes long to load

        traceback.print_exc()
        sys.exit(1)
    line = f"={result}\n".encode()
    while line:
        line = line[posix.write(3, line) :]


main()
