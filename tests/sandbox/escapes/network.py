"""The network and sockets of the host."""

from __future__ import annotations

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
    *table(
        "network",
        {
            "connect to the host": "refuse(socket.create_connection, ('127.0.0.1', host['port']))",
            "connect by IPv6": "refuse(socket.create_connection, ('::1', host['port']))",
            "connect by name": "refuse(socket.create_connection, ('localhost', host['port']))",
            "fetch from the host": """
import urllib.request
refuse(urllib.request.urlopen, f"http://127.0.0.1:{host['port']}/")""",
            "a datagram to the host": """
refuse(lambda: socket.socket(2, 2).sendto(b'escaped', ('127.0.0.1', host['datagram_port'])))""",
            "resolve a name": "refuse(socket.getaddrinfo, 'example.org', 80)",
            "an abstract socket of the host": """
refuse(lambda: socket.socket(socket.AF_UNIX).connect(host['abstract']))""",
            "an abstract datagram by a pair": """
def send():
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b'escaped', host['abstract_datagram'])
refuse(send)""",
            "an abstract stream by a pair": """
one, _ = socket.socketpair()
refuse(one.sendto, b'escaped', host['abstract'])""",
            "connect one of a pair": """
one, _ = socket.socketpair()
refuse(one.connect, host['abstract'])""",
            "bind one of a pair": """
one, _ = socket.socketpair()
refuse(one.bind, '\\0brain-escaped')""",
            "listen on one of a pair": """
one, _ = socket.socketpair()
refuse(one.listen)""",
            "an address of the sandboxes' users": """
refuse(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind('\\0brain-sandbox-60706'))""",
            "old calls of sockets": "absent('socketcall')",
            "many messages in one call": "absent('sendmmsg')",
            "many messages received in one call": "absent('recvmmsg')",
            "the state of the network": "refuse(write_file, '/proc/sys/net/ipv4/ip_forward', b'1')",
        },
    ),
    *table(
        "network",
        {
            "a connection by a shell": """
refuse(program, '/usr/bin/bash', '-c', f"echo escaped > /dev/tcp/127.0.0.1/{host['port']}")""",
            "a connection by Perl": """
refuse(program, '/usr/bin/perl', '-MSocket', '-e',
       'socket(S, PF_INET, SOCK_STREAM, 0) or exit 3;'
       f"connect(S, sockaddr_in({host['port']}, inet_aton('127.0.0.1'))) or exit 4")""",
            "a connection in another process": """
def connect():
    refuse(socket.create_connection, ('127.0.0.1', host['port']))
seen(fork(connect))""",
        },
        limits=FAMILY,
    ),
]
