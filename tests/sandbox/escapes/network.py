"""The network and sockets of the host."""

from tests.support.cases import read_cases, read_texts

from .attempt import FAMILY, Attempt, table

CASES = read_cases(__file__)

_FAMILIES = CASES["families"]

ATTEMPTS: list[Attempt] = [
    *table(
        "network",
        {
            f"a socket of {name}": f"refuse(call, 'socket', {family}, {kind}, {protocol})"
            for name, (family, kind, protocol) in _FAMILIES.items()
        },
    ),
    *table(
        "network",
        {
            f"a pair of sockets of {name}": f"refuse(call, 'socketpair', {family}, {kind}, 0, "
            "bytes(8))"
            for name, (family, kind) in {
                "IPv4": (2, 1),
                "netlink": (16, 3),
                "TIPC": (30, 1),
                "local datagrams": (1, 2),
                "local packets": (1, 5),
                "raw local": (1, 3),
            }.items()
        },
    ),
    *table("network", read_texts("escapes/network.txt")),
    *table("network", read_texts("escapes/network_2.txt"), limits=FAMILY),
]
