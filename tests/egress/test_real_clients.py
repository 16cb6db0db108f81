"""Clients that people use every day, each against a stand-in of its service: the whole exchange works
where the host is allowed, and nothing of it where another is."""

import shutil

import pytest

from support.internet import allow


@pytest.fixture
def tools(net, internet):
    """The files that clients need, in the project."""
    source = internet.directory / "for-clients"
    for name in ("ca.pem", "client_key"):
        shutil.copy(source / name, net.project / name)
        net.own(net.project / name)
        (net.project / name).chmod(0o600)
    return net


def git_ssh(world):
    return (f"ssh -F none -i {world.project}/client_key -p 2222 -o IdentitiesOnly=yes "
            "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR")


def test_git_over_https(tools):
    words = ["git", "-c", f"http.sslCAInfo={tools.project}/ca.pem", "clone", "-q"]
    options = allow("good.example:8443")
    tools.run(*words, "https://good.example:8443/repo.git", "one", options=options).expect(0)
    assert (tools.project / "one/file").read_text() == "content\n"
    refused = tools.run(*words, "https://other.example:8443/repo.git", "two", options=options)
    assert refused.status != 0 and not (tools.project / "two").exists(), refused.account()
    tools.bare(*words, "https://other.example:8443/repo.git", "two").expect(0)


def test_git_over_ssh(tools):
    options = [*allow("good.example:2222"), "--env", f"GIT_SSH_COMMAND={git_ssh(tools)}"]
    words = ["git", "clone", "-q"]
    tools.run(*words, "ssh://git@good.example/repo", "one", options=options).expect(0)
    assert (tools.project / "one/file").read_text() == "content\n"
    refused = tools.run(*words, "ssh://git@other.example/repo", "two", options=options)
    assert refused.status != 0 and not (tools.project / "two").exists(), refused.account()
    # Not bare: ssh wants an account, which the ordinary person of these tests has only inside.
    tools.run(*words, "ssh://git@other.example/repo", "two",
              options=[*options, *allow("other.example:2222")]).expect(0)


def test_npm_install(tools):
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--registry"]
    options = allow("good.example:8000")
    tools.write(tools.project / "package.json", '{"name": "x", "version": "1.0.0"}\n')
    tools.run(*words, "http://good.example:8000/", "plain", options=options, timeout=60).expect(0)
    done = tools.run("node", "-p", "require('plain')", options=["--net", "none"]).expect(0)
    assert done.out == "from the registry\n"
    shutil.rmtree(tools.project / "node_modules")
    refused = tools.run(*words, "http://other.example:8000/", "plain", "--fetch-retries=0",
                        options=options, timeout=60)
    assert refused.status != 0 and not (tools.project / "node_modules/plain").exists()


def test_pip_install(tools):
    words = ["/usr/bin/python3", "-m", "pip", "install", "-q", "--disable-pip-version-check",
             "--no-cache-dir", "--target", "packages", "simply", "--retries", "0"]
    def index(host):
        return ["--index-url", f"http://{host}:8000/simple/", "--trusted-host", host]
    options = allow("good.example:8000")
    refused = tools.run(*words, *index("other.example"), options=options, timeout=60)
    assert refused.status != 0 and not (tools.project / "packages/simply.py").exists()
    tools.run(*words, *index("good.example"), options=options, timeout=60).expect(0)
    script = "import sys; sys.path.insert(0, 'packages'); import simply; print(simply.said)"
    assert tools.run("/usr/bin/python3", "-c", script).expect(0).out == "from the index\n"


def test_psql(tools):
    words = ["psql", "-p", "5432", "-U", "x", "-d", "postgres", "-Atc", "select 42", "-h"]
    options = allow("good.example:5432")
    assert tools.run(*words, "good.example", options=options).expect(0).out == "42\n"
    refused = tools.run(*words, "other.example", options=options)
    assert refused.status != 0 and "42" not in refused.out
    assert tools.bare(*words, "other.example").expect(0).out == "42\n"
