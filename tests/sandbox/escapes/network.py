"""The network and sockets of the host."""

from tests.support.cases import read_texts

from .attempt import FAMILY, Attempt, table

_FAMILIES = {
    "IPv4 stream": (2, 1, 0),
    "IPv4 datagram": (2, 2, 0),
    "IPv6 stream": (10, 1, 0),
    "IPv6 datagram": (10, 2, 0),
    "raw IPv4": (2, 3, 1),
    "raw IPv6": (10, 3, 58),
    "ping": (2, 2, 1),
    "UDP-Lite": (2, 2, 136),
    "SCTP": (2, 5, 132),
    "MPTCP": (2, 1, 262),
    "DCCP": (2, 6, 33),
    "local stream": (1, 1, 0),
    "local datagram": (1, 2, 0),
    "local packets": (1, 5, 0),
    "routing netlink": (16, 3, 0),
    "audit netlink": (16, 3, 9),
    "events netlink": (16, 3, 15),
    "packet": (17, 3, 3),
    "old packet": (2, 10, 0x0300),
    "key": (15, 3, 2),
    "virtual machine": (40, 1, 0),
    "kernel crypto": (38, 5, 0),
    "Bluetooth": (31, 3, 1),
    "CAN": (29, 3, 1),
    "XDP": (44, 3, 0),
    "TIPC": (30, 1, 0),
    "RDS": (21, 5, 0),
    "AX.25": (3, 5, 0),
    "AppleTalk": (5, 2, 0),
    "LLC": (26, 1, 0),
    "KCM": (41, 2, 0),
    "SMC": (43, 1, 0),
    "QIPCRTR": (42, 2, 0),
}

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
