"""The package in fresh Debian 12 and Debian 13 systems: installed, used for the first time as root and
as an ordinary user, upgraded, removed and purged. Runs as root: it makes roots."""


import pytest

from debian_tree import DebianTree
from releases import Products, call, trial

SUITES = ("bookworm", "trixie")
LINK = "etc/apparmor.d/cordon"


@pytest.fixture(scope="module")
def products(tmp_path_factory) -> Products:
    return trial(tmp_path_factory.mktemp("dist") / "dist")


@pytest.fixture(params=SUITES)
def tree(request):
    made = DebianTree(request.param)
    yield made
    made.remove()


@pytest.fixture
def installed(tree, products):
    tree.works("dpkg", "--install", tree.add(products.package))
    return tree


def install_apparmor(tree: DebianTree) -> None:
    names = sorted(f"/packages/{path.name}" for path in (tree.path / "packages").iterdir())
    tree.works("dpkg", "--install", *names)


@pytest.mark.parametrize("user", [False, True], ids=["root", "user"])
def test_first_use(installed, user):
    assert installed.works("sh", "-c", "command -v cordon", user=user) == "/usr/bin/cordon\n"
    assert installed.works("cordon", "--version", user=user).startswith("cordon ")
    assert installed.works("cordon", "run", "--", "echo", "hello", user=user) == "hello\n"
    # What a run may write, and what not; without Cordon the same person may write both.
    project = installed.path / "srv" / ("user-project" if user else "root-project")
    installed.works("cordon", "run", "--", "touch", "made", user=user)
    assert (project / "made").exists()
    outside = "/srv/user-outside/made" if user else "/etc/outside"
    assert installed.run("cordon", "run", "--", "touch", outside, user=user).returncode == 1
    assert not (installed.path / outside[1:]).exists()
    installed.works("touch", outside, user=user)
    # The helpers are found in libexec.
    assert "success" in installed.works("cordon", "audit", "list", user=user)
    installed.works("cordon", "audit", "verify", user=user)
    assert "ceiling.toml" in installed.works("cordon", "setup", "--dry-run", user=user)
    assert installed.works("/usr/libexec/cordon/srt/srt", "echo", "hello", user=user) == "hello\n"
    doctor = installed.run("cordon", "doctor", user=user)
    assert doctor.returncode == 0 and "namespaces" in doctor.stdout, doctor


def test_a_purge_leaves_nothing_but_what_belongs_to_users(tree, products):
    before = tree.listing()
    tree.works("dpkg", "--install", tree.add(products.package))
    assert any(line.startswith("usr/bin/cordon f 755 0:0") for line in tree.listing())
    tree.works("cordon", "run", "--", "true", user=True)
    tree.works("mkdir", "-p", "/etc/cordon")
    tree.works("sh", "-c", "cordon policy show readonly >/etc/cordon/mine.toml")
    state = {str(path) for path in (tree.path / "srv/user-home").rglob("*")}
    assert any("cordon" in path for path in state)
    tree.works("dpkg", "--purge", "cordon")
    gained = tree.listing() - before
    assert {line.split()[0] for line in gained} == {"etc/cordon", "etc/cordon/mine.toml"}, gained
    assert {str(path) for path in (tree.path / "srv/user-home").rglob("*")} == state
    assert tree.run("cordon", "--version").returncode == 127
    assert before <= tree.listing()


def test_the_profile_is_put_in_place_where_apparmor_knows_it(tree, products):
    """Debian 12 has AppArmor 3: the profile would make its service fail at every boot."""
    install_apparmor(tree)
    tree.works("dpkg", "--install", tree.add(products.package))
    knows = tree.suite == "trixie"
    assert (tree.path / LINK).is_symlink() == knows
    check = ("apparmor_parser", "--skip-kernel-load", "--skip-cache", "--quiet")
    # What AppArmor's service does at boot, for every profile of the directory.
    tree.works(*check, "--", "/etc/apparmor.d")
    # The control: the profile itself, and where this AppArmor does not know it, that it does not.
    done = tree.run(*check, "/usr/share/cordon/apparmor/cordon")
    assert (done.returncode == 0) == knows, done.stderr
    if knows:
        names = tree.works("apparmor_parser", "--names", f"/{LINK}")
        assert names == "cordon\n"
        # docs/install.md, for another prefix.
        line = "sed 's:^profile cordon /usr/:profile cordon /usr/local/:' /usr/share/cordon/apparmor/cordon >/srv/local"
        tree.works("sh", "-c", line)
        assert "profile cordon /usr/local/{bin" in (tree.path / "srv/local").read_text()
        tree.works(*check, "/srv/local")
    tree.works("dpkg", "--remove", "cordon")
    assert not (tree.path / LINK).is_symlink()
    tree.works(*check, "--", "/etc/apparmor.d")


def test_an_apparmor_that_comes_later_brings_the_profile(tree, products):
    tree.works("dpkg", "--install", tree.add(products.package))
    assert not (tree.path / LINK).is_symlink()
    install_apparmor(tree)
    assert (tree.path / LINK).is_symlink() == (tree.suite == "trixie")


def test_what_an_administrator_put_in_place_of_the_link_stays_until_a_purge(tree, products):
    install_apparmor(tree)
    tree.works("dpkg", "--install", tree.add(products.package))
    own = tree.path / LINK
    own.unlink(missing_ok=True)
    own.write_text("# mine\n")
    local = tree.path / "etc/apparmor.d/local/cordon"
    local.write_text("# mine too\n")
    tree.works("dpkg", "--install", tree.add(products.package))
    tree.works("dpkg", "--remove", "cordon")
    assert own.read_text() == "# mine\n" and local.exists()
    tree.works("dpkg", "--purge", "cordon")
    assert not own.exists() and not local.exists()


def test_a_release_replaces_its_trial(installed, products, tmp_path):
    """Packed anew under the version of the release: "~trial" sorts before it."""
    work = tmp_path / "work"
    call("dpkg-deb", "--raw-extract", products.package, work)
    control = work / "DEBIAN/control"
    control.write_text(control.read_text().replace("~trial", ""))
    newer = tmp_path / "newer.deb"
    call("dpkg-deb", "-Zgzip", "-z1", "--build", "--root-owner-group", work, newer)
    said = installed.works("dpkg", "--install", installed.add(newer))
    assert "downgrading" not in said
    assert installed.works("cordon", "run", "--", "echo", "hello", user=True) == "hello\n"
    assert "~trial" not in installed.works("dpkg-query", "-W", "-f", "${Version}", "cordon")
