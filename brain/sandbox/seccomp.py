"""The system calls of a sandbox, as a seccomp filter: a list of what is allowed.

What Python and its standard library need is allowed; all else answers "not implemented", so that
the C library falls back where it can. Not among them: sockets, mounts, namespaces, tracing,
keys, BPF, io_uring, memory that no limit counts (memfd, System V), and what touches files of the
host that a job can only read: watches (inotify, dnotify, leases), FIFOs and locks.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from functools import cache
from itertools import product

from ..errors import SandboxError

_ALLOWED = """
    access faccessat faccessat2 chdir fchdir getcwd chmod fchmod fchmodat close close_range
    dup dup2 dup3 open openat creat read pread64 readv preadv preadv2 write pwrite64
    writev pwritev pwritev2 lseek truncate ftruncate fallocate fsync fdatasync sync_file_range
    sendfile copy_file_range splice tee stat lstat fstat newfstatat statx statfs fstatfs getdents
    getdents64 link linkat symlink symlinkat unlink unlinkat rename renameat renameat2 mkdir
    mkdirat rmdir readlink readlinkat umask utime utimes utimensat futimesat fadvise64 readahead
    brk mmap munmap mremap mprotect madvise mincore msync mlock munlock membarrier
    pipe pipe2 poll ppoll select pselect6 _newselect epoll_create epoll_create1 epoll_ctl
    epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 timerfd_create timerfd_settime
    timerfd_gettime signalfd4
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait
    rt_sigqueueinfo sigaltstack kill tgkill tkill restart_syscall pause alarm getitimer setitimer
    futex futex_waitv set_robust_list get_robust_list set_tid_address arch_prctl rseq
    sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler
    sched_get_priority_max sched_get_priority_min getpriority getcpu gettid getpid getppid getpgid
    getpgrp getsid setpgid setsid getuid geteuid getgid getegid getgroups getresuid getresgid
    capget prctl getrlimit setrlimit prlimit64 getrusage times sysinfo uname
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time timer_create
    timer_settime timer_gettime timer_getoverrun timer_delete getrandom
    execve execveat exit exit_group wait4 waitid pidfd_open pidfd_send_signal
    getxattr lgetxattr fgetxattr listxattr flistxattr llistxattr
"""
_STARTS_PROCESSES = "fork vfork"
_OF_A_MACHINE = "flock chown fchown lchown fchownat"
_CONNECTS = "connect bind listen accept accept4"
_OF_A_NETWORK = "setsockopt getsockname getpeername sendmmsg recvmmsg"
_AF_INET, _AF_INET6 = 2, 10
_TCP_AND_UDP = ((1, 0), (1, 6), (2, 0), (2, 17))
"""Kinds of sockets with their protocols, of which 0 is the usual one."""
_CLONE_THREAD = 0x00010000
_NAMESPACES = 0x7E020080
"""CLONE_NEW*: cgroup, UTS, IPC, user, PID, net, mount and time."""
_AF_UNIX = 1
_SOCK_STREAM = 1
_SOCK_TYPE_MASK = 0xF
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what files and pipes need."""
_INT = 0xFFFFFFFF
"""The bits of a register that the kernel reads of an `int`."""
_FCNTLS = (0, 1, 2, 3, 4, 1027, 1030, 1031, 1032, 1034)
"""F_DUPFD to F_SETFL, F_DUPFD_QUERY, F_DUPFD_CLOEXEC, sizes of pipes, F_GET_SEALS."""
_FCNTL_LOCKS = (5, 6, 7, 36, 37, 38)
"""F_GETLK, F_SETLK, F_SETLKW, and the same three of open files (F_OFD_*)."""


@cache
def build_filter(
    processes: bool, *, locks: bool, is_machine: bool = False, loopback: bool = False
) -> bytes:
    """Return the filter as BPF; with `processes`, a program may start others.

    `locks` lets it lock parts of files, as SQLite does in /tmp, and with `is_machine` whole files.
    A lock needs no right to write, and stops those who write, so that a job with an approved folder
    gets none. `loopback` lets it use a network, of which the sandbox has to have its own.
    Raises `SandboxError` (`no_sandbox`) without libseccomp.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise SandboxError(
            f"skills run only in a sandbox, and libseccomp cannot be loaded: {error}",
            hint="install libseccomp, as with `sudo apt install libseccomp2`, and pyseccomp",
        ) from error
    made = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    names = _ALLOWED.split() + (_STARTS_PROCESSES.split() if processes else [])
    names += _OF_A_MACHINE.split() if is_machine and locks else []
    names += _OF_A_NETWORK.split() if loopback else []
    for name in names:
        with suppress(OSError):  # this architecture has no such call
            if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:
                made.add_rule(pyseccomp.ALLOW, name)
    flags = pyseccomp.Arg(
        0,
        pyseccomp.MASKED_EQ,
        _NAMESPACES if processes else _NAMESPACES | _CLONE_THREAD,
        0 if processes else _CLONE_THREAD,
    )
    made.add_rule(pyseccomp.ALLOW, "clone", flags)
    made.add_rule(  # no datagrams, which a socket of a pair can send to another address
        pyseccomp.ALLOW,
        "socketpair",
        pyseccomp.Arg(0, pyseccomp.EQ, _AF_UNIX),
        pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _SOCK_TYPE_MASK, _SOCK_STREAM),
    )
    if loopback:
        for family, (kind, protocol) in product((_AF_INET, _AF_INET6), _TCP_AND_UDP):
            made.add_rule(
                pyseccomp.ALLOW,
                "socket",
                pyseccomp.Arg(0, pyseccomp.EQ, family),
                pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _SOCK_TYPE_MASK, kind),
                pyseccomp.Arg(2, pyseccomp.EQ, protocol),
            )
    else:
        made.add_rule(pyseccomp.ERRNO(errno.EACCES), "socket")
    for name in _CONNECTS.split():
        made.add_rule(pyseccomp.ALLOW if loopback else pyseccomp.ERRNO(errno.EACCES), name)
    for name in ("sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "getsockopt"):
        made.add_rule(pyseccomp.ALLOW, name)  # on pairs of sockets
    for command in (*_FCNTLS, *(_FCNTL_LOCKS if locks else ())):
        made.add_rule(
            pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _INT, command)
        )
    for request in _IOCTLS:
        made.add_rule(pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        made.export_bpf(file)
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
