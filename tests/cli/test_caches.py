"""What tools of builds have downloaded: "@caches" shows the person's, and `build` keeps one of its own."""

import json

import pytest

CACHES = [".m2/repository/a/b/1/b-1.jar", ".gradle/caches/modules-2/files-2.1/a", ".gradle/wrapper/dists/gradle-8/x",
          ".nuget/packages/a/1/a.nupkg", ".cargo/registry/cache/index/a-1.crate", "go/pkg/mod/example.com/a@v1/a.go",
          "go/pkg/mod/cache/download/example.com/a/@v/list", ".cache/ms-playwright/chromium/chrome"]
# Beside them: clones of go, with a configuration; credentials; what is no cache.
NO_CACHES = ["go/pkg/mod/cache/vcs/0/config", ".m2/settings.xml", ".m2/settings-security.xml",
             ".cargo/credentials.toml",
             ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".cache/other/file", "go/src/file"]


def plant(world):
    for name in [*CACHES, *NO_CACHES]:
        world.write(world.home / name, f"SECRET-{name}\n")


def readable(world, names, *options):
    done = world.run("sh", "-c", 'for f; do cat "$f" > /dev/null 2>&1 && echo "$f"; done; true', "sh",
                     *[world.home / name for name in names], options=options).expect(0)
    return [str(line).removeprefix(f"{world.home}/") for line in done.out.splitlines()]


@pytest.mark.parametrize("preset", ["workspace", "readonly", "build"])
def test_caches_are_readable_and_what_lies_beside_them_is_not(world, preset):
    plant(world)
    assert readable(world, [*CACHES, *NO_CACHES], "--policy", preset) == CACHES
    # Nothing in them can be changed, and what a tool writes beside them is private.
    done = world.run("sh", "-c", f"echo x > {world.home}/.m2/repository/a/b/1/b-1.jar; "
                     f"echo x > {world.home}/.m2/new && "
                     f"echo beside; mkdir {world.home}/.cargo/bin && echo made", options=["--policy", preset])
    assert "beside\nmade\n" in done.out and "Read-only file system" in done.err, done.account()
    assert (world.home / CACHES[0]).read_text() == f"SECRET-{CACHES[0]}\n" and not (world.home / ".m2/new").exists()


@pytest.mark.once
@pytest.mark.parametrize("preset", ["strict", "agent"])
def test_these_presets_show_none(world, preset):
    plant(world)
    shown = world.run("sh", "-c", f"ls {world.home}/.m2 {world.home}/go", options=["--policy", preset])
    assert shown.status != 0 and "repository" not in shown.out, shown.account()
    assert "b-1.jar" in world.bare("find", world.home / ".m2").expect(0).out


@pytest.mark.once
@pytest.mark.parametrize("link", [".cache/ms-playwright", ".cache", ".m2/repository"])
def test_a_link_that_a_run_could_leave_leads_the_next_one_nowhere(world, link):
    """One run may write below the home, and puts a link where a cache would be; the next one may not."""
    secret = world.write(world.home / "Documents/ms-playwright/notes", "SECRET\n")
    place = world.home / link
    world.make_directory(place.parent)
    target = secret.parent.parent if link == ".cache" else secret.parent
    if link == ".cache":
        place.symlink_to(target)
    else:
        world.run("ln", "-s", target, place, options=["--write", place.parent]).expect(0)
    assert place.is_symlink()
    inside = place / secret.relative_to(target)
    done = world.run("cat", inside, secret)
    assert done.status == 1 and "SECRET" not in done.out, done.account()
    assert world.run("cat", secret, options=["--read", target]).expect(0).out == "SECRET\n"


@pytest.mark.once
def test_the_place_itself_can_be_named(world):
    plant(world)
    assert readable(world, ["go/pkg/mod/cache/vcs/0/config"], "--read", world.home / "go/pkg") == \
        ["go/pkg/mod/cache/vcs/0/config"]


@pytest.mark.once
def test_a_ceiling_permits_them_by_the_same_word(world):
    plant(world)
    ceiling = 'version = 1\n[fs]\nread = ["@system", "@toolchains"{}]\nwrite = ["@cwd"]\nhome = "private"\n'
    without = world.document(ceiling.format(""), "without.toml")
    done, report = world.report("ls", world.home / ".m2", options=["--ceiling", without])
    assert {"what": "read", "asked": "@caches", "got": None, "because": "outside-ceiling"} in report["reductions"]
    assert done.status != 0 and "@caches" in done.err, done.account()
    permitting = world.document(ceiling.format(', "@caches"'), "with.toml")
    assert readable(world, [*CACHES, *NO_CACHES], "--ceiling", permitting) == CACHES
    # Nor does a ceiling that has the word permit what lies beside the caches.
    refused = world.run("true", options=["--ceiling", permitting, "--read", world.home / "go/pkg/mod/cache/vcs"])
    assert refused.status == 125 and "go/pkg/mod/cache/vcs" in refused.err, refused.account()


@pytest.mark.once
def test_a_deny_of_a_policy_wins_over_the_word(world):
    plant(world)
    policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\ndeny = ["{world.home}/.m2"]\n')
    assert readable(world, CACHES, "--policy", policy) == [name for name in CACHES if not name.startswith(".m2")]


@pytest.mark.once
def test_the_word_is_only_read(world):
    refused = world.run("true", options=["--write", "@caches"]).expect(125)
    assert "@caches" in refused.err and "never writable" in refused.err


TOOLS = ["CARGO_HOME", "GOMODCACHE", "GRADLE_USER_HOME", "NUGET_PACKAGES", "PIP_CACHE_DIR", "npm_config_cache"]


def test_in_build_the_tools_keep_what_they_download(world):
    """Written once where each tool's own variable points, it is there in the next run; in `workspace` there are no
    such variables."""
    write = "for v in %s; do eval d=\\$$v; mkdir -p \"$d\" && echo kept > \"$d/file\"; done; echo $MAVEN_OPTS"
    write %= " ".join(TOOLS)
    done = world.run("sh", "-c", write, options=["--policy", "build"]).expect(0)
    assert done.out.strip() == f"-Dmaven.repo.local={world.home}/.cache/maven"
    read = "for v in %s; do eval d=\\$$v; cat \"$d/file\"; done" % " ".join(TOOLS)
    again = world.run("sh", "-c", read, options=["--policy", "build"]).expect(0)
    assert again.out == "kept\n" * len(TOOLS)
    plain = world.run("env").expect(0)
    assert not [line for line in plain.out.splitlines() if line.split("=")[0] in [*TOOLS, "MAVEN_OPTS"]]
    assert not (world.home / ".cache").exists()


def test_in_build_the_persons_own_caches_are_read_first(world):
    plant(world)
    done = world.run("env", options=["--policy", "build"]).expect(0)
    seen = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    assert seen["GOPROXY"] == f"file://{world.home}/go/pkg/mod/cache/download,https://proxy.golang.org,direct"
    assert seen["GRADLE_RO_DEP_CACHE"] == f"{world.home}/.gradle/caches"
    assert seen["NUGET_FALLBACK_PACKAGES"] == f"{world.home}/.nuget/packages"
    assert seen["MAVEN_OPTS"].endswith(f" -Dmaven.repo.local.tail={world.home}/.m2/repository")
    # What somebody sets stays as it was set.
    done = world.run("env", options=["--policy", "build", "--env", "GOPROXY=off", "--env", "CARGO_HOME=/tmp/c"])
    assert {"GOPROXY=off", "CARGO_HOME=/tmp/c"} <= set(done.out.splitlines()), done.account()


@pytest.mark.once
def test_pip_downloads_once(world):
    """A package from a directory of wheels: pip's cache is asked where it keeps what it built."""
    done = world.run("python3", "-m", "pip", "cache", "dir", options=["--policy", "build"])
    assert done.status == 0 and done.out.strip() == f"{world.home}/.cache/pip", done.account()


@pytest.mark.once
def test_the_log_tells_the_group_and_no_path(world):
    plant(world)
    world.run("true").expect(0)
    shown = world.cordon_verb("audit", "show", "--json", "last").expect(0)
    assert "@caches" in json.dumps(shown.json) and ".m2" not in shown.out
