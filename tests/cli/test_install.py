"""What `cmake --install` puts in place. Programs built against it are in test_embedding.py."""

import json
import re
import shutil
import subprocess

import pytest

from support.harness import ROOT
from support.installed import build_directory, call


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    call("cmake", "--install", build_directory(), "--prefix", path)
    return path


def test_command_runs_from_where_it_was_put_under_any_name(prefix, tmp_path):
    copy = tmp_path / "another-name"
    shutil.copy(prefix / "bin" / "cordon", copy)
    assert call(copy, "--version").stdout == "cordon 0.1.0\n"
    assert "[fs]" in call(copy, "policy", "show").stdout
    project = tmp_path / "project"
    project.mkdir()
    assert call(copy, "run", "--", "echo", "hello", cwd=project).stdout == "hello\n"


def test_the_part_for_the_audit_log_is_found_where_it_was_put(prefix, tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([prefix / "bin/cordon", "audit", "list", "--json"], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and json.loads(done.stdout) == {"schema": "cordon.audit-list/1", "events": []}, done.stderr
    copy = tmp_path / "alone"
    shutil.copy(prefix / "bin" / "cordon", copy)
    done = subprocess.run([copy, "audit", "list"], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2 and "cordon-tools" in done.stderr


def test_the_server_for_agent_hosts_is_found_where_it_was_put(prefix, tmp_path):
    done = subprocess.run([prefix / "bin/cordon", "mcp"], stdin=subprocess.DEVNULL, timeout=60,
                          env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "" and "no tool is switched on" in done.stderr


def test_srt_is_found_where_it_was_put(prefix, tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": f"{prefix}/libexec/cordon/srt:/usr/bin:/bin"}
    done = subprocess.run(["srt", "echo", "hello"], env=environment, cwd=tmp_path, timeout=60,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_safeclaws_helper_is_a_static_program_of_its_own(prefix, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(call(prefix / "bin/cordon", "apply", "--print-policy", "minimal-dynamic").stdout)
    policy.chmod(0o600)
    helper = prefix / "libexec/cordon/safeclaw/safeclaw-sandbox-helper"
    call(helper, "--policy-file", policy, "--", "/bin/true")
    copy = shutil.copy(helper, tmp_path / "anywhere")
    call(copy, "--policy-file", policy, "--", "/bin/true")


@pytest.mark.parametrize("page,word", [("cordon", "doctor"), ("cordon-run", "--output-limit"),
                                       ("cordon-policy", "explain"),
                                       ("cordon-doctor", "--fix-hints"),
                                       ("cordon-audit", "--keep-days"), ("cordon-changes", "restore"), ("cordon-fleet", "--since"),
                                       ("cordon-mcp", "--token-file"), ("cordon-hook", "--timeout"),
                                       ("cordon-loop", "--restart"), ("cordon-setup", "--env-file"),
                                       ("cordon-demo", "--config-only"), ("cordon-mxc", "--config-base64"),
                                       ("cordon-srt", "--control-fd"), ("cordon-apply", "--status-fd")])
def test_manual_pages_have_the_options_of_the_table(prefix, page, word):
    text = (prefix / "share/man/man1" / f"{page}.1").read_text()
    assert text.startswith(".\\\" ") or ".TH" in text
    assert word in text.replace("\\-", "-") and "@OPTIONS" not in text


def test_every_flag_of_run_is_in_its_manual_page(prefix):
    page = (prefix / "share/man/man1/cordon-run.1").read_text().replace("\\-", "-")
    text = re.sub(r"\\f[BIR]", "", page)  # fonts
    listed = call(prefix / "bin/cordon", "run", "-h").stdout
    flags = [line.split()[0] for line in listed.splitlines() if line.startswith("  -")]
    assert len(flags) > 20
    for flag in flags:
        assert flag in text, flag


def test_completions_presets_and_schemas(prefix):
    share = prefix / "share"
    for name in ("bash-completion/completions/cordon", "zsh/site-functions/_cordon",
                 "fish/vendor_completions.d/cordon.fish"):
        assert "--output-limit" in (share / name).read_text().replace("-l output", "--output"), name
    command = prefix / "bin/cordon"
    for preset in ("strict", "workspace", "readonly", "build", "agent"):
        call(command, "policy", "check", share / f"cordon/presets/{preset}.toml")
    for schema in ("policy", "report", "audit", "changes"):
        shipped = json.loads((share / f"cordon/schema/{schema}.schema.json").read_text())
        assert shipped == json.loads(call(command, "policy", "schema", schema).stdout)


@pytest.mark.parametrize("what", ["build", "test"])
def test_nothing_is_installed_twice(what):
    """Also where a package is there for two architectures, as the libraries of the cross build are."""
    done = call(ROOT / "tools/install-dependencies", what)
    assert (done.stdout, done.stderr) == ("", "")
