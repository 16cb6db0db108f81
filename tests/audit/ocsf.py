"""Whether an event has the structure that OCSF 1.4.0 gives the class Process Activity.

Written from the public schema (ocsf/ocsf-schema: events/base_event, events/system/system and
process_activity; objects metadata, product, actor, device, process). For the event and each of these
objects it checks that every attribute is one of those listed here, that the required ones are there,
that at least one of each group that the schema constrains is, that each value has its type and, where
the schema has a list of values, is one of them; and that the identifiers agree with each other. The
lists hold the attributes that Cordon writes, not all that the schema knows.
"""

TEXT, NUMBER = str, int


class Shape:
    def __init__(self, attributes, required, at_least_one=()):
        self.attributes, self.required, self.at_least_one = attributes, required, at_least_one

    def check(self, value, where):
        assert isinstance(value, dict), where
        assert set(value) <= set(self.attributes), (where, set(value) - set(self.attributes))
        assert set(self.required) <= set(value), (where, set(self.required) - set(value))
        assert not self.at_least_one or set(self.at_least_one) & set(value), where
        for name, member in value.items():
            kind, place = self.attributes[name], f"{where}.{name}"
            if isinstance(kind, Shape):
                kind.check(member, place)
            elif isinstance(kind, set):
                assert type(member) is int and member in kind, (place, member)
            else:
                assert type(member) is kind and member != "", (place, member)


PRODUCT = Shape({"name": TEXT, "vendor_name": TEXT}, ["vendor_name"], ["name", "uid"])
METADATA = Shape({"version": TEXT, "product": PRODUCT, "uid": TEXT, "sequence": NUMBER},
                 ["version", "product"])
ACTOR = Shape({"app_name": TEXT}, [], ["process", "user", "session", "app_name", "app_uid"])
DEVICE = Shape({"type_id": {0, 1, 2, 3, 4, 5, 6, 7, 8, 99}, "name": TEXT}, ["type_id"],
               ["ip", "uid", "name", "hostname", "instance_uid", "interface_uid", "interface_name"])
PROCESS = Shape({"uid": TEXT, "working_directory": TEXT, "sandbox": TEXT}, [], ["pid", "uid"])
EVENT = Shape({"activity_id": {0, 1, 2, 3, 4, 5, 99}, "category_uid": {1}, "class_uid": {1007},
               "type_uid": NUMBER, "severity_id": {0, 1, 2, 3, 4, 5, 6, 99}, "time": NUMBER,
               "end_time": NUMBER, "duration": NUMBER, "status_id": {0, 1, 2, 99},
               "status_detail": TEXT, "exit_code": NUMBER, "metadata": METADATA, "actor": ACTOR,
               "device": DEVICE, "process": PROCESS, "unmapped": dict},
              ["activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time",
               "metadata", "actor", "device", "process"])


def check(event):
    EVENT.check(event, "event")
    assert event["type_uid"] == event["class_uid"] * 100 + event["activity_id"]
    assert event["class_uid"] == event["category_uid"] * 1000 + 7
    assert event["metadata"]["version"] == "1.4.0"
    assert event.get("end_time", event["time"]) >= event["time"]
