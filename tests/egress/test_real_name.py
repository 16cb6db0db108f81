"""Hosts with rules for requests by their real name: programs that know no other address go through the gate over TLS,
by an authority that is made for one run."""

import hashlib
import json
import os
import ssl

import pytest

from support.internet import allow, running
from support.stand_ins import API_PORT, FILES_PORT, GIT_TLS_PORT, NAME, OTHER

HOST = f"{NAME}:{API_PORT}"
URL = f"https://{HOST}/v1/models"
FILES = f"{NAME}:{GIT_TLS_PORT}"
RULE = ["--http", f"GET {HOST}/v1/**"]
TRUST = "/dev/cordon/trust"
BUNDLE, AUTHORITY = f"{TRUST}/bundle.pem", f"{TRUST}/authority.pem"
USUAL = "/etc/ssl/certs/ca-certificates.crt"

URLLIB = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    sys.exit(str(error))
"""
REQUESTS = """
import sys, requests
answer = requests.get(sys.argv[1], timeout=20)
print(answer.text)
sys.exit(None if answer.ok else str(answer.status_code))
"""
NODE_HTTPS = """
require("https").get(process.argv[1], answer => {
  answer.on("data", data => process.stdout.write(data));
  answer.on("end", () => process.exit(answer.statusCode == 200 ? 0 : 1));
  console.error(answer.statusCode);
}).on("error", error => { console.error(error); process.exit(2) });
"""
# Node's own fetch is undici.
NODE_FETCH = """
fetch(process.argv[1]).then(async answer => {
  console.error(answer.status);
  console.log(await answer.text());
  process.exit(answer.ok ? 0 : 1);
}).catch(error => { console.error(error); process.exit(2) });
"""
CLIENTS = {
    "curl": ["curl", "-sS", "--fail"],
    "wget": ["wget", "-qO-", "-t1", "-S"],
    "urllib": ["/usr/bin/python3", "-c", URLLIB],
    "requests": ["/usr/bin/python3", "-c", REQUESTS],
    "node-https": ["node", "-e", NODE_HTTPS],
    "node-fetch": ["node", "-e", NODE_FETCH],
}
# The digest of the certificate that a server shows, whoever signed it.
SHOWN = """
import hashlib, socket, ssl, sys
context = ssl._create_unverified_context()
for place in sys.argv[1:]:
    host, port = place.rsplit(":", 1)
    with context.wrap_socket(socket.create_connection((host, int(port)), 20), server_hostname=host) as peer:
        print(hashlib.sha256(peer.getpeercert(True)).hexdigest())
"""


def authority_of(internet):
    return internet.directory / "for-clients/ca.pem"


@pytest.fixture
def trust(net):
    """The authority that the small internet's servers are certified by, for the gate; nothing inside sees it."""
    return {"SSL_CERT_FILE": str(authority_of(net.internet))}


def refusals(report):
    return [request["refused"] for request in report["requests"] if request["refused"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_goes_by_the_name(net, trust, client):
    done, report = net.report(*CLIENTS[client], URL, options=RULE, env=trust)
    assert json.loads(done.expect(0).out)["path"] == "/v1/models", done.account()
    assert [(r["method"], r["status"], r["host"]) for r in report["requests"]] == [("GET", 200, HOST)]
    done, report = net.report(*CLIENTS[client], f"https://{HOST}/other", options=RULE, env=trust)
    assert done.status != 0 and "403" in done.err, done.account()
    assert len(refusals(report)) == 1 and "GET /other" in refusals(report)[0], report["requests"]
    assert report["requests"][0]["rule"] == f"[[http]] {HOST}"


def test_git_over_https(net, trust):
    options = ["--http", f"GET {FILES}/repo.git/**"]
    done, report = net.report("git", "clone", "-q", f"https://{FILES}/repo.git", "one", options=options, env=trust)
    done.expect(0)
    assert (net.project / "one/file").read_text() == "content\n"
    assert {r["status"] for r in report["requests"]} <= {200, 404} and not refusals(report), report["requests"]
    done = net.run("git", "clone", "-q", f"https://{FILES}/another.git", "two", options=options, env=trust)
    assert done.status != 0 and "403" in done.err and not (net.project / "two").exists(), done.account()


@pytest.mark.once
def test_pip(net, trust):
    words = ["/usr/bin/python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir",
             "--target", "packages", "--retries", "0", "--index-url", f"https://{FILES}/simple/", "simply"]
    refused = net.run(*words, options=["--http", f"GET {FILES}/other/**"], env=trust, timeout=60)
    assert refused.status != 0 and not (net.project / "packages/simply.py").exists(), refused.account()
    net.run(*words, options=["--http", f"GET {FILES}/simple/**"], env=trust, timeout=60).expect(0)
    assert (net.project / "packages/simply.py").exists()


@pytest.mark.once
def test_npm(net, trust):
    """What the package is called goes through the gate; its archive lies at a port without a rule."""
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0", "--registry",
             f"https://{FILES}/", "plain"]
    net.write(net.project / "package.json", '{"name": "x", "version": "1.0.0"}\n')
    archive = allow(f"{NAME}:{FILES_PORT}")
    refused = net.run(*words, options=["--http", f"GET {FILES}/other", *archive], env=trust, timeout=60)
    assert refused.status != 0 and "403" in refused.err, refused.account()
    net.run(*words, options=["--http", f"GET {FILES}/plain", *archive], env=trust, timeout=60).expect(0)
    assert (net.project / "node_modules/plain/index.js").exists()


JAVA = """
import java.net.URI; import java.net.http.*;
public class Ask { public static void main(String[] a) throws Exception {
  var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(),
                                               HttpResponse.BodyHandlers.ofString());
  System.out.println(answer.statusCode() + " " + answer.body());
} }
"""


JAVA_STORE = "/etc/ssl/certs/java/cacerts"


@pytest.mark.only("user")
def test_java(net, trust):
    """Java reads certificates in a form of its own, from the file that the JDKs of this host link to."""
    net.write(net.project / "Ask.java", JAVA)
    for place, said in ((URL, "200 "), (f"https://{HOST}/other", "403 ")):
        done, report = net.report("java", "Ask.java", place, options=RULE, env=trust, timeout=90)
        assert done.expect(0).out.startswith(said), done.account()
        assert len(refusals(report)) == (said == "403 "), report["requests"]
    # Control: one that does not know the authority. Then the option of docs/gate.md for such a JDK.
    own = net.write(net.project / "own", open(JAVA_STORE, "rb").read())
    for store, status in ((own, 1), ('$(dirname "$NODE_EXTRA_CA_CERTS")/java.jks', 0)):
        script = f'java -Djavax.net.ssl.trustStore="{store}" Ask.java "$0"'
        done = net.run("sh", "-c", script, URL, options=RULE, env=trust, timeout=90)
        assert done.status == status and ("PKIX path building failed" in done.err) == (status == 1), done.account()


@pytest.mark.only("user")
def test_javas_own_certificates_are_kept(net, trust):
    """keytool compares the digest at the end of the file, which Java itself does not."""
    words = ["keytool", "-list", "-keystore", JAVA_STORE, "-storepass", "changeit"]
    named = {line.split(",")[0] for line in net.bare(*words).expect(0).out.splitlines() if "trustedCertEntry" in line}
    inside = net.run(*words, options=RULE, env=trust, timeout=60).expect(0).out.splitlines()
    shown = {line.split(",")[0] for line in inside if "trustedCertEntry" in line}
    assert named and shown - named == {f"cordon-{len(named)}"} and named <= shown
    # Without a rule it is the host's.
    net.write(net.project / "copy", open(JAVA_STORE, "rb").read())
    net.run("cmp", JAVA_STORE, "copy", options=allow(HOST), env=trust).expect(0)
    net.run("cmp", JAVA_STORE, "copy", options=RULE, env=trust).expect(1)


def test_without_a_rule_the_connection_is_end_to_end(net, trust):
    served = hashlib.sha256(ssl.PEM_cert_to_DER_cert(authority_of(net.internet).read_text())).hexdigest()
    other = f"{OTHER}:{API_PORT}"
    done, _ = net.python(SHOWN, HOST, other, options=allow(HOST, other), env=trust)
    assert done.expect(0).out.split() == [served, served]
    # In a run with a rule for one host, the other one's is still its own.
    done, report = net.python(SHOWN, HOST, other, options=[*RULE, *allow(other)], env=trust)
    shown, still = done.expect(0).out.split()
    assert shown != served and still == served, done.account()
    assert [c["host"] for c in report["connections"] if c["allowed"]] == [OTHER], report["connections"]


LOOK = f"""
import json, os
names = [n for n, v in os.environ.items() if v.startswith("{TRUST}")]
usual = open("{USUAL}").read() if os.path.exists("{USUAL}") else None
own = open("{AUTHORITY}").read() if os.path.exists("{AUTHORITY}") else None
bundle = open("{BUNDLE}").read() if own else None
print(json.dumps(dict(names=sorted(names), usual=usual, own=own, bundle=bundle)))
"""
NAMES = sorted(["AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO",
                "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "npm_config_cafile"])


def test_what_is_shown_is_the_hosts_bundle_and_the_authority(net, trust):
    host = open(USUAL).read()
    seen = net.python(LOOK, options=RULE, env=trust)[0].expect(0).json
    assert seen["names"] == NAMES
    assert seen["usual"] == seen["bundle"]
    assert seen["own"].count("BEGIN CERTIFICATE") == 1 and seen["own"] not in host
    for certificate in host.split("-----END CERTIFICATE-----"):
        assert certificate.strip() in seen["bundle"]
    assert seen["bundle"].endswith(seen["own"])
    assert seen["bundle"].count("BEGIN CERTIFICATE") == host.count("BEGIN CERTIFICATE") + 1
    # Control: without a rule nothing of it is there, and the host's file never changed.
    seen = net.python(LOOK, options=allow(HOST), env=trust)[0].expect(0).json
    assert seen == {"names": [], "usual": host, "own": None, "bundle": None}
    assert not [p for p in (net.home / ".local/state/cordon/private").glob("*") if p.is_dir()]


def test_it_cannot_be_written_inside(net, trust):
    script = f"for f in {BUNDLE} {AUTHORITY} {USUAL}; do (: > $f) && echo written; rm -f $f && echo removed; done; true"
    assert net.run("sh", "-c", script, options=RULE, env=trust).expect(0).out == ""


def test_a_variable_that_somebody_chose_stays_and_is_told(net, trust):
    options = [*RULE, "--env", f"SSL_CERT_FILE={net.project}/mine.pem"]
    done, report = net.report("sh", "-c", "echo $SSL_CERT_FILE $CURL_CA_BUNDLE", options=options, env=trust)
    assert done.expect(0).out.split() == [f"{net.project}/mine.pem", BUNDLE]
    told = [r for r in report["reductions"] if r["what"] == "trust"]
    assert told == [{"what": "trust", "asked": "SSL_CERT_FILE", "got": f"{net.project}/mine.pem",
                     "because": "narrowed"}], report["reductions"]
    # And the program that goes by it is known for what it is.
    net.write(net.project / "mine.pem", authority_of(net.internet).read_text())
    # A connection that is reset may take the client's alert along: then the gate does not hear why.
    for _ in range(10):
        done, report = net.report(*CLIENTS["urllib"], URL, options=options, env=trust)
        assert done.status != 0, done.account()
        if refusals(report):
            break
    assert "does not trust the authority of this run" in refusals(report)[0], done.account()
    assert [d["rule"] for d in report["denials"] if d["what"] == "request"] == [f"[[http]] {HOST}"]


def test_the_callers_own_bundle_counts_if_the_command_may_read_it(net, trust):
    # Of a key nothing is copied, behind a certificate that was cut off neither.
    key = "-----BEGIN PRIVATE KEY-----\nbm90aGluZw==\n-----END PRIVATE KEY-----\n"
    ours = authority_of(net.internet).read_text()
    place = net.write(net.project / "authorities.pem",
                      "# ours\n" + ours + "-----BEGIN CERTIFICATE-----\nY3V0\n" + key + ours + key)
    env = {"SSL_CERT_FILE": str(place)}
    seen = net.python(LOOK, options=RULE, env=env)[0].expect(0).json
    assert seen["bundle"] == ours + ours + seen["own"]
    other = f"{OTHER}:{API_PORT}"
    done = net.run(*CLIENTS["urllib"], f"https://{other}/x", options=[*RULE, *allow(other)], env=env)
    assert json.loads(done.expect(0).out)["path"] == "/x"
    # One that it may not read is for the gate alone.
    seen = net.python(LOOK, options=RULE, env=trust)[0].expect(0).json
    assert authority_of(net.internet).read_text().strip() not in seen["bundle"]


TRY = """
import http.client, os, socket, ssl, sys
def attempt(host, port, name, host_header=None, cafile=None, path="/v1/models"):
    try:
        connected = socket.create_connection((host, port), 20)
        peer = ssl.create_default_context(cafile=cafile).wrap_socket(connected, server_hostname=name)
        host_header = host_header or "good.example:9443"
        asked = "GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (path, host_header)
        peer.sendall(asked.encode())
        return peer.recv(12)[9:].decode()
    except ssl.SSLCertVerificationError as error:
        return "untrusted"
    except ssl.SSLError as error:
        return "tls"
    except OSError as error:
        return type(error).__name__
"""


def test_what_does_not_fit_the_rule_is_refused_and_told(net, trust):
    script = TRY + f"""
print(attempt("{NAME}", {API_PORT}, "{NAME}"))
print(attempt("{NAME}", {API_PORT}, "{NAME}", "{OTHER}:{API_PORT}"))
context = ssl._create_unverified_context()
try:
    context.wrap_socket(socket.create_connection(("{NAME}", {API_PORT}), 20), server_hostname="{OTHER}")
except ssl.SSLError:
    print("tls")
print(attempt("203.0.113.10", {API_PORT}, "{NAME}"))
print(attempt("{NAME}", {GIT_TLS_PORT}, "{NAME}"))
plain = http.client.HTTPConnection("{NAME}", {API_PORT}, timeout=20)
plain.request("GET", "/v1/models")
answer = plain.getresponse()
print(answer.status, "https://" in answer.read().decode())
"""
    done, report = net.python(script, options=RULE, env=trust)
    assert done.expect(0).out.split("\n")[:-1] == ["200", "421", "tls", "PermissionError", "PermissionError",
                                                   "400 True"], done.account()
    told = refusals(report)
    assert len(told) == 3, report["requests"]
    assert any(f"its TLS names {OTHER}, and the rule is for {NAME}" in one for one in told), told
    assert any("HTTP without TLS" in one for one in told), told
    assert all(r["rule"] == f"[[http]] {HOST}" for r in report["requests"])
    refused = {c["port"]: c for c in report["connections"] if not c["allowed"]}
    assert refused[API_PORT]["address"] == "203.0.113.10", refused
    assert "no rule allows this address" in refused[API_PORT]["reason"]
    assert refused[GIT_TLS_PORT]["rule"] == f"[[http]] {HOST}", refused
    assert "not at this port" in refused[GIT_TLS_PORT]["reason"]


def test_a_name_leads_through_the_gate_however_it_is_spelled(net, trust):
    for name in (NAME, NAME.upper(), f"{NAME}."):
        done = net.run("curl", "-sS", "--fail", f"https://{name}:{API_PORT}/v1/models", options=RULE, env=trust)
        assert json.loads(done.expect(0).out)["headers"]["host"] == HOST, done.account()
        # Also where connections to that host are allowed.
        done = net.run("curl", "-sS", "--fail", "-X", "DELETE", f"https://{name}:{API_PORT}/v1/models",
                       options=[*RULE, *allow(HOST)], env=trust)
        assert done.status != 0 and "403" in done.err, done.account()


@pytest.mark.once
def test_what_no_option_would_change_is_told_without_one(net, trust):
    done, report = net.report("curl", "-sS", "-X", "DELETE", "-H", f"Host: {OTHER}:{API_PORT}", URL, URL, options=RULE,
                              env=trust)
    told = {d["detail"]: d["change"] for d in report["denials"] if d["what"] == "request"}
    assert len(told) == 1 and not any(told.values()), told
    done, report = net.report("curl", "-sS", "-X", "DELETE", URL, options=RULE, env=trust)
    assert [d["change"] for d in report["denials"]] == [f"--http 'DELETE {HOST}/v1/models'"], done.account()


@pytest.mark.once
@pytest.mark.parametrize("name, why", [("private.example", "private address"),
                                       ("metadata.example", "cloud metadata address"),
                                       ("loop.example", "this host itself")])
def test_a_name_that_leads_where_no_connection_may_go_is_refused(net, trust, name, why):
    options = ["--http", f"GET {name}:{API_PORT}/v1/**"]
    done, report = net.report("curl", "-sS", f"https://{name}:{API_PORT}/v1/a", options=options, env=trust)
    assert "the policy refuses what its name leads to" in done.expect(0).out, done.account()
    assert [r["status"] for r in report["requests"]] == [502], report["requests"]
    assert [why in c["reason"] for c in report["connections"]] == [True], report["connections"]


def test_an_authority_is_worth_nothing_in_another_run(net, trust):
    script = TRY + f"""
import shutil
print(attempt("{NAME}", {API_PORT}, "{NAME}", cafile="old.pem" if os.path.exists("old.pem") else None))
print(attempt("{NAME}", {API_PORT}, "{NAME}", cafile="{AUTHORITY}"))
if not os.path.exists("old.pem"):
    shutil.copyfile("{AUTHORITY}", "old.pem")
"""
    assert net.python(script, options=RULE, env=trust)[0].expect(0).out.split() == ["200", "200"]
    assert net.python(script, options=RULE, env=trust)[0].expect(0).out.split() == ["untrusted", "200"]


def test_a_server_that_the_host_would_refuse_is_refused(net, trust):
    done, report = net.report("curl", "-sS", URL, options=RULE)  # the host's own bundle does not know its authority
    assert "its certificate is not accepted" in json.loads(done.expect(0).out)["error"]["message"], done.account()
    assert [r["status"] for r in report["requests"]] == [502]
    bare = net.bare("curl", "-sS", URL)
    assert bare.status == 60, bare.account()
    done = net.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", URL, options=RULE, env=trust)
    assert done.expect(0).out == "200"


def test_the_key_is_nowhere(net, trust):
    """Not where anything inside looks, and outside not in what this user's other processes can read."""
    script = f"""
import os, sys
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("comm", "environ", "cmdline"):
        try:
            text = open(f"/proc/{{pid}}/{{name}}", "rb").read()
        except OSError:
            continue
        if b"PRIVATE" + b" KEY" in text or b"cordon-" + b"gate" in text and pid != str(os.getpid()):
            found.append((pid, name))
for name in sorted(os.listdir("{TRUST}")):
    found.append((name, b"PRIVATE" + b" KEY" in open(f"{TRUST}/{{name}}", "rb").read()))
print(found, flush=True)
sys.stdin.readline()
"""
    process = net.start([net.cordon, "run", *RULE, "--", "/usr/bin/python3", "-c", script], stdin=-1, stdout=-1,
                        text=True, env=trust)
    with running(process):
        assert process.stdout.readline() == "[('authority.pem', False), ('bundle.pem', False), ('java.jks', False)]\n"
        state = net.home / ".local/state/cordon"
        [directory] = [p for p in (state / "private").iterdir() if p.is_dir()]
        assert sorted(p.name for p in (directory / "trust").iterdir()) == ["authority.pem", "bundle.pem", "java.jks"]
        for place, _, names in os.walk(state):
            for name in names:
                assert b"PRIVATE KEY" not in open(os.path.join(place, name), "rb").read(), name
        process.communicate("\n", timeout=30)
    assert not [p for p in (state / "private").iterdir() if p.is_dir()]


@pytest.mark.once
def test_the_plan_shows_it(net, trust):
    done = net.run("true", options=[*RULE, "--dry-run"], env=trust)
    assert TRUST in done.expect(0).out and USUAL in done.out, done.account()
    plain = net.run("true", options=[*allow(HOST), "--dry-run"], env=trust)
    assert TRUST not in plain.expect(0).out, plain.account()
    for access, path, status in (("read", BUNDLE, 0), ("read", AUTHORITY, 0), ("read", USUAL, 0),
                                 ("write", BUNDLE, 1), ("write", USUAL, 1), ("read", f"{TRUST}/key.pem", 1)):
        done = net.execute([net.cordon, "policy", "explain", *RULE, access, path], env=trust)
        assert done.status == status and "rule: [[http]]" in done.out, done.account()
