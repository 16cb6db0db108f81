"""What the objects of Kubernetes that Cordon writes are read against, twice: against their published shape, closed, so
that a misspelt field is refused as a server with strict validation refuses it; and against what Cordon promises of
each field that it uses."""

import json
from pathlib import Path

import jsonschema


def closed(required: dict, optional: dict | None = None) -> dict:
    return {"type": "object", "properties": {**required, **(optional or {})},
            "required": sorted(required), "additionalProperties": False}


def listed(items: dict, **bounds) -> dict:
    return {"type": "array", "items": items, **bounds}


def only(*values) -> dict:
    return {"enum": list(values)}


TEXT = {"type": "string"}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
PATH = {"type": "string", "pattern": "^/"}
COUNT = {"type": "integer", "minimum": 0}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
QUANTITY = {"type": "string", "pattern": "^[0-9]+m?$"}
LABELS = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[-A-Za-z0-9_.]{0,63}$"}}
# The one that `cordon oci` and an admission policy look for.
ANNOTATIONS = closed({"cordon.dev/policy": {"type": "string", "pattern": "^[A-Za-z0-9][-A-Za-z0-9_.:]{0,62}$"}})
METADATA = closed({"name": NAME, "labels": LABELS, "annotations": ANNOTATIONS})
SECCOMP = closed({"type": only("RuntimeDefault")})

# What the Pod Security standard "restricted" asks for is not optional here.
CONTAINER = closed(
    {"name": NAME, "image": {"type": "string", "pattern": "^[^@]+@sha256:[0-9a-f]{64}$"},
     "command": listed(TEXT, minItems=1), "workingDir": PATH,
     "env": listed(closed({"name": TEXT, "value": TEXT})),
     "resources": closed({}, {name: {"type": "object", "propertyNames": only("cpu", "memory"),
                                     "additionalProperties": QUANTITY} for name in ("limits", "requests")}),
     "securityContext": closed({"allowPrivilegeEscalation": only(False), "readOnlyRootFilesystem": only(True),
                                "runAsNonRoot": only(True), "seccompProfile": SECCOMP,
                                "capabilities": closed({"drop": only(["ALL"])})}),
     "volumeMounts": listed(closed({"name": NAME, "mountPath": PATH}, {"readOnly": only(True)}))})
VOLUME = {"oneOf": [
    closed({"name": NAME, "emptyDir": closed({}, {"medium": only("Memory"), "sizeLimit": QUANTITY})}),
    closed({"name": NAME, "configMap": closed({"name": NAME})})]}
POD_SPEC = closed(
    {"restartPolicy": only("Never"), "automountServiceAccountToken": only(False),
     "enableServiceLinks": only(False), "hostname": NAME, "containers": listed(CONTAINER, minItems=1),
     "volumes": listed(VOLUME),
     "securityContext": closed({"runAsNonRoot": only(True), "runAsUser": {"type": "integer", "minimum": 1},
                                "runAsGroup": {"type": "integer", "minimum": 1}, "fsGroup": COUNT,
                                "seccompProfile": SECCOMP})},
    {"activeDeadlineSeconds": {"type": "integer", "minimum": 1}, "runtimeClassName": NAME})
PEER = closed({"ipBlock": closed({"cidr": {"type": "string", "pattern": "^[0-9a-f.:]+/[0-9]+$"}},
                                 {"except": listed(TEXT)})})

METADATA_OF_PODS = closed({"labels": LABELS, "annotations": ANNOTATIONS})
KINDS = {
    "NetworkPolicy": closed(
        {"apiVersion": only("networking.k8s.io/v1"), "kind": only("NetworkPolicy"), "metadata": METADATA,
         "spec": closed({"podSelector": closed({"matchLabels": LABELS}),
                         "policyTypes": only(["Ingress", "Egress"]), "ingress": only([]),
                         "egress": listed(closed({"to": listed(PEER)}, {"ports": listed(closed(
                             {"protocol": only("TCP"), "port": PORT}, {"endPort": PORT}))}))})}),
    "ConfigMap": closed(
        {"apiVersion": only("v1"), "kind": only("ConfigMap"), "metadata": METADATA, "immutable": only(True),
         "binaryData": {"type": "object", "additionalProperties": {"type": "string",
                                                                   "pattern": "^[A-Za-z0-9+/]+=*$"}}}),
    "Pod": closed({"apiVersion": only("v1"), "kind": only("Pod"), "metadata": METADATA, "spec": POD_SPEC}),
    "Job": closed(
        {"apiVersion": only("batch/v1"), "kind": only("Job"), "metadata": METADATA,
         "spec": closed({"backoffLimit": COUNT, "completions": COUNT, "parallelism": COUNT,
                         "ttlSecondsAfterFinished": COUNT,
                         "template": closed({"metadata": METADATA_OF_PODS, "spec": POD_SPEC})},
                        {"activeDeadlineSeconds": {"type": "integer", "minimum": 1}})}),
}
KINDS["Sandbox"] = closed(
    {"apiVersion": only("agents.x-k8s.io/v1beta1"), "kind": only("Sandbox"), "metadata": METADATA,
     "spec": closed({"podTemplate": closed({"metadata": METADATA_OF_PODS, "spec": POD_SPEC})})})

# Written by make_kube_schemas.py from a published package.
PUBLISHED = json.loads((Path(__file__).parent / "kube_schemas.json").read_text())


def published_class(name):
    return {"$ref": f"#/$defs/{name}"}


# Of kubernetes-sigs/agent-sandbox, which is in no package: api/v1beta1/sandbox_types.go at commit
# 040bc60f45bceb4ad347b032b7b0de4e4bb3656e.
NAMES_AND_VALUES = {"type": "object", "additionalProperties": TEXT}
SANDBOX = closed(
    {"apiVersion": only("agents.x-k8s.io/v1beta1"), "kind": only("Sandbox"), "spec": closed(
        {"podTemplate": closed({"spec": published_class("V1PodSpec")},
                               {"metadata": closed({}, {"labels": NAMES_AND_VALUES,
                                                        "annotations": NAMES_AND_VALUES})})},
        {"volumeClaimTemplates": listed(closed({"spec": published_class("V1PersistentVolumeClaimSpec")}, {
            "metadata": closed({}, {"name": TEXT, "labels": NAMES_AND_VALUES, "annotations": NAMES_AND_VALUES})})),
         "service": {"type": "boolean"}, "operatingMode": only("Running", "Suspended"),
         "shutdownTime": {"type": "string", "format": "date-time"}, "shutdownPolicy": only("Delete", "Retain")})},
    {"metadata": published_class("V1ObjectMeta"), "status": {"type": "object"}})


def fits_published(document):
    """As a server with strict validation reads it."""
    kind = document["kind"]
    shape = SANDBOX if kind == "Sandbox" else published_class(f"V1{kind}")
    jsonschema.validate(document, {**shape, "$defs": PUBLISHED["$defs"]})
