"""Variables of builds: which of the caller's a preset passes on, and which never, whatever they hold."""

import json
from pathlib import Path

import jsonschema
import pytest

SCHEMA = Path(__file__).parents[2] / "schema/report.schema.json"

PASSED = {"CI": "true", "NODE_ENV": "test", "CC": "clang", "CXX": "clang++", "CFLAGS": "-O2 -g", "CXXFLAGS": "-O1",
          "CPPFLAGS": "-DX=1", "LDFLAGS": "-Wl,-O1", "FORCE_COLOR": "1", "GOOS": "linux", "CARGO_TERM_COLOR": "always",
          "SOURCE_DATE_EPOCH": "1"}
# Each makes some program run, load or read what it names.
NEVER = {"MAKEFLAGS": "--eval=$(shell id)", "RUSTFLAGS": "-Clinker=/x", "GOFLAGS": "-toolexec=/x", "RUSTC_WRAPPER": "/x",
         "NODE_OPTIONS": "--require=/x", "BASH_ENV": "/x", "GIT_SSH_COMMAND": "/x", "PYTHONSTARTUP": "/x",
         "PERL5OPT": "-Mx", "PKG_CONFIG_PATH": "/x", "ASAN_OPTIONS": "external_symbolizer_path=/x", "CMAKE_GENERATOR": "x",
         "LD_PRELOAD": "/x.so", "npm_config_registry": "http://x", "GITHUB_TOKEN": "SECRET", "SSH_AUTH_SOCK": "/x"}


def inside(world, env, *options):
    done, report = world.report("/usr/bin/env", options=options, env=env)
    lines = dict(line.split("=", 1) for line in done.expect(0).out.splitlines() if "=" in line)
    return lines, report, done


@pytest.mark.parametrize("preset", ["workspace", "readonly", "build", "agent"])
def test_presets_pass_what_selects_and_injects_nothing(world, preset):
    seen, report, _ = inside(world, PASSED | {k: v for k, v in NEVER.items() if k != "LD_PRELOAD"}, "--policy", preset)
    assert {name: seen.get(name) for name in PASSED} == PASSED
    assert not set(NEVER) & set(seen)
    assert not [r for r in report["reductions"] if r["what"] == "env"]


@pytest.mark.once
def test_strict_passes_none_unless_it_is_named(world):
    seen, _, _ = inside(world, PASSED, "--policy", "strict")
    assert not set(PASSED) & set(seen)
    seen, _, _ = inside(world, PASSED, "--policy", "strict", "--env", "CI")
    assert seen["CI"] == "true" and "CC" not in seen


@pytest.mark.once
@pytest.mark.parametrize("value", [
    "-DURL=https://me:hunter2@example.org/x", "https://hunter2@example.org", "a b://u:p@h c",
    "-DX=http://h/?a=b -DU=ftp://u:p/w@h/", "x=ssh+git://me@h"])
def test_a_value_with_a_login_in_a_url_is_left_out_and_named(world, value):
    seen, report, done = inside(world, {"CFLAGS": value, "CI": "true"})
    assert "CFLAGS" not in seen and seen["CI"] == "true"
    assert report["reductions"] == [{"what": "env", "asked": "CFLAGS", "got": None, "because": "login"}]
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    [line] = [line for line in done.err.splitlines() if "CFLAGS" in line]
    assert "hunter2" not in done.err and "--env CFLAGS passes it" in line
    # Whoever means it says so, as the line has it.
    seen, report, _ = inside(world, {"CFLAGS": value}, "--env", "CFLAGS")
    assert seen["CFLAGS"] == value and report["reductions"] == []


@pytest.mark.once
@pytest.mark.parametrize("value", ["-DURL=https://example.org/x", "me@example.org", "-I/a@b", "http://h/ a@b"])
def test_a_value_without_one_passes(world, value):
    seen, report, _ = inside(world, {"CFLAGS": value})
    assert seen["CFLAGS"] == value and report["reductions"] == []


@pytest.mark.once
def test_a_ceiling_bounds_them_and_names_what_was_there(world):
    """Those that the caller has not set are nobody's loss; no option is named that would be refused."""
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n'
                             '[env]\npass = ["CI", "LANG"]\n')
    env = {"CI": "true", "NODE_ENV": "test", "CFLAGS": "-DU=https://u:p@h"}
    seen, report, done = inside(world, env, "--ceiling", ceiling)
    assert seen["CI"] == "true" and not {"NODE_ENV", "CFLAGS"} & set(seen)
    reduced = {r["asked"]: r["because"] for r in report["reductions"] if r["asked"] in {*PASSED}}
    assert reduced == {"NODE_ENV": "outside-ceiling", "CFLAGS": "outside-ceiling"}
    assert "--env CFLAGS" not in done.err
