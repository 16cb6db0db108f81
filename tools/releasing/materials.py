"""What a release is made of: found in the build, never typed, and written as SPDX 2.3.

Two sources tell. The linker's maps (cmake/CordonInstall.cmake asks for them) name every archive a
member of which went into an executable; that is the code of libraries as well as of the C and C++
runtime. Ninja's record of headers names every file that a compiled source included; a package that is
there and in no map is a library of headers alone, and its code was compiled in. Each file belongs to a
Debian package, which has a version and the terms of its authors. A package whose source is not in
LICENCES ends the release: somebody has to read its terms first.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from releasing.archive import digest
from releasing.build import Failed
from releasing.tree import Tree

# Source package of Debian, without the version some have in their names: its terms for what is linked
# in, as an SPDX expression.
LICENCES = {
    "boost1.74": "BSL-1.0",
    "cross-toolchain-base": "LGPL-2.1-or-later",
    "expat": "MIT",
    "fmtlib": "MIT",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libmicrohttpd": "LGPL-2.1-or-later",
    "libsodium": "ISC",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "ncurses": "X11-distribute-modifications-variant",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "rapidjson": "MIT",
    "sqlite3": "blessing",
    "tl-expected": "CC0-1.0",
    "tomlplusplus": "MIT",
}

DEBIAN_NAMES = {"aarch64": "arm64", "x86_64": "amd64"}


@dataclass(frozen=True)
class Material:
    """One Debian package that gave code."""
    name: str
    architecture: str
    version: str
    source: str
    licence: str

    def reference(self) -> str:
        return "SPDXRef-Material-" + re.sub(r"[^A-Za-z0-9.-]", "-", self.name)


@dataclass
class Materials:
    linked: dict[str, set[Material]] = field(default_factory=dict)  # by executable
    headers: set[Material] = field(default_factory=set)  # compiled in, in no map

    def all(self) -> list[Material]:
        found = set(self.headers).union(*self.linked.values())
        return sorted(found, key=lambda material: material.name)


def archives_of(linker_map: Path) -> set[str]:
    """Paths of archives and start files that are in an executable, but for the project's own."""
    found = set()
    # "path(member)" at the beginning of a line: a member that was taken; "LOAD path": a whole file.
    for line in linker_map.read_text(encoding="utf-8", errors="replace").splitlines():
        member = re.match(r"(/\S+\.a)\(\S+\)", line) or re.match(r"LOAD (/\S+\.o)$", line)
        if member:
            found.add(member[1])
    return found


def headers_of(directory: Path) -> set[str]:
    """Headers outside of the project that a source of the product included."""
    done = subprocess.run(["ninja", "-C", str(directory), "-t", "deps"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"ninja -t deps failed: {done.stderr}")
    found, product = set(), False
    for line in done.stdout.splitlines():
        if line and not line.startswith(" "):
            product = re.match(r"src/CMakeFiles/cordon[^/]*\.dir/", line) is not None
        elif product and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def owners(paths: set[str], arch: str) -> dict[str, str]:
    """The package of each path; of several, which share a header, the one for `arch`."""
    wanted = {}
    for path in paths:
        resolved = str(Path(path).resolve())
        # dpkg knows files by the name they were packed under; /lib is a link to /usr/lib.
        wanted[resolved] = path
        wanted[resolved.removeprefix("/usr")] = path
    done = subprocess.run(["dpkg-query", "-S", *sorted(wanted)], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        packages, _, path = line.rpartition(": ")
        if path in wanted and "diversion by" not in packages:
            named = packages.split(", ")
            found[wanted[path]] = next((one for one in named if one.endswith(f":{arch}")), named[0])
    unknown = sorted(paths - found.keys())
    if unknown:
        raise Failed("these files in the build belong to no Debian package:\n  " + "\n  ".join(unknown[:20]))
    return found


def describe(package: str) -> Material:
    form = "${Package}\t${Architecture}\t${Version}\t${source:Package}\n"
    done = subprocess.run(["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True, check=True)
    name, architecture, version, source = done.stdout.splitlines()[0].split("\t")
    # gcc-12 is gcc, gcc-12-cross is gcc-cross.
    terms = LICENCES.get(source) or LICENCES.get(re.sub(r"-[0-9]+(?=-|$)", "", source))
    if not terms:
        raise Failed(f"{name} (source {source}) is linked in and its licence is not known to "
                     "tools/releasing/materials.py: read its terms and add it to LICENCES")
    return Material(name, architecture, version, source, terms)


def executables(staged: Path) -> list[Path]:
    found = [*staged.glob("bin/*"), *staged.glob("libexec/cordon/*")]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def find(directory: Path, staged: Path, arch: str) -> Materials:
    archives = {}
    for program in executables(staged):
        linker_map = directory / "maps" / f"{program.name}.map"
        if not linker_map.is_file():
            raise Failed(f"the linker wrote no {linker_map}")
        own = str(directory.resolve())
        archives[program.name] = {path for path in archives_of(linker_map) if not path.startswith(own)}
    headers = headers_of(directory)
    packages = owners(headers.union(*archives.values()), DEBIAN_NAMES[arch])
    known = {package: describe(package) for package in sorted(set(packages.values()))}
    found = Materials({name: {known[packages[path]] for path in paths}
                       for name, paths in archives.items()})
    linked = set().union(*found.linked.values())
    # The kernel's headers are numbers; linked packages have headers too.
    found.headers = {known[packages[path]] for path in headers} - linked
    return found


def write_terms(found: Materials, directory: Path) -> Path:
    """One file for each package: what its authors ask to be passed on."""
    directory.mkdir(parents=True)
    for material in found.all():
        shutil.copyfile(f"/usr/share/doc/{material.name}/copyright", directory / f"{material.name}.copyright")
    return directory


def file_entry(path: Path, name: str, reference: str, kind: str) -> dict:
    return {"SPDXID": reference, "fileName": name, "fileTypes": [kind],
            "checksums": [{"algorithm": "SHA1", "checksumValue": digest(path, "sha1")},
                          {"algorithm": "SHA256", "checksumValue": digest(path)}],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def package_entry(material: Material) -> dict:
    locator = f"pkg:deb/debian/{material.name}@{material.version}?arch={material.architecture}"
    return {"SPDXID": material.reference(), "name": material.name, "versionInfo": material.version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": material.licence,
            "copyrightText": "NOASSERTION", "sourceInfo": f"built from the Debian source package {material.source}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator.replace("+", "%2B")}]}


def write_bill(found: Materials, source: Tree, arch: str, staged: Path, products: list[Path],
               bill: Path) -> Path:
    project = "SPDXRef-Project"
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", project)]
    files = []
    for program in executables(staged):
        reference = f"SPDXRef-Executable-{program.name}"
        files.append(file_entry(program, f"./{program.relative_to(staged)}", reference, "BINARY"))
        relations.append((reference, "GENERATED_FROM", project))
        used = found.linked[program.name]
        relations += [(reference, "STATIC_LINK", material.reference())
                      for material in sorted(used, key=lambda one: one.name)]
    # Templates are compiled into the library that all executables share.
    relations += [(project, "DEPENDS_ON", material.reference())
                  for material in sorted(found.headers, key=lambda one: one.name)]
    for number, product in enumerate(products):
        reference = f"SPDXRef-Product-{number}"
        files.append(file_entry(product, f"./{product.name}", reference, "ARCHIVE"))
        relations += [(reference, "CONTAINS", entry["SPDXID"]) for entry in files
                      if entry["fileTypes"] == ["BINARY"]]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"cordon-{source.version}-linux-{arch}",
        "documentNamespace": f"https://spdx.org/spdxdocs/cordon-{source.version}-{arch}-{source.commit}",
        "creationInfo": {"created": source.date(), "creators": ["Organization: Cordon", "Tool: tools-release"]},
        "packages": [{
            "SPDXID": project, "name": "cordon", "versionInfo": source.version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "sourceInfo": f"commit {source.commit}",
        }] + [package_entry(material) for material in found.all()],
        "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }
    bill.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return bill
