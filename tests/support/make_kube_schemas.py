#!/usr/bin/env python3
"""Writes tests/support/kube_schemas.json: the shape of every object of Kubernetes that Cordon writes or ships.

    npm pack @kubernetes/client-node@2.0.1
    tests/support/make_kube_schemas.py kubernetes-client-node-2.0.1.tgz

That package is the official client for JavaScript, whose models are made from Kubernetes' OpenAPI document. Of each
kind, and of all that it holds, the fields with their types are kept, and which of them are required. Every object is
closed. Descriptions are left out, and so are values that a server alone knows to be wrong.
"""

import hashlib
import json
import re
import sys
import tarfile
from pathlib import Path

KINDS = ("ConfigMap", "Job", "NetworkPolicy", "Pod", "RuntimeClass", "ValidatingAdmissionPolicy",
         "ValidatingAdmissionPolicyBinding")
TARGET = Path(__file__).parent / "kube_schemas.json"
PLAIN = {"string": {"type": "string"}, "boolean": {"type": "boolean"}, "any": {},
         "Date": {"type": "string", "format": "date-time"}, "IntOrString": {"type": ["integer", "string"]}}
COUNTED = {"int32": {"type": "integer", "minimum": -2**31, "maximum": 2**31 - 1}, "int64": {"type": "integer"},
           "double": {"type": "number"}}


def shape_of(kind, form):
    """The schema of one type, and the classes that it names."""
    if kind == "number":
        return COUNTED[form], []
    if kind in PLAIN:
        return PLAIN[kind], []
    if many := re.fullmatch(r"Array<(.*)>", kind):
        inner, named = shape_of(many[1], form)
        return {"type": "array", "items": inner}, named
    if each := re.fullmatch(r"\{ \[key: string\]: (.*); \}", kind):
        inner, named = shape_of(each[1], form)
        return {"type": "object", "additionalProperties": inner}, named
    assert re.fullmatch(r"\w+", kind), kind
    return {"$ref": f"#/$defs/{kind}"}, [kind]


class Package:
    def __init__(self, archive):
        self.files = {member.name: archive.extractfile(member).read().decode() for member in archive
                      if re.fullmatch(r"package/dist/gen/models/\w+\.(js|d\.ts)", member.name)}

    def shape_of_class(self, name):
        code = self.files[f"package/dist/gen/models/{name}.js"]
        types = self.files[f"package/dist/gen/models/{name}.d.ts"]
        release = re.search(r"OpenAPI spec version: release-(\S+)", code)[1]
        fields = json.loads(re.search(r"attributeTypeMap = (\[.*?\n\]);", code, re.DOTALL)[1])
        properties, required, named = {}, [], []
        for field in fields:
            properties[field["baseName"]], more = shape_of(field["type"], field["format"])
            named += more
            if re.search(rf"^    '{re.escape(field['name'])}': ", types, re.MULTILINE):
                required.append(field["baseName"])
            else:
                assert f"'{field['name']}'?: " in types, (name, field)
        shape = {"type": "object", "properties": properties, "additionalProperties": False}
        return ({**shape, "required": sorted(required)} if required else shape), named, release


def main(path):
    data = Path(path).read_bytes()
    with tarfile.open(path) as archive:
        package = Package(archive)
        about = json.loads(archive.extractfile("package/package.json").read())
    wanted, shapes, releases = [f"V1{kind}" for kind in KINDS], {}, set()
    while wanted:
        name = wanted.pop()
        if name in shapes:
            continue
        shapes[name], more, release = package.shape_of_class(name)
        releases.add(release)
        wanted += more
    [release] = releases
    head = {"kubernetes": release, "package": f"{about['name']}@{about['version']}", "license": about["license"],
            "sha256": hashlib.sha256(data).hexdigest(), "kinds": list(KINDS)}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    each = ",\n".join(f"{json.dumps(name)}: {json.dumps(shapes[name], sort_keys=True)}" for name in sorted(shapes))
    TARGET.write_text("{" + ",\n".join([*lines, '"$defs": {\n' + each + "\n}"]) + "}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
