"""The environment of the host, in variables, memory and names."""

from tests.support.cases import read_texts

from .attempt import FAMILY, Attempt, table

ATTEMPTS: list[Attempt] = [
    *table("environment", read_texts("escapes/environment.txt")),
    *table(
        "environment",
        {
            "a variable of a program it starts": "refuse(program, '/bin/printenv', 'BRAIN_TEST')",
            "all variables of a program it starts": "program('/usr/bin/env'); seen('started')",
        },
        limits=FAMILY,
    ),
]
