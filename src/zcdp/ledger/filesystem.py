"""Where a ledger file may live: on a disk of this machine, where locks and fsync mean what they say."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["network_mount"]

KINDS = """9p afs afpfs beegfs ceph cifs coda davfs fuse.ceph fuse.curlftpfs fuse.davfs fuse.gcsfuse fuse.glusterfs
fuse.rclone fuse.s3fs fuse.smbnetfs fuse.sshfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2
smb3 smbfs"""
NETWORK = frozenset(KINDS.split())
MOUNTS = Path("/proc/self/mountinfo")


def network_mount(path: Path, mounts: str | None = None) -> str | None:
    """The kind of network file system that holds the path, where the system tells; None for a local one.

    SQLite's locks are not to be trusted over a network, and two machines would each keep a log of their own.

    >>> network_mount(Path("/data/x.db"), "1 0 0:1 / / rw - ext4 /dev/a rw\\n2 1 0:2 / /data rw - nfs4 host:/d rw")
    'nfs4'
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:  # not Linux: nothing to go by
            return None
    where = os.path.realpath(path)
    longest, kind = "", None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, what = before.split(" "), after.split(" ")
        if len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(longest):  # the last of equals lies on top
            longest, kind = point, what[0]
    return kind if kind in NETWORK else None
