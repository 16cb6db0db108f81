"""The archive, the Debian package, the sums and the bill of materials, made from the build that is
there. What a release needs beyond that (building from nothing, other systems) is in the other files."""

import json
import os
import re
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from releases import HELPERS, ROOT, call, clean_copy, trial

PAGES = sorted(path.name.removesuffix(".scd") for path in (ROOT / "docs/man").glob("*.scd"))


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    return trial(tmp_path_factory.mktemp("dist") / "dist")


@pytest.fixture(scope="module")
def unpacked(products, tmp_path_factory):
    return products.unpack(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def package_root(products, tmp_path_factory):
    return products.unpack_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def bill(products):
    return json.loads(products.bill.read_text())


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return clean_copy(tmp_path_factory.mktemp("clean") / "tree")


def executables(root: Path) -> dict[str, Path]:
    return {"cordon": root / "bin/cordon",
            **{name: root / "libexec/cordon" / name for name in HELPERS}}


# The command itself.

def refused(tool: Path, *words) -> str:
    done = subprocess.run([str(tool), *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done
    return done.stderr


def test_a_tree_that_is_not_clean_is_refused_and_the_files_are_named(copy, tmp_path):
    added, changed = copy / "src/added.cc", copy / "README.md"
    before = changed.read_text()
    added.write_text("int added;\n")
    changed.write_text(before + "more\n")
    try:
        said = refused(copy / "tools/release", "--out", tmp_path / "dist")
    finally:
        added.unlink()
        changed.write_text(before)
    assert "not clean" in said and "?? src/added.cc" in said and " M README.md" in said
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_release_of_a_clean_tree_leaves_nothing(copy, tmp_path, number):
    out = tmp_path / "dist"
    with subprocess.Popen([copy / "tools/release", "--arch", os.uname().machine, "--out", out],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + 300
        while not list(out.glob(".working/*/build/CMakeCache.txt")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert started.poll() is None, started.stderr.read()
        children = call("ps", "-o", "pid=", "--ppid", started.pid).stdout.split()
        started.send_signal(number)
        _, said = started.communicate(timeout=120)
    assert started.returncode == 130 and "interrupted" in said, said
    assert list(out.iterdir()) == []
    assert children and not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert call("git", "-C", copy, "status", "--porcelain").stdout == ""


def test_two_releases_do_not_share_a_directory(copy, tmp_path):
    out = tmp_path / "dist"
    out.mkdir()
    with subprocess.Popen(["flock", out / ".lock", "sleep", "600"]) as holder:
        try:
            while subprocess.run(["flock", "-n", out / ".lock", "true"], check=False).returncode == 0:
                assert holder.poll() is None
                time.sleep(0.01)
            assert "another tools/release" in refused(copy / "tools/release", "--out", out)
        finally:
            subprocess.run(["kill", *call("ps", "-o", "pid=", "--ppid", holder.pid).stdout.split()], check=True)


def test_help_has_examples_and_bad_options_are_refused():
    tool = ROOT / "tools/release"
    text = call(tool, "--help").stdout
    assert "examples:" in text and "--arch aarch64" in text and "--trial" in text
    assert "invalid choice: 'sparc'" in refused(tool, "--arch", "sparc")
    assert "needs --trial" in refused(tool, "--build", "out/release")


def test_the_answer_names_every_product(products):
    version = re.search(r"project\(cordon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert products.answer["version"] == f"{version}~trial" and products.answer["trial"]
    assert products.archive.stat().st_size and products.package.stat().st_size
    made = {path.name for path in products.directory.iterdir()}
    assert made == {entry["name"] for entry in products.answer["files"]} | {"SHA256SUMS"}


def test_the_sums_are_those_of_the_products(products):
    call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=products.directory)
    listed = (products.directory / "SHA256SUMS").read_text().splitlines()
    assert sorted(line.split("  ")[0] for line in listed) == \
        sorted(entry["sha256"] for entry in products.answer["files"])


# The archive.

def test_the_archive_has_all_of_it_and_nothing_of_the_machine(products):
    with tarfile.open(products.archive) as packed:
        members = packed.getmembers()
    top = products.archive.name.removesuffix(".tar.gz")
    names = [member.name for member in members]
    assert names == sorted(names) and names[0] == top
    for name in ("LICENSE", "CHANGELOG.md", "INSTALL.md", "bin/cordon", "share/cordon/apparmor/cordon",
                 "share/cordon/kubernetes/admission.yaml", "share/cordon/kubernetes/runtime-class.yaml",
                 "share/bash-completion/completions/cordon", "share/zsh/site-functions/_cordon",
                 "share/fish/vendor_completions.d/cordon.fish", "libexec/cordon/srt/srt",
                 "third-party/libssl-dev.copyright",
                 *(f"libexec/cordon/{name}" for name in HELPERS), *(f"share/man/man1/{page}" for page in PAGES)):
        assert f"{top}/{name}" in names, name
    assert not [name for name in names if name.endswith((".a", ".h", ".cmake"))]
    for member in members:
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "root", "root")
        assert member.mtime == members[0].mtime
        mode = 0o777 if member.issym() else 0o755 if member.isdir() or "/bin/" in member.name \
            or "/libexec/" in member.name else 0o644
        assert member.mode == mode, member.name


def test_executables_are_static_stripped_and_know_no_directory_of_the_build(products, unpacked):
    for name, path in executables(unpacked).items():
        loads = name == "cordon-ship"  # the next test
        header = call("readelf", "--file-header", "--dynamic", "--section-headers", "--wide", path).stdout
        assert "DYN (Position-Independent Executable file)" in header, name
        assert ("(NEEDED)" in header) == loads and ".symtab" not in header, name
        content = path.read_bytes()
        for place in (ROOT, products.directory):
            assert str(place).encode() + b"/" not in content, (name, place)
    # The control: the executable that was not stripped has its symbols.
    built = ROOT / "build/cordon"
    assert ".symtab" in call("readelf", "--section-headers", "--wide", built).stdout


def test_the_one_that_loads_libraries_needs_an_old_c_library_and_nothing_else(unpacked):
    """No libpq, which it looks for once a database is named, and no glibc after 2.34: Debian 12, RHEL 9, Ubuntu 22.04."""
    ship = unpacked / "libexec/cordon/cordon-ship"
    read = call("readelf", "--dynamic", "--version-info", "--wide", ship).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", read))
    assert needed <= {"libc.so.6", "libm.so.6", "libresolv.so.2", "libgcc_s.so.1"} | {name for name in needed if name.startswith("ld-linux")}
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", read)}
    assert versions and max(versions) <= (2, 34), versions
    assert "RPATH" not in read and "RUNPATH" not in read
    assert "cordon_ship" in call(unpacked / "bin/cordon", "audit", "ship", "--schema").stdout


def test_it_runs_where_it_is_unpacked(products, world):
    place = products.unpack(world.path / "anywhere")
    for path in (world.path / "anywhere", place):
        path.chmod(0o755)
    done = world.execute([place / "bin/cordon", "run", "--", "echo", "hello"])
    assert (done.status, done.out) == (0, "hello\n"), done.account()
    done = world.execute([place / "bin/cordon", "audit", "verify"])
    assert done.status == 0, done.account()


# The package.

def test_the_package_installs_below_usr_alone_and_needs_nothing(products, package_root):
    control = call("dpkg-deb", "--field", products.package).stdout
    assert "Package: cordon\n" in control and "Depends:" not in control and "libpq5" in control
    assert re.search(r"^Version: [0-9.]+~trial-1$", control, re.M)
    assert sorted(path.name for path in package_root.iterdir()) == ["usr"]
    for line in call("dpkg-deb", "--contents", products.package).stdout.splitlines():
        mode, owner = line.split()[:2]
        assert owner == "root/root" and mode[0] in "d-l", line
        assert mode[1:] in ("rwxr-xr-x", "rw-r--r--") or mode[0] == "l", line
    usr = package_root / "usr"
    programs = [*usr.glob("bin/*"), *usr.glob("libexec/cordon/cordon*")]
    assert set(executables(usr)) == {path.name for path in programs if not path.is_symlink()}
    # The name by which an engine calls its runtime.
    assert {path.name: str(path.readlink()) for path in programs if path.is_symlink()} == {"cordon-oci": "cordon-tools"}
    assert not list(usr.rglob("*.a")) and not (usr / "include").exists()
    assert {path.name for path in (usr / "share/man/man1").iterdir()} == {f"{page}.gz" for page in PAGES}


def test_the_package_and_the_archive_have_the_same_executables(unpacked, package_root):
    for name, path in executables(unpacked).items():
        assert path.read_bytes() == executables(package_root / "usr")[name].read_bytes(), name


def test_lintian_finds_no_error_and_every_override_is_needed_and_explained(products):
    # Its status counts errors that an override explains, once they are shown; the release itself ran plain.
    said = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--display-info",
                           "--show-overrides", str(products.package)], capture_output=True, text=True,
                          timeout=300, check=False).stdout
    assert not re.findall(r"^[EW]: .*", said, re.M), said
    assert "unused-override" not in said and "mismatched-override" not in said, said
    hidden = set(re.findall(r"^O: cordon: (\S+)", said, re.M))
    lines = (ROOT / "packaging/debian/lintian-overrides").read_text().splitlines()
    overridden = {line.split()[1] for line in lines if line and not line.startswith("#")}
    assert hidden == overridden, said
    # A reason stands above each group of overrides.
    for number, line in enumerate(lines):
        if line.startswith("cordon:"):
            assert number > 0 and lines[number - 1].startswith(("#", "cordon:")), line


def test_the_changelog_has_the_version_and_the_time_of_the_commit(products, package_root):
    text = call("zcat", package_root / "usr/share/doc/cordon/changelog.Debian.gz").stdout
    assert text.startswith(f"cordon ({products.answer['version']}-1) ")
    date = call("date", "-u", "-d", products.answer["date"], "+%a, %d %b %Y %H:%M:%S +0000",
                env={**os.environ, "LC_ALL": "C"}).stdout
    assert text.rstrip().endswith(date.strip())
    assert (ROOT / "CHANGELOG.md").read_text() == \
        call("zcat", package_root / "usr/share/doc/cordon/changelog.gz").stdout


@pytest.mark.parametrize("page", PAGES)
def test_manual_pages_render(package_root, page):
    path = package_root / "usr/share/man/man1" / f"{page}.gz"
    done = call("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", path,
                env={"PATH": os.environ["PATH"], "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    text = re.sub(".\b", "", done.stdout)  # overstruck letters are bold
    assert done.stderr == "" and "\nNAME\n" in text and len(text) > 500, done.stderr


def test_completions_load_and_complete(package_root, tmp_path):
    share = package_root / "usr/share"
    bash = ("source /usr/share/bash-completion/bash_completion; source \"$1\"; complete -p cordon >/dev/null || exit 9; "
            "COMP_WORDS=(cordon ru); COMP_CWORD=1; COMP_LINE='cordon ru'; COMP_POINT=9; "
            "$(complete -p cordon | sed 's/.*-F \\([^ ]*\\).*/\\1/') cordon ru cordon; printf '%s\\n' \"${COMPREPLY[@]}\"")
    assert "run" in call("bash", "--norc", "-c", bash, "bash", share / "bash-completion/completions/cordon").stdout.split()
    zsh = "fpath=($1 $fpath); autoload -Uz compinit; compinit -u -d $2; print $_comps[cordon]; autoload +X _cordon"
    assert call("zsh", "-f", "-c", zsh, "zsh", share / "zsh/vendor-completions", tmp_path / "dump").stdout == "_cordon\n"
    fish = "source $argv[1]; complete -C 'cordon ru'"
    done = call("fish", "--no-config", "-c", fish, share / "fish/vendor_completions.d/cordon.fish",
                env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert "run" in [line.split("\t")[0] for line in done.stdout.splitlines()], done


def test_the_profile_names_the_installed_programs(package_root):
    text = (package_root / "usr/share/cordon/apparmor/cordon").read_text()
    assert re.search(r"^abi <abi/4.0>,$", text, re.M) and re.search(r"^  userns,$", text, re.M)
    pattern = re.search(r"^profile cordon (\S+) flags=\(unconfined\) \{$", text, re.M)[1]
    assert pattern == "/usr/{bin/cordon,libexec/cordon/cordon-*}"
    for path in executables(package_root / "usr").values():
        name = "/" + str(path.relative_to(package_root))
        assert re.fullmatch(r"/usr/(bin/cordon|libexec/cordon/cordon-[^/]*)", name), name


def test_presets_do_not_depend_on_the_machine(package_root):
    for preset in ("workspace", "readonly", "build", "agent"):
        text = (package_root / f"usr/share/cordon/presets/{preset}.toml").read_text()
        assert 'memory = "4G"' in text and text.startswith(f"# The preset {preset}"), text


# The bill of materials.

def test_the_bill_has_what_spdx_requires(bill):
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["dataLicense"] == "CC0-1.0"
    assert bill["SPDXID"] == "SPDXRef-DOCUMENT" and bill["name"]
    assert re.fullmatch(r"https://[^#\s]+", bill["documentNamespace"])
    created = bill["creationInfo"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["created"])
    assert all(re.match(r"(Person|Organization|Tool): \S", one) for one in created["creators"])
    elements = bill["packages"] + bill["files"]
    identities = [element["SPDXID"] for element in elements]
    assert len(set(identities)) == len(identities)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identity) for identity in identities)
    for package in bill["packages"]:
        assert package["name"] and package["downloadLocation"] and package["filesAnalyzed"] is False
        assert package["versionInfo"] and package["licenseDeclared"] not in ("", "NOASSERTION")
    for file in bill["files"]:
        assert file["fileName"].startswith("./")
        assert {one["algorithm"] for one in file["checksums"]} == {"SHA1", "SHA256"}
    known = {*identities, "SPDXRef-DOCUMENT"}
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, relation
    assert {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
            "relatedSpdxElement": "SPDXRef-Project"} in bill["relationships"]
    project = next(package for package in bill["packages"] if package["SPDXID"] == "SPDXRef-Project")
    assert (project["name"], project["licenseDeclared"]) == ("cordon", "Apache-2.0")


def test_the_hashes_of_the_bill_are_those_of_the_files(products, unpacked, bill):
    sums = {file["fileName"]: {one["algorithm"]: one["checksumValue"] for one in file["checksums"]}
            for file in bill["files"]}
    places = {f"./{path.relative_to(unpacked)}": path for path in executables(unpacked).values()}
    places |= {f"./{path.name}": path for path in (products.archive, products.package)}
    assert sums.keys() == places.keys()
    for name, path in places.items():
        assert sums[name]["SHA256"] == call("sha256sum", path).stdout.split()[0], name
        assert sums[name]["SHA1"] == call("sha1sum", path).stdout.split()[0], name


def linked(bill: dict, program: str) -> set[str]:
    names = {package["SPDXID"]: package["name"] for package in bill["packages"]}
    return {names[relation["relatedSpdxElement"]] for relation in bill["relationships"]
            if relation["spdxElementId"] == f"SPDXRef-Executable-{program}" and relation["relationshipType"] == "STATIC_LINK"}


def test_the_bill_names_what_the_linker_took(bill, unpacked):
    heavy = {"libmicrohttpd-dev", "libncurses-dev", "libsqlite3-dev"}
    assert heavy | {"libssl-dev", "libsodium-dev", "libexpat1-dev"} <= linked(bill, "cordon-tools")
    assert not heavy & linked(bill, "cordon")
    assert all(linked(bill, name) for name in executables(unpacked))
    named = {package["name"] for package in bill["packages"]}
    assert {"libfmt-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libexpected-dev", "rapidjson-dev"} <= named
    # Used while building, and not in the product.
    assert "libseccomp-dev" not in named
    # The version is the one that is in the executable.
    sqlite = next(package for package in bill["packages"] if package["name"] == "libsqlite3-dev")
    number = re.match(r"[0-9.]+", sqlite["versionInfo"])[0].rstrip(".")
    assert number.encode() in executables(unpacked)["cordon-tools"].read_bytes()


def test_every_material_has_its_terms_in_both_products(bill, unpacked, package_root):
    names = {f"{package['name']}.copyright" for package in bill["packages"] if package["SPDXID"] != "SPDXRef-Project"}
    for place in (unpacked / "third-party", package_root / "usr/share/doc/cordon/third-party"):
        assert {path.name for path in place.iterdir()} == names
        assert all(path.stat().st_size > 200 for path in place.iterdir())


def test_a_library_whose_terms_nobody_read_ends_the_release(tmp_path):
    copied = clean_copy(tmp_path / "tree")
    materials = copied / "tools/releasing/materials.py"
    text = materials.read_text()
    assert '    "sqlite3": "blessing",\n' in text
    materials.write_text(text.replace('    "sqlite3": "blessing",\n', ""))
    program = ("import sys; sys.path.insert(0, sys.argv[1]); from releasing import materials; "
               "print(materials.describe(sys.argv[2]).licence)")
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", program, str(copied / "tools"), "libsqlite3-dev"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "add it to LICENCES" in done.stderr
    assert call("/usr/bin/python3", "-B", "-c", program, copied / "tools", "libfmt-dev").stdout == "MIT\n"
