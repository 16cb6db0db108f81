"""The tar archive and the sums, the same bytes for the same files."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

from releasing.tree import Tree

# What stands at the top of the archive: name there, name in the tree.
DOCUMENTS = (("LICENSE", "LICENSE"), ("CHANGELOG.md", "CHANGELOG.md"), ("INSTALL.md", "docs/install.md"))


def entry(name: str, epoch: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.mtime = epoch
    made.uid = made.gid = 0
    made.uname = made.gname = "root"
    return made


def add(packed: tarfile.TarFile, path: Path, name: str, epoch: int) -> None:
    made = entry(name, epoch)
    if path.is_symlink():
        made.type, made.linkname, made.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        packed.addfile(made)
    elif path.is_dir():
        made.type, made.mode = tarfile.DIRTYPE, 0o755
        packed.addfile(made)
    else:
        content = path.read_bytes()
        made.size, made.mode = len(content), 0o755 if path.stat().st_mode & 0o100 else 0o644
        packed.addfile(made, io.BytesIO(content))


def make(staged: Path, terms: Path, source: Tree, product: Path, top: str) -> Path:
    """Packs the installed files, the documents and the terms of others below the directory `top`."""
    names = {top: staged}
    names.update({f"{top}/{path.relative_to(staged)}": path for path in staged.rglob("*")})
    names.update({f"{top}/{name}": source.root / path for name, path in DOCUMENTS})
    names[f"{top}/third-party"] = terms
    names.update({f"{top}/third-party/{path.name}": path for path in terms.iterdir()})
    # The header of gzip gets neither a name nor the time of packing.
    with open(product, "wb") as raw, \
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packer, \
            tarfile.open(fileobj=packer, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name in sorted(names):
            add(packed, names[name], name, source.epoch)
    return product


def digest(path: Path, algorithm: str = "sha256") -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def write_sums(directory: Path, version: str) -> Path:
    """Sums of every product of this version, those of an architecture made earlier included."""
    products = [path for path in sorted(directory.iterdir())
                if path.name.startswith((f"cordon-{version}-", f"cordon_{version}-"))]
    sums = directory / "SHA256SUMS"
    sums.write_text("".join(f"{digest(path)}  {path.name}\n" for path in products), encoding="ascii")
    return sums
