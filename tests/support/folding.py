"""A file system that folds case, in memory, served through /dev/fuse: no kernel of the tests has one of its own. Names
keep their spelling and are found under any other, as on what a Mac or Windows shares. It needs root."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
import subprocess
import threading
import time
import unicodedata
from dataclasses import dataclass, field

DEVICE = "/dev/fuse"
IN_HEADER = struct.Struct("<IIQQIIIHH")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
ENTRY = struct.Struct("<QQQQII")
SET_ATTRIBUTES = struct.Struct("<IIQQQQQQIIIIIIII")
NO_ANSWER = frozenset({2, 36, 42})  # FORGET, INTERRUPT, BATCH_FORGET
NOTHING_TO_DO = frozenset({18, 20, 25, 29, 30, 38})  # RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR, DESTROY
NOREPLACE, EXCHANGE = 1, 2
MOST_WRITTEN = 65536


def fold(name: str) -> str:
    """As ext4 and APFS do: decomposed, without what is invisible, in one case."""
    shown = (c for c in unicodedata.normalize("NFD", name) if unicodedata.category(c) != "Cf")
    return "".join(shown).casefold()


@dataclass
class Node:
    number: int
    mode: int
    uid: int
    gid: int
    data: bytearray = field(default_factory=bytearray)  # of a link: where it leads
    children: dict[str, tuple[str, Node]] = field(default_factory=dict)  # by folded name
    links: int = 1
    modified: int = field(default_factory=time.time_ns)
    changed: int = field(default_factory=time.time_ns)

    def attributes(self) -> bytes:
        seconds, rest = divmod(self.modified, 10**9)
        of_change, rest_of_change = divmod(self.changed, 10**9)
        links = 2 if stat.S_ISDIR(self.mode) else self.links
        return ATTRIBUTES.pack(self.number, len(self.data), (len(self.data) + 511) // 512, seconds, seconds, of_change,
                               rest, rest, rest_of_change, self.mode, links, self.uid, self.gid, 0, 4096, 0)

    def touch(self) -> None:
        self.modified = self.changed = time.time_ns()


class FoldingFileSystem:
    def __init__(self, uid: int) -> None:
        self.nodes: dict[int, Node] = {}
        self.root = self.make(stat.S_IFDIR | 0o755, uid, uid)

    # Looked at, and filled, from outside.

    def find(self, path: str) -> Node | None:
        node = self.root
        for name in path.split("/"):
            if fold(name) not in node.children:
                return None
            node = node.children[fold(name)][1]
        return node

    def text(self, path: str) -> str | None:
        node = self.find(path)
        return None if node is None else bytes(node.data).decode()

    def write(self, path: str, text: str) -> None:
        node = self.root
        *above, last = path.split("/")
        for name in above:
            if fold(name) not in node.children:
                self.put(node, name, self.make(stat.S_IFDIR | 0o755, self.root.uid, self.root.gid))
            node = node.children[fold(name)][1]
        self.put(node, last, self.make(stat.S_IFREG | 0o644, self.root.uid, self.root.gid))
        node.children[fold(last)][1].data[:] = text.encode()

    def run(self, place: str | os.PathLike, prefix, argv, *, env: dict[str, str], timeout: float = 60):
        """A command in a namespace of mounts in which this is mounted at `place`, where it starts. `prefix` makes it
        somebody's."""
        device = os.open(DEVICE, os.O_RDWR)
        server = threading.Thread(target=self.serve, args=(device,), daemon=True)
        server.start()
        mount = (f'mount -i -t fuse -o fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions '
                 f'folding "{place}" && cd "{place}" && exec "$@"')
        try:
            return subprocess.run(["unshare", "-m", "/bin/sh", "-c", mount, "sh", *prefix, *map(str, argv)],
                                  pass_fds=[device], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=timeout, check=False)
        finally:
            server.join(10)
            os.close(device)

    # The tree.

    def make(self, mode: int, uid: int, gid: int) -> Node:
        node = Node(len(self.nodes) + 1, mode, uid, gid)
        self.nodes[node.number] = node
        return node

    def put(self, above: Node, name: str, node: Node) -> Node:
        above.children[fold(name)] = (name, node)
        above.touch()
        return node

    def take(self, above: Node, name: str) -> Node:
        if fold(name) not in above.children:
            raise OSError(errno.ENOENT, name)
        above.touch()
        return above.children.pop(fold(name))[1]

    def child(self, above: Node, name: str) -> Node:
        if fold(name) not in above.children:
            raise OSError(errno.ENOENT, name)
        return above.children[fold(name)][1]

    def add(self, above: Node, name: str, mode: int, uid: int, gid: int) -> Node:
        if fold(name) in above.children:
            raise OSError(errno.EEXIST, name)
        return self.put(above, name, self.make(mode, uid, gid))

    def rename(self, above: Node, old: str, below: Node, new: str, how: int) -> None:
        node = self.child(above, old)
        other = below.children.get(fold(new), (new, None))[1]
        if other is not None and how & NOREPLACE:
            raise OSError(errno.EEXIST, new)
        if how & EXCHANGE:
            self.put(above, old, self.child(below, new))
        elif other is not None and other is not node and other.children:
            raise OSError(errno.ENOTEMPTY, new)
        else:
            self.take(above, old)
        self.put(below, new, node)
        node.changed = time.time_ns()

    # The protocol: one request at a time, until the last mount is gone.

    def serve(self, device: int) -> None:
        while True:
            try:
                request = os.read(device, MOST_WRITTEN * 2)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                # EPERM: it is not mounted yet.
                if error.errno in (errno.EPERM, errno.EAGAIN):
                    time.sleep(0.002)
                    continue
                return
            _, code, unique, number, uid, gid, *_ = IN_HEADER.unpack_from(request)
            if code in NO_ANSWER:
                continue
            try:
                error, answer = 0, self.answer(code, self.nodes.get(number), request[IN_HEADER.size:], uid, gid)
            except OSError as failure:
                error, answer = failure.errno, b""
            with contextlib.suppress(OSError):
                os.write(device, struct.pack("<IiQ", 16 + len(answer), -error, unique) + answer)

    @staticmethod
    def entry(node: Node) -> bytes:
        return ENTRY.pack(node.number, 0, 0, 0, 0, 0) + node.attributes()

    def answer(self, code: int, node: Node | None, body: bytes, uid: int, gid: int) -> bytes:
        def names(start: int) -> list[str]:
            return [part.decode() for part in body[start:].split(b"\0")[:-1]]

        if code == 26:  # INIT
            return struct.pack("<IIIIHHIIHHII", 7, 31, 65536, 1 << 5, 16, 12, MOST_WRITTEN, 1, 0, 0, 0, 0) + bytes(24)
        if node is None:
            raise OSError(errno.ESTALE, "")
        if code in NOTHING_TO_DO:
            return b""
        if code == 1:  # LOOKUP
            return self.entry(self.child(node, names(0)[0]))
        if code == 3:  # GETATTR
            return struct.pack("<QII", 0, 0, 0) + node.attributes()
        if code == 4:
            return self.set_attributes(node, body)
        if code == 5:  # READLINK
            return bytes(node.data)
        if code == 6:  # SYMLINK
            name, target = names(0)
            link = self.add(node, name, stat.S_IFLNK | 0o777, uid, gid)
            link.data[:] = target.encode()
            return self.entry(link)
        if code == 8:  # MKNOD
            return self.entry(self.add(node, names(16)[0], struct.unpack_from("<I", body)[0], uid, gid))
        if code == 9:  # MKDIR
            mode = struct.unpack_from("<I", body)[0] & 0o7777
            return self.entry(self.add(node, names(8)[0], stat.S_IFDIR | mode, uid, gid))
        if code in (10, 11):  # UNLINK, RMDIR
            if self.child(node, names(0)[0]).children:
                raise OSError(errno.ENOTEMPTY, "")
            gone = self.take(node, names(0)[0])
            gone.links, gone.changed = gone.links - 1, time.time_ns()
            return b""
        if code in (12, 45):  # RENAME, RENAME2
            below, how = struct.unpack_from("<QI", body) if code == 45 else (*struct.unpack_from("<Q", body), 0)
            old, new = names(16 if code == 45 else 8)
            self.rename(node, old, self.nodes[below], new, how)
            return b""
        if code == 13:  # LINK
            old = self.nodes[struct.unpack_from("<Q", body)[0]]
            if fold(names(8)[0]) in node.children:
                raise OSError(errno.EEXIST, "")
            self.put(node, names(8)[0], old)
            old.links, old.changed = old.links + 1, time.time_ns()
            return self.entry(old)
        if code in (14, 27):  # OPEN, OPENDIR
            return struct.pack("<QII", 0, 0, 0)
        if code == 15:  # READ
            _, offset, size = struct.unpack_from("<QQI", body)
            return bytes(node.data[offset:offset + size])
        if code == 16:  # WRITE
            _, offset, size = struct.unpack_from("<QQI", body)
            node.data.extend(bytes(max(0, offset - len(node.data))))
            node.data[offset:offset + size] = body[40:40 + size]
            node.touch()
            return struct.pack("<II", size, 0)
        if code == 17:  # STATFS
            return struct.pack("<QQQQQIIII", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0) + bytes(24)
        if code == 28:
            return self.list(node, body)
        if code == 35:  # CREATE
            mode = struct.unpack_from("<II", body)[1]
            return self.entry(self.add(node, names(16)[0], stat.S_IFREG | mode & 0o7777, uid, gid)) + bytes(16)
        raise OSError(errno.ENOSYS, "")

    @staticmethod
    def set_attributes(node: Node, body: bytes) -> bytes:
        valid, _, _, size, _, _, mtime, _, _, mtime_rest, _, mode, _, uid, gid, _ = SET_ATTRIBUTES.unpack_from(body)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | mode & 0o7777
        if valid & 2:
            node.uid = uid
        if valid & 4:
            node.gid = gid
        if valid & 8:
            node.data[:] = bytes(node.data[:size]).ljust(size, b"\0")
        node.touch() if valid & (8 | 256) else None
        if valid & 32 and not valid & 256:
            node.modified = mtime * 10**9 + mtime_rest
        node.changed = time.time_ns()
        return struct.pack("<QII", 0, 0, 0) + node.attributes()

    @staticmethod
    def list(node: Node, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        result = b""
        for at, (name, child) in list(enumerate(node.children.values(), 1))[offset:]:
            text = name.encode()
            entry = struct.pack("<QQII", child.number, at, len(text), stat.S_IFMT(child.mode) >> 12) + text
            entry += bytes(-len(entry) % 8)
            if len(result) + len(entry) > size:
                break
            result += entry
        return result
