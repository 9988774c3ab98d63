"""The kernel: files of /proc and /sys, system calls, terminals, clocks."""

from tests.support.cases import read_texts

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
    *table("proc", read_texts("escapes/proc.txt"), limits=FAMILY),
    *table("system calls", {name: f"absent({name!r})" for name in _CALLS.split()}),
    *table("system calls", read_texts("escapes/system_calls.txt"), ends=("exit", "signal")),
    *table(
        "system calls",
        {
            "of 32-bit pointers": """
value = ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))
reached_if(value > 0, value)"""
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
refuse(call, 'bpf')"""
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
    *table("terminal", read_texts("escapes/terminal.txt")),
    *table("clocks", read_texts("escapes/clocks.txt")),
    *table(
        "clocks",
        {"the program date": "refuse(program, '/usr/bin/date', '-s', '2001-01-01')"},
        limits=FAMILY,
    ),
    *table(
        "clocks", {"sleep beyond its time": "time.sleep(60)"}, limits=BRIEF, ends=("wall_time",)
    ),
]
