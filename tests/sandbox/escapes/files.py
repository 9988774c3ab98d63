"""Files of the host: read, written, reached by another way."""

from __future__ import annotations

from .attempt import LIMITS, Attempt, table

_PATHS = (
    "/etc/shadow /etc/passwd /etc/hostname /root /home /var /opt /srv /mnt /media /boot /run /sys"
    " /usr/local /usr/share/doc /usr/sbin /sys/fs/cgroup /var/run/docker.sock /dev/mem /dev/kmsg"
    " /dev/vda /dev/sda /dev/kvm /dev/fuse /dev/net/tun /dev/userfaultfd /dev/loop-control"
)

ATTEMPTS: list[Attempt] = [
    *table("files", {f"open {path}": f"refuse(os.open, {path!r}, 0)" for path in _PATHS.split()}),
    *table(
        "files",
        {
            "read a file of the host": "refuse(lambda: open(host['secret']).read())",
            "read a key of the user": "refuse(lambda: open(host['key']).read())",
            "read the user's store": "refuse(lambda: open(host['store'], 'rb').read())",
            "list the folder of a file": "refuse(os.listdir, host['folder'])",
            "write a file of the host": "refuse(write_file, host['secret'])",
            "make a file on the host": "refuse(write_file, host['folder'] + '/made')",
            "remove a file of the host": "refuse(os.unlink, host['secret'])",
            "rename a file of the host": "refuse(os.rename, host['secret'], '/tmp/x')",
            "change the mode of a file of the host": "refuse(os.chmod, host['secret'], 0o777)",
            "link a file of the host": "refuse(os.link, host['secret'], '/tmp/x')",
            "a symlink to a file of the host": """
os.symlink(host['secret'], '/tmp/x')
refuse(lambda: open('/tmp/x').read())""",
            "a symlink to the folder above all": """
os.symlink('../' * 40 + host['secret'], '/tmp/x')
refuse(lambda: open('/tmp/x').read())""",
            "above the root": "refuse(lambda: open('/..' * 40 + host['secret']).read())",
            "above the root, from a descriptor": """
root = os.open('/', os.O_PATH)
refuse(lambda: os.open('../' * 40 + host['secret'][1:], 0, dir_fd=root))""",
            "the root of process 1": "refuse(lambda: open('/proc/1/root' + host['secret']).read())",
            "the folder of process 1": "refuse(lambda: os.listdir('/proc/1/cwd'))",
            "the root of itself": "refuse(lambda: open('/proc/self/root' + host['secret']).read())",
            "the root of a process of the host": """
refuse(lambda: open(f"/proc/{host['pid']}/root{host['secret']}").read())""",
            "the folder of a process of the host": """
refuse(lambda: os.listdir(f"/proc/{host['pid']}/cwd"))""",
            "files mapped by process 1": "refuse(os.listdir, '/proc/1/map_files')",
            "a way through /proc/self/fd": """
refuse(lambda: open('/proc/self/fd/../../..' + host['secret']).read())""",
            "openat2": "refuse(call, 'openat2', -100, host['secret'], bytes(24), 24)",
            "a handle of a file": """
handle = bytearray(136)
refuse(call, 'name_to_handle_at', -100, '/usr/lib', bytes(handle), bytes(8), 0)""",
            "open a file by its handle": "refuse(call, 'open_by_handle_at', 3, bytes(136), 0)",
            "make a device": "refuse(os.mknod, '/tmp/disk', 0o60666, os.makedev(254, 0))",
            "make a device of characters": "refuse(os.mknod, '/tmp/m', 0o20666, os.makedev(1, 1))",
            "write a program": "refuse(write_file, '/usr/bin/python3.11')",
            "make a program": "refuse(write_file, '/usr/bin/made')",
            "make a module of Python": "refuse(write_file, os.__file__[:-5] + 'made.py')",
            "write a module of Python": "refuse(write_file, os.__file__)",
            "change the mode of a program": "refuse(os.chmod, '/usr/bin/env', 0o777)",
            "give away a file": "write_file('/tmp/x'); refuse(os.chown, '/tmp/x', 0, 0)",
            "set the user of a program": """
write_file('/tmp/x', open('/usr/bin/id', 'rb').read())
os.chmod('/tmp/x', 0o4755)
reached_if(os.statvfs('/tmp').f_flag & os.ST_NOSUID == 0, 'the bit counts')""",
            "the sandbox's own program": "refuse(write_file, sys.argv[0])",
            "the start of the sandbox": "refuse(os.unlink, '/job/.start.py')",
            "a module for the program": "refuse(write_file, '/job/inside.py')",
            "what another attempt left": "write_file('/tmp/left-behind')\n"
            "reached_if(os.listdir('/tmp') != ['left-behind'], os.listdir('/tmp'))",
            "names of files of the host": """
seen([os.listdir(f) for f in ('/', '/dev', '/usr', '/tmp', '/job')])
reached_if(set(os.listdir('/')) - set('bin dev job lib lib32 lib64 proc tmp usr'.split()))""",
            "mounts of the host": "refuse(lambda: open('/proc/self/mountinfo').read())",
        },
    ),
    *table(
        "approved folder",
        {
            "only what is approved": "seen(os.listdir('/folders'))\n"
            "reached_if(os.listdir('/folders') != ['data'])",
            "write": "refuse(write_file, '/folders/data/file')",
            "make a file": "refuse(write_file, '/folders/data/made')",
            "make a folder": "refuse(os.mkdir, '/folders/data/made')",
            "truncate": "refuse(os.truncate, '/folders/data/file', 0)",
            "remove": "refuse(os.unlink, '/folders/data/file')",
            "rename": "refuse(os.rename, '/folders/data/file', '/folders/data/other')",
            "change the mode": "refuse(os.chmod, '/folders/data/file', 0o777)",
            "change the times": "refuse(os.utime, '/folders/data/file', (1, 1))",
            "set an attribute": "refuse(os.setxattr, '/folders/data/file', 'user.made', b'x')",
            "link a file out": "refuse(os.link, '/folders/data/file', '/tmp/x')",
            "a symlink that leads out": "refuse(lambda: open('/folders/data/out').read())",
            "the folder above": "refuse(os.open, '/folders/data/../../' + host['secret'], 0)",
            "a file without a name": "refuse(os.open, '/folders/data', os.O_TMPFILE | os.O_RDWR)",
            "lock and write a mapped file": """
file = os.open('/folders/data/file', os.O_RDONLY)
refuse(mmap.mmap, file, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)""",
            "a stream to a socket in it": """
refuse(lambda: socket.socket(socket.AF_UNIX).connect('/folders/data/stream'))""",
            "a datagram to a socket in it": """
def send():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(
        b'escaped', '/folders/data/datagram')
refuse(send)""",
            "a packet to a socket in it": """
def send():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0].sendto(
        b'escaped', '/folders/data/datagram')
refuse(send)""",
            "a message to a socket in it": """
def send():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendmsg(
        [b'escaped'], [], 0, '/folders/data/datagram')
refuse(send)""",
        },
        with_folder=True,
    ),
    *table(
        "descriptors",
        {
            "read what the parent left open": """
for number in range(5, 1024):
    try:
        seen(os.pread(number, 4096, 0))
    except OSError:
        pass
refuse(os.fstat, 5)""",
            "count what the parent left open": """
found = []
for number in range(5, 1024):
    try:
        found.append((number, os.fstat(number)))
    except OSError:
        pass
reached_if(found, found)""",
            "a folder that the parent left open": """
for number in range(3, 1024):
    try:
        seen(os.listdir(number))
        reached(number)
    except OSError:
        pass
refuse(os.listdir, 5)""",
            "a socket that the parent left open": """
for number in range(5, 1024):
    try:
        os.write(number, b'escaped')
        reached(number)
    except OSError:
        pass
refuse(os.write, 5, b'')""",
            "descriptors of process 1": "refuse(lambda: os.listdir('/proc/1/fd')[0])",
            "take a descriptor": "refuse(call, 'pidfd_getfd', os.pidfd_open(1), 0, 0)",
            "more descriptors than allowed": "count_until_refused(lambda _: os.dup(0), 65)",
            "all descriptors closed": "os.closerange(2, 1024); refuse(os.fstat, 3)",
            "standard input is empty and own": """
seen(os.read(0, 100))
refuse(os.truncate, 0, 1 << 40)
reached_if(os.fstat(0).st_nlink, 'it has a name')""",
        },
        limits=LIMITS,
    ),
]
