#!/usr/bin/env python3
"""A second implementation of the checks of the audit log, from docs/audit-format.md alone.

    verify.py DIRECTORY

Prints one line for each fault, "KIND FILE:LINE SEQ", and answers 1 if there is one.
"""

import hashlib
import hmac
import json
import re
import struct
import sys
from pathlib import Path

KEYS = ["v", "seq", "event_id", "timestamp", "boot_id", "boot_ms", "phase", "prev", "agent_id",
        "action", "resource", "outcome", "reason", "attribution_type", "attribution_layer",
        "metadata", "mac", "hash"]
OLDER_KEYS = [key for key in KEYS if key != "mac"]
TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}$')
MAC = re.compile(rb',"mac":"([0-9a-f]{64})"$')
DAY = re.compile(r"^\d{4}-\d{2}-\d{2}\.jsonl$")
ZEROS = "0" * 64


class Head:
    def __init__(self, directory):
        data = (directory / "head").read_bytes()
        key = (directory / "key").read_bytes()
        if len(data) != 512 or data[:8] != b"cordhd1\n":
            raise ValueError("form")
        if not hmac.compare_digest(data[480:],
                                   hmac.new(key, b"head\0" + data[:480], "sha256").digest()):
            raise ValueError("mac")
        (self.seq, self.synced, self.size, _, self.cut, self.lost) = struct.unpack_from("<6Q", data, 8)
        self.hash = data[56:88].hex()
        self.day = data[88:104].rstrip(b"\0").decode()
        self.boot = data[120:160].rstrip(b"\0").decode()
        (self.keyed_from,) = struct.unpack_from("<Q", data, 160)
        self.key = key


def parse(raw, head):
    """The record, or None for a line that is not what was written."""
    tail = TAIL.search(raw)
    if not tail or hashlib.sha256(raw[:tail.start()]).hexdigest() != tail.group(1).decode():
        return None
    try:
        record = json.loads(raw)
    except ValueError:
        return None
    if list(record) not in (KEYS, OLDER_KEYS) or record["v"] != 1:
        return None
    if head and head.keyed_from and record["seq"] >= head.keyed_from:
        mac = MAC.search(raw[:tail.start()])
        made = hmac.new(head.key, b"line\0" + raw[:mac.start()], "sha256").hexdigest() if mac else ""
        if not mac or not hmac.compare_digest(made, mac.group(1).decode()):
            return None
    return record


def pruned_start(directory):
    """(seq, hash) of the last record that was removed, by the last signed prune."""
    path = directory / "checkpoints.jsonl"
    start = (0, ZEROS)
    if not path.exists():
        return start
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    seed = (directory / "signing.key").read_bytes()
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    name = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
    for raw in path.read_bytes().splitlines():
        entry = json.loads(raw)
        public.verify(bytes.fromhex(entry["signature"]), raw[:raw.rindex(b',"signature":"')])
        assert entry["public_key"] == name
        if entry["reason"] == "prune" and entry["seq"] > start[0]:
            start = (entry["seq"], entry["hash"])
    return start


def verify(directory, boot=None):
    """(faults, records): faults are (kind, file, line, seq)."""
    directory = Path(directory)
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    faults, records, lines = [], [], []
    days = sorted(p.name for p in directory.iterdir() if DAY.match(p.name))
    for name in days:
        data = (directory / name).read_bytes()
        parts = data.split(b"\n")
        for number, raw in enumerate(parts[:-1], 1):
            lines.append((name, number, raw, True))
        if parts[-1]:
            lines.append((name, len(parts), parts[-1], False))
    try:
        head = Head(directory)
    except (OSError, ValueError):
        head = None
        faults.append(("head-mismatch", "head", 0, 0))

    # Every number that stands anywhere, to tell what was moved from what was removed.
    parsed = [parse(raw, head) if whole else None for _, _, raw, whole in lines]
    present = {r["seq"] for r in parsed if r}
    last_seq, last_hash = pruned_start(directory)
    # A prune that was interrupted leaves earlier records in front.
    first = next((r for r in parsed if r), None)
    if first and first["seq"] <= last_seq:
        pruned = (last_seq, last_hash)
        last_seq, last_hash = first["seq"] - 1, first["prev"]
        if not any(r and (r["seq"], r["hash"]) == pruned for r in parsed):
            faults.append(("checkpoint", "checkpoints.jsonl", 0, pruned[0]))
    seen, blurred, torn, last_place = {}, False, False, (days[-1] if days else "", 0)
    previous = None
    for (name, number, raw, whole), record in zip(lines, parsed):
        if not whole:
            end = sum(len(r) + 1 for n, i, r, _ in lines if n == name and i < number)
            if not (head and head.day == name[:-6] and end >= head.size):
                faults.append(("truncation", name, number, last_seq + 1))
            torn = True
            continue
        last_place = (name, number)
        if record is None:
            last_seq += 1
            faults.append(("edit", name, number, last_seq))
            blurred, previous = True, None
            continue
        seq = record["seq"]
        if seq in seen:
            faults.append(("duplication" if seen[seq] == record["hash"] else "edit",
                           name, number, seq))
            continue
        seen[seq] = record["hash"]
        if seq <= last_seq:
            continue  # it was missed where it belongs
        lost = record["metadata"] if record["action"] == "audit.recovery" else {}
        if seq != last_seq + 1:
            explained = (lost.get("lost_from"), lost.get("lost_to")) == (last_seq + 1, seq - 1)
            if not (explained and record["prev"] == last_hash):
                kind = "reorder" if last_seq + 1 in present else "removal"
                faults.append((kind, name, number, last_seq + 1))
        elif record["prev"] != last_hash and not blurred:
            where = previous or (name, number, seq)
            faults.append(("edit", *where))
        last_seq, last_hash, blurred = seq, record["hash"], False
        previous = (name, number, seq)
        records.append(record)

    if head and not any(kind == "truncation" for kind, *_ in faults):
        named = head.seq - head.lost
        restarted = head.boot != boot
        if head.day and head.day + ".jsonl" not in days:
            faults.append(("removal", head.day + ".jsonl", 1, last_seq + 1))
        elif last_seq < named:
            if not (restarted and last_seq >= head.synced):
                count = sum(name == days[-1] for name, *_ in lines) if days else 0
                faults.append(("truncation", days[-1] if days else "", count + 1, last_seq + 1))
        elif blurred:
            pass  # the last line is damaged, which was said
        elif last_seq == named:
            if named and last_hash != head.hash:
                faults.append(("edit", *last_place, named))
        else:
            behind = [r for r in records if r["seq"] > named]
            fine = (all(r["boot_id"] != boot for r in behind) if restarted else
                    last_seq == named + 1)
            if not fine:
                faults.append(("head-mismatch", last_place[0], 0, named))
    if not faults:
        faults += pairing(records)
    return faults, records


def pairing(records):
    faults, opened = [], {}
    first = records[0]["seq"] if records else 0
    for record in records:
        if record["phase"] == "pending":
            opened[record["event_id"]] = record["seq"]
        elif record["phase"] == "closing" and record["metadata"]["pending_seq"] is not None:
            number = record["metadata"]["pending_seq"]
            if number >= first and opened.pop(record["event_id"], None) != number:
                faults.append(("pairing", "", 0, record["seq"]))
    return faults


def main():
    faults, records = verify(sys.argv[1])
    for kind, file, line, seq in faults:
        print(f"{kind} {file}:{line} {seq}")
    print(f"{len(records)} records, {len(faults)} fault(s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
