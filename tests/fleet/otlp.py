"""A receiver of OTLP/HTTP with JSON, strict about the form, and a log that is shipped to it.

Started as a program it is a receiver that can be killed: `otlp.py PORT STORE`. What it has acknowledged stands in STORE.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema

LONG = 60
TEXT, WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
UNSIGNED = {"type": "string", "pattern": "^[0-9]{1,20}$"}
# The messages of the protocol in their JSON form. All of them are closed: a misspelt field is refused, where the
# receivers of others would pass over it.


def message(required: tuple = (), **fields) -> dict:
    return {"type": "object", "additionalProperties": False, "properties": fields, "required": list(required)}


def many(one: dict) -> dict:
    return {"type": "array", "items": one}


ANY_VALUE = {**message(stringValue=TEXT, boolValue={"type": "boolean"}, doubleValue={"type": "number"},
                       intValue={"type": "string", "pattern": "^-?[0-9]{1,19}$"},
                       bytesValue={"type": "string", "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"},
                       arrayValue={"type": "object"}, kvlistValue={"type": "object"}), "minProperties": 1, "maxProperties": 1}
KEY_VALUE = message(("key", "value"), key={"type": "string", "minLength": 1}, value=ANY_VALUE)
LOG_RECORD = message((), timeUnixNano=UNSIGNED, observedTimeUnixNano=UNSIGNED,
                     severityNumber={"type": "integer", "minimum": 1, "maximum": 24}, severityText=TEXT, body=ANY_VALUE,
                     attributes=many(KEY_VALUE), droppedAttributesCount=WHOLE, flags=WHOLE, eventName=TEXT,
                     traceId={"type": "string", "pattern": "^[0-9a-f]{32}$"},
                     spanId={"type": "string", "pattern": "^[0-9a-f]{16}$"})
SCOPE = message((), name=TEXT, version=TEXT, attributes=many(KEY_VALUE), droppedAttributesCount=WHOLE)
REQUEST = message(("resourceLogs",), resourceLogs=many(message(
    (), resource=message((), attributes=many(KEY_VALUE), droppedAttributesCount=WHOLE), schemaUrl=TEXT,
    scopeLogs=many(message((), scope=SCOPE, logRecords=many(LOG_RECORD), schemaUrl=TEXT)))))
CHECKED = jsonschema.Draft202012Validator(REQUEST)


def unique(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), f"a key stands twice: {pairs}"
    return dict(pairs)


def value_of(value: dict):
    [(kind, content)] = value.items()
    return {"intValue": int, "bytesValue": base64.b64decode}.get(kind, lambda same: same)(content)


def attributes_of(listed: list) -> dict:
    return unique([(one["key"], value_of(one["value"])) for one in listed])


@dataclass
class Stored:
    """One log record, as a receiver has it."""
    resource: dict
    attributes: dict
    body: str | bytes
    time: int | None
    severity: str
    raw: dict

    @property
    def line(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else self.body.encode()

    @property
    def identity(self) -> tuple:
        return self.attributes["cordon.node"], self.attributes["cordon.seq"]


def read_request(body: bytes) -> list[Stored]:
    """Raises what is wrong with it."""
    request = json.loads(body.decode("utf-8", "strict"), object_pairs_hook=unique)
    CHECKED.validate(request)
    found = []
    for of_resource in request["resourceLogs"]:
        resource = attributes_of(of_resource["resource"]["attributes"])
        for of_scope in of_resource["scopeLogs"]:
            assert of_scope["scope"]["name"] == "cordon.audit"
            for record in of_scope["logRecords"]:
                when = int(record["timeUnixNano"]) if "timeUnixNano" in record else None
                assert int(record["observedTimeUnixNano"]) < 2 ** 64 and (when or 0) < 2 ** 64
                assert {"INFO": 9, "WARN": 13, "ERROR": 17}[record["severityText"]] == record["severityNumber"]
                found.append(Stored(resource, attributes_of(record["attributes"]), value_of(record["body"]), when,
                                    record["severityText"], record))
    assert found, "a request without records"
    return found


@dataclass
class Reply:
    status: int = 200
    body: bytes = b"{}"
    fields: dict = field(default_factory=dict)
    keeps: bool | None = None  # whether the records are stored; by the status
    drops: bool = False  # the connection is closed behind the answer, without having been announced


def partial(rejected, text="") -> Reply:
    return Reply(body=json.dumps({"partialSuccess": {"rejectedLogRecords": rejected, "errorMessage": text}}).encode())


class Receiver:
    """`judge` is called with the records of each request and answers with a Reply; without it all are taken."""

    def __init__(self, port: int = 0, context=None, judge=None, store: Path | None = None, host: str = "127.0.0.1",
                 path: str = "/v1/logs") -> None:
        self.judge = judge or (lambda records: Reply())
        self.requests: list[list[Stored]] = []
        self.heads: list[dict] = []
        self.faults: list[str] = []
        self.records: list[Stored] = []
        self.connections: set = set()
        self.path, self.store = path, store
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.connections.add(self.client_address)
                receiver.take(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

            def handle_error(self, *_):
                # A shipper that was killed breaks off; anything else is a fault of this receiver.
                if not isinstance(sys.exc_info()[1], OSError):
                    receiver.faults.append(traceback.format_exc())

        self.server = Server((host, port), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.scheme = "otlp+http" if context is None else "otlp+https"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, host: str = "127.0.0.1", path: str = "") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def take(self, handler) -> None:
        head = {name.lower(): value for name, value in handler.headers.items()}
        self.heads.append(head)
        body = handler.rfile.read(int(head["content-length"]))
        try:
            assert handler.path == self.path, handler.path
            assert head["content-type"] == "application/json" and "transfer-encoding" not in head
            records = read_request(body)
        except (AssertionError, ValueError, KeyError, jsonschema.ValidationError) as wrong:
            self.faults.append(f"{wrong}"[:2000])
            reply = Reply(400, json.dumps({"code": 3, "message": "not as the protocol has it"}).encode())
        else:
            self.requests.append(records)
            reply = self.judge(records)
            if reply.keeps if reply.keeps is not None else reply.status == 200:
                self.keep(records)
        handler.send_response(reply.status)
        for name, value in reply.fields.items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)
        handler.close_connection = handler.close_connection or reply.drops

    def keep(self, records: list[Stored]) -> None:
        self.records += records
        if self.store:
            with self.store.open("a") as out:
                out.writelines(json.dumps([*record.identity, record.attributes["cordon.hash"], record.body]) + "\n"
                               for record in records)

    @property
    def lines(self) -> list[bytes]:
        """Each record once, by its node and number."""
        assert not self.faults, self.faults[:3]
        once = {record.identity: record.line for record in self.records}
        return [once[key] for key in sorted(once)]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def receiving(**how):
    receiver = Receiver(**how)
    try:
        yield receiver
    finally:
        receiver.close()


class Killable:
    """A receiver in a process of its own."""

    def __init__(self, port: int, store: Path) -> None:
        self.port, self.store = port, store
        self.process: subprocess.Popen | None = None

    def up(self) -> None:
        self.process = subprocess.Popen([sys.executable, __file__, str(self.port), str(self.store)],
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def size(self) -> int:
        return self.store.stat().st_size if self.store.exists() else 0

    @property
    def rows(self) -> list[list]:
        """What was acknowledged, and perhaps more."""
        return [json.loads(line) for line in self.store.read_text().splitlines()] if self.store.exists() else []


def main() -> None:
    store = Path(sys.argv[2])
    if store.exists():
        # A killed one may have left a torn line, which it had not acknowledged.
        whole = store.read_bytes()
        store.write_bytes(whole[:whole.rfind(b"\n") + 1])
    receiver = Receiver(port=int(sys.argv[1]), store=store)
    print("ready", flush=True)
    while not receiver.faults:
        time.sleep(0.05)
    sys.exit(receiver.faults[0])


if __name__ == "__main__":
    main()
