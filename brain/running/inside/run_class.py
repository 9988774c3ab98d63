"""Runs a skill that is a class: its definition, or its work. It runs inside the sandbox.

Standard input is a JSON object: `{"payload": {…}}`, or `{}` for the definition. The result goes to
descriptor 3.
"""

import json
import posix
import sys
import types

import skillapi

FOLDER = __file__.rpartition("/")[0]


def load_instance(code):
    module = types.ModuleType("skill")
    module.__file__ = FOLDER + "/skill.py"
    sys.modules["skill"] = module
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    made = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, skillapi.SkillBase)
        and value.__module__ == module.__name__
    ]
    if len(made) != 1:
        raise TypeError(f"{len(made)} classes have SkillBase as a base; a skill is one class")
    return made[0]()


def describe(skill):
    answer = skill.definition()
    if not isinstance(answer, skillapi.SkillDefinition):
        raise TypeError(f"definition() returned {type(answer).__name__}, not a SkillDefinition")
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
        "category": answer.category,
        "capability_level": answer.capability_level,
        "timeout_seconds": answer.timeout_seconds,
    }


def execute(skill, payload, needs_loop):
    answer = skill.execute(**payload)
    if hasattr(answer, "__await__"):
        if needs_loop:
            import asyncio

            answer = asyncio.run(wait_for(answer))
        else:
            answer = finish(wait_for(answer))
    if not isinstance(answer, skillapi.SkillResult):
        answer = skillapi.SkillResult(output=answer)
    error = "" if answer.error is None else str(answer.error)
    return {"success": answer.success is True, "output": answer.output, "error": error}


async def wait_for(work):
    return await work


def finish(work):
    try:
        while True:
            work.send(None)
    except StopIteration as end:
        return end.value


def main():
    asked = json.load(sys.stdin)
    folders = []
    try:
        if asked.get("needs"):
            import needed

            folders = needed.prepare()
        with open(FOLDER + "/skill.py", "rb") as file:
            code = file.read()
        skill = load_instance(code)
        if "payload" in asked:
            # Importing asyncio takes longest; code that does not name it can wait for nothing.
            answer = execute(skill, asked["payload"], b"asyncio" in code)
        else:
            answer = describe(skill)
        if folders:
            answer["files"] = needed.give_back(folders)
        result = json.dumps(answer, allow_nan=False)
    except Exception:
        import traceback  # which takes long to load

        traceback.print_exc()
        sys.exit(1)
    line = f"={result}\n".encode()
    while line:
        line = line[posix.write(3, line) :]


main()
