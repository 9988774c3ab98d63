"""Files of the host: read, written, reached by another way."""

from tests.support.cases import read_texts

from .attempt import LIMITS, Attempt, table

_PATHS = (
    "/etc/shadow /etc/passwd /etc/hostname /root /home /var /opt /srv /mnt /media /boot /run /sys"
    " /usr/local /usr/share/doc /usr/sbin /sys/fs/cgroup /var/run/docker.sock /dev/mem /dev/kmsg"
    " /dev/vda /dev/sda /dev/kvm /dev/fuse /dev/net/tun /dev/userfaultfd /dev/loop-control"
)

ATTEMPTS: list[Attempt] = [
    *table("files", {f"open {path}": f"refuse(os.open, {path!r}, 0)" for path in _PATHS.split()}),
    *table("files", read_texts("escapes/files.txt")),
    *table("approved folder", read_texts("escapes/approved_folder.txt"), with_folder=True),
    *table("descriptors", read_texts("escapes/descriptors.txt"), limits=LIMITS),
]
