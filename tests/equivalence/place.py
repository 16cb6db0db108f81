"""Where a feature is tried: one world for each column of the matrix, the same but for what contains
the command. Two columns contain nothing: `bare` is the control, and of `seatbelt` only the profile
exists, which is asked and never run."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in (TESTS, TESTS / "contract", TESTS / "mxc", TESTS / "attack"):
    sys.path.append(str(folder))

import executor  # noqa: E402
from support import harness, without_namespaces  # noqa: E402

RUN = ("native", "bwrap", "landlock", "mxc")
COLUMNS = (*RUN, "seatbelt")
REFUSED = 125


class Refused(Exception):
    """Cordon said no, by name, and nothing had been started."""

    def __init__(self, error: dict) -> None:
        super().__init__(error["message"])
        self.error = error


class Unanswered(Exception):
    """Not the matter of a profile."""


class Place(harness.World):
    """A person's world, under one and the same ceiling in every column. It accepts missing
    namespaces, which changes nothing for those that have them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shared = self.make_directory(self.path / "shared")
        self.temporary = self.make_directory(self.path / "temporary")
        self.unique = f"cordon-matrix-{os.getpid()}-{self.path.name}"
        self.permit_sockets()
        self.more = executor.pinned(self) if self.backend == "mxc" else {}

    def permit_sockets(self, *sockets) -> None:
        text = without_namespaces.CEILING.format(project=self.project, shared=self.shared)
        listed = json.dumps([str(path) for path in sockets])
        self.ceiling = self.document(text.replace("[require]", f"sockets = {listed}\n[require]"),
                                     "ceiling.toml")

    def environment(self, extra=None):
        return super().environment({**self.more, **(extra or {})})

    def command_line(self, command, options) -> list:
        words = [self.cordon, "run", "--backend", self.backend, "--ceiling", self.ceiling, *options,
                 "--", *command]
        return [*without_namespaces.launcher(), *words] if self.backend == "landlock" else words

    def run(self, *command, options=(), **how) -> harness.Done:
        """Raises Refused once it is sure of that."""
        before = harness.tree_digest(self.project)
        target = self.trusted / f"report-{time.monotonic_ns()}.json"
        done = self.execute(self.command_line(command, [*options, "--report", target]), **how)
        assert target.exists(), f"no report was written\n{done.account()}"
        done.report_text = target.read_text()
        report = json.loads(done.report_text)
        if done.status == REFUSED:
            assert report["error"]["kind"] == "unsupported", done.account()
            assert done.out == "" and harness.tree_digest(self.project) == before, done.account()
            raise Refused(report["error"])
        assert report["enforcement"]["backend"] == self.backend, done.report_text
        return done

    def contained(self, *command, options=(), **how) -> tuple[harness.Done, dict]:
        """The same with what the report says; nothing where there is none."""
        done = self.run(*command, options=options, **how)
        return done, json.loads(done.report_text or "{}")

    def is_left(self, path: Path, answer: harness.Answer) -> bool:
        """Whether what the attempt made is on the host now that the run is over."""
        return path.exists()

    def close(self) -> None:
        self.tidy()
        for place in ("/tmp", "/dev/shm"):
            Path(place, self.unique).unlink(missing_ok=True)
        harness.remove_tree(self.path)


class Bare(Place):
    """No sandbox: what is held elsewhere has to fail to be held here."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.more = {"TMPDIR": str(self.temporary)}

    def command_line(self, command, options):
        return list(command)

    def run(self, *command, options=(), **how):
        return self.bare(*command, **how)


class Profile(Place):
    """What the evaluator says of the profile that macOS would be given for the same policy."""

    def command_line(self, command, options):
        raise Unanswered

    def inside(self, attempts, **how):
        answers = super().inside(attempts, **how)
        if all(answer.ok is None for answer in answers):
            raise Unanswered
        return answers

    def run(self, *command, options=(), **how):
        if command[:2] != (self.probe, "batch"):
            raise Unanswered
        done = self.execute([answering_program(), "--ceiling", self.ceiling, *options, "--", "true"],
                            **how)
        if done.status == REFUSED:
            error = done.json["error"]
            assert error["kind"] == "unsupported", done.account()
            raise Refused(error)
        return done.expect(0)

    def is_left(self, path, answer):
        return answer.ok


def answering_program() -> Path:
    target = harness.stage().path / "bin" / "seatbelt_answers"
    if not target.exists():
        source = os.environ.get(
            "SEATBELT_ANSWERS", harness.ROOT / "out/release/tests/equivalence/seatbelt_answers")
        shutil.copy(source, target)
        target.chmod(0o755)
    return target


def kind_of(column: str) -> type[Place]:
    return {"bare": Bare, "seatbelt": Profile}.get(column, Place)


def make_place(who: harness.Person, column: str) -> Place:
    return kind_of(column)(who, harness.stage().new_directory(), column)
