"""Does what a refusal's hint says, to the letter: edits the ceilings that it names."""

import json
import re
import shlex
from pathlib import Path

CLAUSE = re.compile(r'below \[(?P<table>\w+)\] in (?P<file>\S+): (?P<lines>.*)')
JSON_CLAUSE = re.compile(r'in "(?P<table>\w+)" of (?P<file>\S+): (?P<lines>.*)')
ADDED = re.compile(r'add (?P<values>"[^"]*"(?:, "[^"]*")*) to (?P<key>\w+) below \[(?P<table>\w+)\] in (?P<file>\S+)')
SETTING = re.compile(r'set (?P<name>CORDON_SANDBOX_\w+)=(?P<value>.*)')


def hint_of(text: str) -> str:
    lines = [line[6:] for line in text.splitlines() if line.startswith("hint: ")]
    assert len(lines) == 1, text
    return lines[0]


def _put_line(text: str, table: str, line: str) -> str:
    """`line` below [table]: in place of the key's own, or as a new one."""
    key = line.split(" = ")[0]
    lines = text.splitlines()
    if f"[{table}]" not in lines:
        return "\n".join([*lines, f"[{table}]", line, ""])
    begin = lines.index(f"[{table}]") + 1
    end = next((i for i in range(begin, len(lines)) if lines[i].startswith("[")), len(lines))
    old = [i for i in range(begin, end) if lines[i].split(" = ")[0] == key]
    if old:
        lines[old[0]] = line
    else:
        lines.insert(begin, line)
    return "\n".join([*lines, ""])


def apply_cure(hint: str) -> dict[str, str]:
    """Edits every file; returns the variables that are to be set."""
    variables: dict[str, str] = {}
    clauses = [clause for part in hint.split("; ") for clause in re.split(r", or ", part)]
    done = 0
    for clause in clauses:
        without = clause.removesuffix(", without allow")
        if found := CLAUSE.fullmatch(without):
            path = Path(shlex.split(found["file"])[0])
            text = path.read_text()
            if without != clause:
                text = "\n".join(line for line in text.splitlines() if not line.startswith("allow ="))
            for line in re.split(r" and (?=\w+ = )", found["lines"]):
                text = _put_line(text, found["table"], line)
            path.write_text(text)
            done += 1
        elif found := ADDED.fullmatch(clause):
            path = Path(shlex.split(found["file"])[0])
            before, head, list_ = path.read_text().partition(f"{found['key']} = [")
            assert head and f"[{found['table']}]" in before, clause
            path.write_text(f"{before}{head}{found['values']}, {list_}")
            done += 1
        elif found := JSON_CLAUSE.fullmatch(clause):
            path = Path(shlex.split(found["file"])[0])
            document = json.loads(path.read_text())
            document.setdefault(found["table"], {}).update(json.loads("{" + found["lines"] + "}"))
            path.write_text(json.dumps(document))
            done += 1
        else:
            for setting in clause.split(" and set "):
                if found := SETTING.fullmatch(setting if setting.startswith("set ") else "set " + setting):
                    variables[found["name"]] = shlex.split(found["value"])[0]
                    done += 1
    assert done, f"nothing to follow in: {hint}"
    return variables
