"""The kernel: files of /proc and /sys, system calls, terminals, clocks."""

from __future__ import annotations

from .attempt import BRIEF, FAMILY, Attempt, table

_SETTINGS = (
    "kernel/core_pattern kernel/hostname kernel/domainname kernel/modprobe kernel/panic"
    " kernel/randomize_va_space kernel/ns_last_pid kernel/threads-max kernel/pid_max"
    " kernel/printk kernel/sysrq kernel/dmesg_restrict kernel/unprivileged_bpf_disabled"
    " kernel/cap_last_cap vm/drop_caches vm/overcommit_memory vm/panic_on_oom fs/file-max"
    " fs/suid_dumpable fs/protected_symlinks net/ipv4/ping_group_range net/core/somaxconn"
    " user/max_mnt_namespaces"
)
_FILES = (
    "/proc/sysrq-trigger /proc/kcore /proc/kmsg /proc/1/oom_score_adj /proc/1/mem"
    " /proc/self/loginuid /proc/self/attr/current /proc/mtrr /proc/irq/0/smp_affinity"
    " /proc/acpi/wakeup /proc/fs/ext4 /proc/kpagecount /proc/kpageflags /proc/iomem"
    " /proc/1/clear_refs /proc/1/coredump_filter /proc/1/timerslack_ns /proc/1/sched /proc/1/comm"
    " /proc/1/task/1/comm"
)
_CALLS = (
    "io_uring_setup io_uring_enter io_uring_register bpf keyctl add_key request_key userfaultfd"
    " perf_event_open kexec_load kexec_file_load quotactl quotactl_fd personality init_module"
    " finit_module delete_module iopl ioperm modify_ldt acct swapoff reboot syslog vhangup ustat"
    " sysfs fanotify_init fanotify_mark open_by_handle_at kcmp process_madvise process_mrelease"
    " pidfd_getfd memfd_create memfd_secret move_pages migrate_pages mbind set_mempolicy"
    " get_mempolicy shmget shmat semget msgget mq_open seccomp landlock_create_ruleset"
    " landlock_restrict_self clone3 setns unshare chroot mknodat vmsplice remap_file_pages"
    " sethostname setdomainname adjtimex clock_adjtime sched_setattr ioprio_set ptrace"
    " process_vm_readv process_vm_writev lookup_dcookie nfsservctl cachestat map_shadow_stack"
    " setxattr fsetxattr lsetxattr removexattr chown fchown lchown fchownat setuid setgid setreuid"
    " setresuid setresgid setgroups setfsuid setfsgid capset io_setup io_submit epoll_ctl_old"
    " lsm_set_self_attr listmount mseal open_tree_attr file_setattr"
)

ATTEMPTS: list[Attempt] = [
    *table(
        "proc",
        {
            f"set {name}": f"refuse(write_file, '/proc/sys/{name}', b'1', os.O_WRONLY)"
            for name in _SETTINGS.split()
        },
    ),
    *table(
        "proc",
        {
            f"write {path}": f"refuse(write_file, {path!r}, b'1', os.O_WRONLY)"
            for path in _FILES.split()
        },
    ),
    *table(
        "proc",
        {
            "live longer than others": """
refuse(write_file, '/proc/self/oom_score_adj', b'-1000', os.O_WRONLY)""",
            "a nicer group": "refuse(write_file, '/proc/self/autogroup', b'-20', os.O_WRONLY)",
            "memory of the kernel": "refuse(lambda: open('/proc/kcore', 'rb').read(64))",
            "addresses of the kernel": """
try:
    text = open('/proc/kallsyms').read(4096)
except OSError:
    text = ''
reached_if([one for one in text.splitlines() if int(one.split()[0], 16)])""",
            "the log of the kernel": "refuse(lambda: os.read(os.open('/proc/kmsg', 0), 10))",
            "physical pages": """
def frame():
    with open('/proc/self/pagemap', 'rb') as file:
        file.seek(id(file) // 4096 * 8)
        number = int.from_bytes(file.read(8), 'little') & ((1 << 54) - 1)
    if number == 0:
        raise OSError('hidden')
    return number
refuse(frame)""",
            "firmware": "refuse(os.listdir, '/sys/firmware')",
            "control groups": "refuse(write_file, '/sys/fs/cgroup/cgroup.procs', b'0')",
            "its control group": "refuse(lambda: open('/proc/self/cgroup').read())",
            "modules": "refuse(program, '/usr/sbin/modprobe', 'dummy')",
        },
        limits=FAMILY,
    ),
    *table("system calls", {name: f"absent({name!r})" for name in _CALLS.split()}),
    *table(
        "system calls",
        {
            "of 32 bits": """
if host['machine'] == 'x86_64':
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    value = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    reached_if(value > 0, value)
else:
    absent('bpf')""",
        },
        ends=("exit", "signal"),
    ),
    *table(
        "system calls",
        {
            "of 32-bit pointers": """
value = ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))
reached_if(value > 0, value)""",
        },
        ends=("exit", "signal"),
    ),
    *table(
        "system calls",
        {
            "numbers that are none yet": """
libc = ctypes.CDLL(None, use_errno=True)
for number in (*range(480, 1100), 1 << 20, (1 << 32) | 321):
    if libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0) != -1:
        reached(number)
refuse(call, 'bpf')""",
        },
        ends=("exit", "signal"),
    ),
    *table(
        "terminal",
        {
            f"{name} on {place}": f"""
import fcntl
refuse(fcntl.ioctl, {number}, {request}, bytes(64))"""
            for name, request in {
                "type": 0x5412,
                "speak to a console": 0x541C,
                "take the console": 0x541D,
                "become its owner": 0x540E,
                "a new size": 0x5414,
                "its discipline": 0x5423,
            }.items()
            for place, number in {"output": 1, "input": 0}.items()
        },
    ),
    *table(
        "terminal",
        {
            "open the terminal": "refuse(os.open, '/dev/tty', os.O_RDWR)",
            "open the console": "refuse(os.open, '/dev/console', os.O_RDWR)",
            "open a terminal of the host": "refuse(os.open, '/dev/pts/0', os.O_RDWR)",
            "open a virtual console": "refuse(os.open, '/dev/tty1', os.O_RDWR)",
            "make a terminal": "refuse(os.openpty)",
            "the name of its terminal": "refuse(os.ttyname, 0)",
            "its foreground": "refuse(os.tcsetpgrp, 0, os.getpgrp())",
            "its session": "reached_if(os.getsid(0) not in (1, 2), os.getsid(0))",
        },
    ),
    *table(
        "clocks",
        {
            "settimeofday": "refuse(call, 'settimeofday', bytes(16), 0)",
            "clock_settime": "refuse(time.clock_settime, time.CLOCK_REALTIME, 1.0)",
            "clock_settime of other clocks": "refuse(call, 'clock_settime', 11, bytes(16))",
            "adjtimex": "refuse(call, 'adjtimex', bytes(208))",
            "clock_adjtime": "refuse(call, 'clock_adjtime', 0, bytes(208))",
            "stime": "refuse(call, 'stime', bytes(8))",
            "the clock of the board": "refuse(os.open, '/dev/rtc0', 0)",
            "a timer that wakes the machine": "refuse(call, 'timerfd_create', 9, 0)",
        },
    ),
    *table(
        "clocks",
        {"the program date": "refuse(program, '/usr/bin/date', '-s', '2001-01-01')"},
        limits=FAMILY,
    ),
    *table(
        "clocks", {"sleep beyond its time": "time.sleep(60)"}, limits=BRIEF, ends=("wall_time",)
    ),
]
