"""Other processes, and rights and limits of its own."""

from tests.support.cases import read_texts

from .attempt import FAMILY, Attempt, table

_LIMITED = {
    "address space": "RLIMIT_AS",
    "processes": "RLIMIT_NPROC",
    "processor time": "RLIMIT_CPU",
    "size of files": "RLIMIT_FSIZE",
    "open files": "RLIMIT_NOFILE",
    "core files": "RLIMIT_CORE",
    "locked memory": "RLIMIT_MEMLOCK",
    "queues": "RLIMIT_MSGQUEUE",
    "stack": "RLIMIT_STACK",
    "priority": "RLIMIT_RTPRIO",
}

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
