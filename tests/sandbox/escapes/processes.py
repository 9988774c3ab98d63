"""Other processes, and rights and limits of its own."""

from tests.support.cases import read_cases, read_texts

from .attempt import FAMILY, Attempt, table

CASES = read_cases(__file__)

_LIMITED = CASES["limited"]

ATTEMPTS: list[Attempt] = [
    *table(
        "processes",
        {
            f"raise the limit of {name}": f"""
import resource
refuse(resource.setrlimit, resource.{limit}, (resource.RLIM_INFINITY,) * 2)"""
            for name, limit in _LIMITED.items()
        },
    ),
    *table("processes", read_texts("escapes/processes.txt")),
    *table("processes", read_texts("escapes/processes_2.txt"), limits=FAMILY),
]
