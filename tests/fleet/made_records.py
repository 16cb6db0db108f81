"""Records of an audit log as whoever has a node may write them, made from docs/audit-format.md: with a genuine hash, and
with whatever else in them."""

from __future__ import annotations

import datetime
import hashlib
import json
import uuid

ZEROS = "0" * 64
NOW = datetime.datetime.now(datetime.timezone.utc)


def moment(back: float = 0.0) -> str:
    """So many hours ago."""
    return (NOW - datetime.timedelta(hours=back)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def line(seq: int, phase: str, metadata: dict, *, event: str | None = None, back: float = 1.0, action: str = "run",
         outcome: str | None = None, reason: str | None = None) -> str:
    record = {"v": 1, "seq": seq, "event_id": event or str(uuid.uuid4()), "timestamp": moment(back),
              "boot_id": "00000000-0000-4000-8000-00000000000a", "boot_ms": 1, "phase": phase, "prev": ZEROS,
              "agent_id": None, "action": action, "resource": None,
              "outcome": outcome or ("pending" if phase == "pending" else "failure" if reason else "success"),
              "reason": reason, "attribution_type": "none", "attribution_layer": "application", "metadata": metadata,
              "mac": ZEROS}
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)[:-1]
    return f'{text},"hash":"{hashlib.sha256(text.encode()).hexdigest()}"}}'


def action(seq: int, *, reason: str | None = None, denials: list = (), connections: list = (), tool: str | None = None,
           agent: str | None = None, took: int = 10, back: float = 1.0, name: str = "run", http: dict | None = None,
           answer: dict | None = None) -> list[str]:
    """Its two records; a refusal has one."""
    event = str(uuid.uuid4())
    asked = {"tool": tool, "cwd": "@home", "agent": agent, **({"http": http} if http else {})}
    end = {"pending_seq": seq, "exit_code": 1 if reason == "exit" else 0, "signal": None, "duration_ms": took,
           "denials": list(denials), "denial_count": len(denials), "error_kind": None, "request": None,
           **({"connections": list(connections), "connection_count": len(connections)} if connections else {}),
           **({"http": answer} if answer else {})}
    if reason in ("refused", "denied"):
        end.update(pending_seq=None, request=asked, error_kind="policy")
        return [line(seq, "closing", end, event=event, back=back, action=name, reason=reason)]
    return [line(seq, "pending", asked, event=event, back=back, action=name),
            line(seq + 1, "closing", end, event=event, back=back, action=name, reason=reason)]


def denial(what: str, layer: str = "broker", rule: str | None = None, count: int = 1) -> dict:
    return {"what": what, "layer": layer, "detail_hash": "0" * 16, "count": count, **({"rule": rule} if rule else {})}


def connection(rule: str, address: str = "198.51.100.7", port: int = 443, count: int = 1, allowed: bool = True) -> dict:
    return {"destination_hash": "0" * 16, "address": address if allowed else None, "port": port, "rule": rule,
            "allowed": allowed, "count": count, "sent": 100 * count, "received": 2048 * count}


def export(*actions: list[str]) -> str:
    return "".join(f"{one}\n" for lines in actions for one in lines)


def busy(node: int = 0) -> str:
    """A log with something of everything."""
    return export(
        action(1, connections=[connection("packages.example.com:443", count=3), connection("10.0.0.0/8", "10.1.2.3", 5432)]),
        action(3, reason="exit", denials=[denial("connect", rule="gist.github.com", count=2)], tool="run_code",
               agent="claude"),
        action(5, reason="timeout", took=30_000), action(7, reason="limit", denials=[denial("memory", "cgroup")]),
        action(9, reason="refused"), action(10, reason="denied"),
        action(11, name="request", http={"rule": "GET api.github.com/repos/**", "method": "GET", "path_hash": "0" * 16,
                                         "secret": None, "run": None},
               answer={"status": 200, "sent": 10, "received": 5000}),
        action(13, back=30.0 + node))
