"""How many requests a run may make, how much they may move, and how many may carry a secret. What the gate does while
bytes are under way is in tests/gate/test_traffic.py."""

import json

import pytest

from support.stand_ins import API_PORT, NAME

HOST = f"{NAME}:{API_PORT}"
ROOTS = '[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n'
SECRET = "s3cret-41d7a09be2"

RULE = f"""
[[http]]
host = "{HOST}"
allow = ["GET /v1/**", "POST /v1/messages"]
base = "API_URL"
"""

ASK = """
import os, sys, urllib.error, urllib.request
for line in sys.argv[1:]:
    method, path, size = (line + " 0").split(" ")[:3]
    request = urllib.request.Request(os.environ["API_URL"] + path, method=method, data=b"x" * int(size) or None)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            print(answer.status)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
"""

AT_ONCE = """
import os, sys, threading, urllib.error, urllib.request
statuses, ready = [], threading.Barrier(int(sys.argv[1]))
def ask():
    ready.wait()
    try:
        statuses.append(urllib.request.urlopen(os.environ["API_URL"] + "/v1/models", timeout=60).status)
    except urllib.error.HTTPError as error:
        statuses.append(error.code)
threads = [threading.Thread(target=ask) for _ in range(int(sys.argv[1]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(statuses.count(200), statuses.count(403))
"""


@pytest.fixture
def trust(net):
    return {"SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


def policy(net, limits="", name="budget.toml"):
    text = f"[limits]\n{limits}\n" if limits else ""
    return net.document('version = 1\nextends = "workspace"\n' + text + RULE, name)


def operators(net, bound=""):
    """A policy of the operator's own directory, with a secret, by its word."""
    place = net.home / ".config/cordon/policies"
    net.write(place / "keyed.toml", 'version = 1\nextends = "workspace"\n' + RULE + 'secret = "api-key"\n' +
              secret(bound), 0o600)
    return "keyed"


def secret(bound):
    return f'[[secret]]\nname = "api-key"\nhost = "{HOST}"\nheader = "x-api-key"\nfrom = "env:THE_KEY"\n{bound}\n'


def ask(net, trust, given, *requests, options=(), script=ASK):
    done, report = net.report("/usr/bin/python3", "-c", script, *requests, options=["--policy", given, *options],
                              env={**trust, "THE_KEY": SECRET}, timeout=120)
    return done.expect(0), [line.split(" ", 1) for line in done.out.splitlines()], report


def statuses(answers):
    return [answer[0] for answer in answers]


def refused_by(report):
    return {r["rule"]: r["count"] for r in report["requests"] if r["refused"]}


def test_requests_are_counted(net, trust):
    done, answers, report = ask(net, trust, policy(net, "requests = 2"), "POST /v1/other", "GET /v1/a", "GET /v1/b",
                                "GET /v1/c", "GET /v1/c")
    # What no rule allows is refused for that, and takes nothing.
    assert statuses(answers) == ["403", "200", "200", "403", "403"], done.account()
    assert "outside what is granted" in answers[0][1] and "limits." not in answers[0][1]
    told = json.loads(answers[3][1])["error"]
    assert told["status"] == 403 and "limits.requests = 2 is used up" in told["message"], told
    assert refused_by(report) == {f"[[http]] {HOST}": 1, "limits.requests = 2": 2}, report["requests"]
    assert sum(r["count"] for r in report["requests"] if r["status"] == 200) == 2
    [denial] = [d for d in report["denials"] if d["rule"] == "limits.requests = 2"]
    assert (denial["what"], denial["layer"], denial["count"], denial["path"]) == ("request", "gate", 2, HOST)
    assert report["enforcement"]["limits"]["requests"] == "gate" and report["policy"]["limits"]["requests"] == 2
    assert f"limit reached: request: GET {HOST}: limits.requests = 2 is used up" in done.err, done.account()
    assert "write a larger limits.requests into a policy" in net.cordon_verb("why").expect(0).out
    records = [json.loads(line) for log in (net.home / ".local/state/cordon/audit").glob("*.jsonl")
               for line in log.read_text().splitlines()]
    of_budget = [r for r in records if "limits.requests = 2" in json.dumps(r)]
    assert len(of_budget) >= 2, records
    _, answers, report = ask(net, trust, policy(net, "requests = 3"), "GET /v1/a", "GET /v1/b", "GET /v1/c")
    assert statuses(answers) == ["200"] * 3 and not report["denials"], report["denials"]


def test_many_at_once_are_no_more(net, trust):
    done, _, report = ask(net, trust, policy(net, "requests = 5"), "40", script=AT_ONCE)
    assert done.out == "5 35\n", done.account()
    assert sum(r["count"] for r in report["requests"] if r["status"] == 200) == 5
    done, _, _ = ask(net, trust, policy(net), "40", script=AT_ONCE)
    assert done.out == "40 0\n", done.account()


def test_traffic_is_counted(net, trust):
    named = 'limits.request_traffic = "16K"'
    given = policy(net, 'request_traffic = "16K"')
    done, answers, report = ask(net, trust, given, "POST /v1/messages 8000", "POST /v1/messages 20000",
                                "POST /v1/messages 4000")
    assert statuses(answers) == ["200", "403", "200"], done.account()
    assert named in json.loads(answers[1][1])["error"]["message"]
    moved = sum(r["sent_bytes"] + r["received_bytes"] for r in report["requests"])
    assert 12000 < moved <= 16 << 10, report["requests"]
    [denial] = [d for d in report["denials"] if d["rule"] == named]
    assert named in denial["detail"] and report["enforcement"]["limits"]["request_traffic"] == "gate"
    assert "write a larger limits.request_traffic into a policy" in net.cordon_verb("why").expect(0).out
    done, answers, _ = ask(net, trust, policy(net, 'request_traffic = "64K"'), "POST /v1/messages 8000",
                           "POST /v1/messages 20000", "POST /v1/messages 4000")
    assert statuses(answers) == ["200"] * 3, done.account()


def test_a_secret_is_carried_so_often(net, trust):
    rule = "[[secret]] api-key: requests = 2"
    done, answers, report = ask(net, trust, operators(net, "requests = 2"), "GET /v1/a", "GET /v1/b", "GET /v1/c")
    assert statuses(answers) == ["200", "200", "403"], done.account()
    assert rule in answers[2][1] and refused_by(report) == {rule: 1}, report["requests"]
    assert report["policy"]["secrets"] == [{"name": "api-key", "host": HOST, "kind": "header", "requests": 2}]
    assert 'larger "requests" into the [[secret]] api-key' in net.cordon_verb("why").expect(0).out
    assert SECRET not in done.out + done.err + json.dumps(report)
    done, answers, _ = ask(net, trust, operators(net), "GET /v1/a", "GET /v1/b", "GET /v1/c")
    assert statuses(answers) == ["200"] * 3, done.account()


@pytest.mark.once
def test_of_policy_and_ceiling_the_smaller_holds(net, trust):
    def ceiling(limits, bound=""):
        return net.document("version = 1\n" + ROOTS + f"[limits]\n{limits}\n" + RULE + 'secret = "api-key"\n' +
                            secret(bound), "ceiling.toml")
    asked = ["GET /v1/a", "GET /v1/b", "GET /v1/c"]
    _, answers, report = ask(net, trust, policy(net, "requests = 3"), *asked,
                             options=["--ceiling", ceiling("requests = 1")])
    assert statuses(answers) == ["200", "403", "403"] and "limits.requests = 1" in answers[1][1]
    assert {"what": "limits.requests", "asked": "3", "got": "1", "because": "narrowed"} in report["reductions"]
    # Also where nobody asked for a bound; a caller's own can only be smaller.
    _, answers, _ = ask(net, trust, policy(net), *asked, options=["--ceiling", ceiling("requests = 2")])
    assert statuses(answers) == ["200", "200", "403"]
    _, answers, _ = ask(net, trust, policy(net, "requests = 1"), *asked,
                        options=["--ceiling", ceiling("requests = 3")])
    assert statuses(answers) == ["200", "403", "403"]
    _, answers, report = ask(net, trust, operators(net, "requests = 3"), *asked,
                             options=["--ceiling", ceiling("requests = 9", "requests = 2")])
    assert statuses(answers) == ["200", "200", "403"] and "api-key: requests = 2" in answers[2][1]
    assert {"what": "secret", "asked": "api-key requests 3", "got": "2",
            "because": "narrowed"} in report["reductions"]


@pytest.mark.once
def test_explain_tells_the_budgets(net):
    def explain(given):
        return net.execute([net.cordon, "policy", "explain", "--policy", given, "request", "GET",
                            f"https://{HOST}/v1/models"]).expect(0).out
    told = explain(policy(net, 'requests = 2\nrequest_traffic = "1M"'))
    assert 'a run has limits.requests = 2, limits.request_traffic = "1M"\n' in told, told
    assert "[[secret]] api-key: requests = 7\n" in explain(operators(net, "requests = 7"))
    assert "a run has" not in explain(policy(net))
