"""Schemas of the objects that `cordon export kube` writes: of each kind the fields that are used, closed, so
that a misspelt field is refused as a server with strict validation refuses it."""


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
METADATA = closed({"name": NAME, "labels": LABELS, "annotations": {"type": "object", "additionalProperties": TEXT}})
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
                         "template": closed({"metadata": closed({"labels": LABELS}), "spec": POD_SPEC})},
                        {"activeDeadlineSeconds": {"type": "integer", "minimum": 1}})}),
}
