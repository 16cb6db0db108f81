"""The matrix of docs/backends.md, from runs of every feature under every backend.

    matrix.py --write FILE   writes the section between its marks
    matrix.py --check FILE   exits 1 if it would be another one, or if something is unexplained
"""

import argparse
import difflib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gaps import GAPS, REFUSALS  # noqa: E402
from judge import Judge  # noqa: E402
from place import COLUMNS  # noqa: E402
from support import harness  # noqa: E402

BEGIN, END = "<!-- begin matrix -->\n", "<!-- end matrix -->\n"
INTRODUCTION = """\
Written by `tests/equivalence/matrix.py --write docs/backends.md`; no cell was typed. Each row was
run under each backend, started by root and by an ordinary user, with the same policy, ceiling and
files, and once without a sandbox, where nothing of it holds. `landlock` ran where user namespaces
are refused.

- `enforced`: everything the row asks is so. `partial`: but for what is said. `refused`: by name, with
  the kind `unsupported`, and nothing was started.
- `seatbelt` is **unproven**: it is what an evaluator says of the profile that macOS would be given
  for that policy. Nothing was run. `not asked` is what a profile does not concern and the
  [runner](#seatbelt) has to see to; of the contract's probes it is asked those about files and
  connections.
- `limits.cpus` is no row: it needs a cgroup, which is the host's to give, under every backend alike. Nor are
  `limits.requests` and `limits.request_traffic`: they are counted outside, wherever network mode `allow` is there.

"""


def observe_all() -> dict:
    """One worker for each person."""
    workers = {person.name: subprocess.Popen(
        [sys.executable, str(HERE / "observe.py"), person.name], stdout=subprocess.PIPE)
        for person in harness.PEOPLE}
    texts = {name: worker.communicate()[0] for name, worker in workers.items()}
    if any(worker.returncode != 0 for worker in workers.values()):
        sys.exit("the features could not be tried")
    return {name: json.loads(text) for name, text in texts.items()}


def render(matrix) -> str:
    titles = [f"`{column}`" for column in COLUMNS[:-1]] + ["`seatbelt` (**unproven**)"]
    lines = ["| | " + " | ".join(titles) + " |",
             "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [" | ".join([f"| {row}", *cells.values()]) + " |" for row, cells in matrix.rows.items()]
    return INTRODUCTION + "\n".join(lines) + "\n"


def replaced(text: str, section: str) -> str:
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("the marks of the section have to be there once")
    before, rest = text.split(BEGIN)
    return before + BEGIN + section + END + rest.split(END)[1]


def differences(text: str, matrix) -> list[str]:
    """Everything that is wrong, as lines; none: the document is the matrix."""
    wanted = replaced(text, render(matrix))
    diff = difflib.unified_diff(text.splitlines(), wanted.splitlines(), "written", "observed",
                                lineterm="")
    return [*matrix.complaints, *diff]


def main() -> int:
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE")
    what.add_argument("--check", type=Path, metavar="FILE")
    asked = parser.parse_args()
    harness.hear_hangups()
    matrix = Judge(observe_all(), GAPS, REFUSALS).judge()
    cells = [cell for row in matrix.rows.values() for cell in row.values()]
    if asked.write and not matrix.complaints:
        asked.write.write_text(replaced(asked.write.read_text(), render(matrix)))
    wrong = matrix.complaints if asked.write else differences(asked.check.read_text(), matrix)
    print(*wrong, f"{len(matrix.rows)} rows, {len(cells)} cells, {cells.count('enforced')} enforced, "
          f"{len(matrix.complaints)} unexplained", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
