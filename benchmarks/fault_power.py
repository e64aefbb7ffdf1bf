"""Loss of power: the log of a run is replayed up to every point, and what was not synced by then is gone."""
import pathlib
import re
import shutil

CALLS = "openat,write,pwrite64,writev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat"
LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += +(-?\d+)(<.*>)?")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class File:
    def __init__(self, data=b""):
        self.data, self.synced = bytearray(data), bytes(data)


class Folder:
    def __init__(self):
        self.entries, self.synced = {}, {}


def load(path):
    """A folder that is on disk as it is."""
    folder = Folder()
    for entry in path.iterdir():
        folder.entries[entry.name] = load(entry) if entry.is_dir() else File(entry.read_bytes())
    folder.synced = dict(folder.entries)
    return folder


def store(folder, path, keep_names):
    """What is there after the loss: synced data, under synced names or, if `keep_names`, under those that were seen last."""
    path.mkdir()
    for name, node in (folder.entries if keep_names else folder.synced).items():
        if isinstance(node, Folder):
            store(node, path / name, keep_names)
        else:
            (path / name).write_bytes(node.synced)


class Disk:
    """Follows the calls of a log, all of which are below one folder."""

    def __init__(self, root):
        self.root, self.top = str(root), load(pathlib.Path(root))

    def inside(self, path):
        if path == self.root:
            return []
        return path[len(self.root) + 1:].split("/") if path.startswith(self.root + "/") else None

    def find(self, parts):
        node = self.top
        for part in parts:
            node = node.entries.get(part) if isinstance(node, Folder) else None
        return node

    def absolute(self, name, at=None):
        return name if name.startswith("/") else f"{at or self.root}/{name}"

    def both(self, texts, places):
        """The two paths of a call, each of which may have a folder of its own."""
        places = places if len(places) == 2 else [None, None]
        return [self.absolute(text.decode(), place) for text, place in zip(texts, places)]

    def put(self, path, node):
        parts = self.inside(path)
        parent = self.find(parts[:-1]) if parts else None
        if isinstance(parent, Folder):
            parent.entries[parts[-1]] = node

    def take(self, path):
        parts = self.inside(path)
        parent = self.find(parts[:-1]) if parts else None
        return parent.entries.pop(parts[-1], None) if isinstance(parent, Folder) else None

    def apply(self, call, text, result, opened):
        texts = [bytes.fromhex(found.replace("\\x", "")) for found in TEXT.findall(text)]
        places = re.findall(r"<((?:\\x[0-9a-f]{2})+|/[^>]*)>", text)
        places = [bytes.fromhex(p.replace("\\x", "")).decode() if p.startswith("\\x") else p for p in places]
        if call == "openat":
            path = self.absolute(texts[0].decode(), places[0] if places else None)
            parts = self.inside(path)
            if not parts or "O_TMPFILE" in text:
                return
            node = self.find(parts)
            if node is None and "O_CREAT" in text:
                self.put(path, File())
            elif isinstance(node, File) and "O_TRUNC" in text:
                node.data = bytearray()
        elif call in ("write", "pwrite64", "writev", "ftruncate", "fsync", "fdatasync"):
            parts = self.inside(places[0]) if places else None
            node = self.find(parts) if parts is not None else None
            if call in ("fsync", "fdatasync"):
                if isinstance(node, File):
                    node.synced = bytes(node.data)
                elif isinstance(node, Folder):
                    node.synced = dict(node.entries)
            elif isinstance(node, File):
                numbers = re.findall(r", (\d+)(?=[,)]|$)", text)
                if call == "ftruncate":
                    size = int(numbers[-1])
                    node.data = node.data[:size] + bytes(max(0, size - len(node.data)))
                else:
                    data = b"".join(texts)[:result]
                    at = int(numbers[-1]) if call == "pwrite64" else len(node.data)
                    node.data[at:at + len(data)] = data
        elif call.startswith("rename"):
            old, new = self.both(texts, places)
            if "RENAME_EXCHANGE" in text:
                first, second = self.take(old), self.take(new)
                self.put(new, first), self.put(old, second)
            else:
                node = self.take(old)
                if node is not None:
                    self.put(new, node)
        elif call in ("unlink", "unlinkat", "rmdir"):
            self.take(self.absolute(texts[0].decode(), places[0] if places else None))
        elif call in ("mkdir", "mkdirat"):
            self.put(self.absolute(texts[0].decode(), places[0] if places else None), Folder())
        elif call in ("link", "linkat"):
            old, new = self.both(texts, places)
            parts = self.inside(old)
            node = self.find(parts) if parts else None
            if node is not None:
                self.put(new, node)


def replay(log, root, scratch):
    """Yields a folder for every state in which a loss of power may leave the disk; the same state only once."""
    disk, seen = Disk(root), set()
    lines = log.read_text(errors="replace").splitlines()
    for line in lines:
        found = LINE.match(line)
        if not found or int(found[3]) < 0:
            continue
        disk.apply(found[1], found[2], int(found[3]), found[4])
        for keep_names in (False, True):
            shutil.rmtree(scratch, ignore_errors=True)
            store(disk.top, scratch, keep_names)
            files = sorted(path for path in scratch.rglob("*"))
            key = hash(tuple((str(path), path.read_bytes() if path.is_file() else None) for path in files))
            if key not in seen:
                seen.add(key)
                yield scratch, line[:120]
