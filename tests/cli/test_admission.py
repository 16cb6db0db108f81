"""What packaging/kubernetes has for a cluster: its objects are read against the published schemas, and its expressions
are evaluated (./test --all) on pods as `cordon export kube` writes them."""

import copy
import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from support import harness
from support.kube_schema import fits_published
from support.packages import Packages

HERE = Path(__file__).parent
CEL = Packages(HERE / "cel", "cel", at_least=5)
SHIPPED = harness.ROOT / "packaging/kubernetes"
IMAGE = "example.com/tool@sha256:" + 64 * "0"
ANNOTATION = "cordon.dev/policy"

pytestmark = pytest.mark.once


def shipped(name):
    return list(yaml.safe_load_all((SHIPPED / name).read_text()))


@pytest.mark.parametrize("name, kinds", [
    ("admission.yaml", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] * 2),
    ("runtime-class.yaml", ["RuntimeClass"])])
def test_what_is_shipped_fits_the_published_schemas(world, name, kinds):
    objects = shipped(name)
    assert [one["kind"] for one in objects] == kinds
    for one in objects:
        fits_published(one)
        wrong = copy.deepcopy(one)
        place = wrong.get("spec", wrong)
        key = next(iter(key for key in place if key not in ("apiVersion", "kind", "metadata")))
        place[key[:-1] + key[-1].swapcase()] = place.pop(key)
        with pytest.raises(jsonschema.ValidationError):
            fits_published(wrong)


def test_each_policy_is_bound_and_denies(world):
    objects = shipped("admission.yaml")
    policies = {one["metadata"]["name"]: one for one in objects if one["kind"] == "ValidatingAdmissionPolicy"}
    bindings = {one["spec"]["policyName"]: one for one in objects if one["kind"] == "ValidatingAdmissionPolicyBinding"}
    assert set(policies) == set(bindings) == {"cordon-policy", "cordon-runtime-class"}
    for name, policy in policies.items():
        assert policy["spec"]["failurePolicy"] == "Fail" and bindings[name]["spec"]["validationActions"] == ["Deny"]
    assert shipped("runtime-class.yaml")[0]["metadata"]["name"] == "cordon"


EVALUATE = """
import { evaluate } from "cel-js";
const { spec, context } = JSON.parse(process.argv[1]);
const variables = {};
for (const { name, expression } of spec.variables ?? [])
  variables[name] = evaluate(expression, { ...context, variables });
const failed = spec.validations.filter(({ expression }) => evaluate(expression, { ...context, variables }) !== true);
console.log(JSON.stringify(failed.map(({ message }) => message)));
"""


def complaints(policy, operation, pod, before=None):
    """What a server with this policy says to the request; nothing: it admits the pod."""
    [rule] = policy["spec"]["matchConstraints"]["resourceRules"]
    if operation not in rule["operations"]:
        return []
    context = {"request": {"operation": operation}, "object": pod, "oldObject": before}
    done = subprocess.run(["node", "--input-type=module", "-e", EVALUATE,
                           json.dumps({"spec": policy["spec"], "context": context})],
                          cwd=CEL.install(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def pod_of(world, *words):
    """The pod that a controller makes of what was exported."""
    made = world.cordon_verb("export", "kube", "--image", IMAGE, "--inside", "/cordon-inside", "--drop",
                             "limits.pids,limits.files", *words, "--", "true").expect(0)
    [found] = [one for one in yaml.safe_load_all(made.out) if one["kind"] in ("Pod", "Job", "Sandbox")]
    return found if found["kind"] == "Pod" else found["spec"].get("template") or found["spec"]["podTemplate"]


def without_annotation(pod, way):
    bare = copy.deepcopy(pod)
    if way == "no annotations":
        del bare["metadata"]["annotations"]
    elif way == "another":
        bare["metadata"]["annotations"] = {"example.com/policy": "x"}
    else:
        bare["metadata"]["annotations"][ANNOTATION] = ""
    return bare


@pytest.mark.npm
@pytest.mark.parametrize("kind", ["job", "pod", "sandbox"])
def test_the_pods_of_an_export_are_admitted_and_others_are_not(world, kind):
    [policy, _, runtime, _] = shipped("admission.yaml")
    pod = pod_of(world, "--kind", kind, "--runtime-class", "cordon", "--node-policy", "batch")
    assert complaints(policy, "CREATE", pod) == [] == complaints(runtime, "CREATE", pod)
    for way in ("no annotations", "another", "empty"):
        [said] = complaints(policy, "CREATE", without_annotation(pod, way))
        assert f"no annotation {ANNOTATION}" in said
    for name in (None, "gvisor"):
        other = copy.deepcopy(pod)
        other["spec"]["runtimeClassName"] = name
        if name is None:
            del other["spec"]["runtimeClassName"]
        [said] = complaints(runtime, "CREATE", other)
        assert "RuntimeClass cordon" in said


@pytest.mark.npm
def test_what_was_admitted_keeps_its_annotation(world):
    policy = shipped("admission.yaml")[0]
    pod = pod_of(world, "--kind", "pod")
    bare = without_annotation(pod, "no annotations")
    wider = copy.deepcopy(pod)
    wider["metadata"]["annotations"][ANNOTATION] = "wider"
    assert complaints(policy, "UPDATE", pod, pod) == []
    for changed in (wider, bare):
        [said] = complaints(policy, "UPDATE", changed, pod)
        assert "cannot be changed" in said
    # One that was there before the policy loses its finalizers as ever, and is marked by nobody afterwards.
    assert complaints(policy, "UPDATE", bare, bare) == []
    assert complaints(policy, "UPDATE", pod, bare) != []
