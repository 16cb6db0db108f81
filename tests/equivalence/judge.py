"""From what was observed to the cells, and to everything that is wrong with them. Runs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from place import COLUMNS

ENFORCED = "enforced"
NOT_ASKED = "not asked"


@dataclass
class Matrix:
    rows: dict[str, dict[str, str]] = field(default_factory=dict)  # row, column: the cell
    complaints: list[str] = field(default_factory=list)


class Judge:
    """`observed` is by person, row and column, as observe.py prints it."""

    def __init__(self, observed: dict, gaps: dict, refusals: dict) -> None:
        self.observed, self.gaps, self.refusals = observed, gaps, refusals
        self.matrix = Matrix()
        self.used = set()

    def judge(self) -> Matrix:
        for row in next(iter(self.observed.values())):
            self.matrix.rows[row] = {column: self.cell(row, column) for column in COLUMNS}
            for person, rows in self.observed.items():
                self.control(person, row, rows[row].get("bare"))
        self.find_stale()
        return self.matrix

    def complain(self, *words) -> None:
        self.matrix.complaints.append(": ".join(words))

    def cell(self, row, column) -> str:
        states = {person: self.state(person, row, column, rows[row][column])
                  for person, rows in self.observed.items()}
        refusal = self.refusals.get((column, row))
        if refusal and refusal.person:
            # Whoever is not here to be asked is taken at the document's word.
            others = {state for person, state in states.items() if person != refusal.person}
            [other] = others or {ENFORCED}
            name = {"user": "an ordinary user", "root": "root"}[refusal.person]
            return f"{other}; to {name} refused: {refusal.why}"
        if len(set(states.values())) > 1:
            self.complain(row, column, f"root and ordinary users differ: {states}")
        return next(iter(states.values()))

    def state(self, person, row, column, found) -> str:
        if "broken" in found:
            self.complain(row, column, person, found["broken"])
            return "broken"
        if "unanswered" in found:
            if column != "seatbelt":
                self.complain(row, column, person, "nothing was found out")
            return NOT_ASKED
        if "refused" in found:
            return self.refused(person, row, column, found["refused"])
        return self.held(person, row, column, {**found["works"], **found["holds"]})

    def refused(self, person, row, column, message) -> str:
        refusal = self.refusals.get((column, row))
        if refusal is None or refusal.person not in (None, person):
            self.complain(row, column, person, f"refused without an explanation: {message}")
            return "refused"
        if refusal.names not in message:
            self.complain(row, column, person, f"not refused as {refusal.names!r}: {message}")
        self.used.add((column, row))
        return f"refused: {refusal.why}"

    def held(self, person, row, column, facts) -> str:
        if not facts:
            self.complain(row, column, person, "nothing was found out")
        reasons = []
        for phrase in (phrase for phrase, so in facts.items() if not so):
            why = self.gaps.get((column, row), {}).get(phrase)
            if why is None:
                self.complain(row, column, person, f"it is not so, without an explanation: {phrase}")
                why = "unexplained"
            self.used.add((column, row, phrase))
            if why not in reasons:
                reasons.append(why)
        return "partial: " + "; ".join(reasons) if reasons else ENFORCED

    def control(self, person, row, found) -> None:
        """Without a sandbox what works works, and nothing is held."""
        if found is None:
            return  # the contract has its own
        if "works" not in found:
            self.complain(row, "control", person, str(found))
            return
        for phrase in (phrase for phrase, so in found["works"].items() if not so):
            self.complain(row, "control", person, f"does not work without a sandbox: {phrase}")
        for phrase in (phrase for phrase, so in found["holds"].items() if so):
            self.complain(row, "control", person, f"holds without a sandbox: {phrase}")

    def find_stale(self) -> None:
        for (column, row), phrases in self.gaps.items():
            for phrase in phrases:
                if (column, row, phrase) not in self.used:
                    self.complain(row, column, f"explained and not observed: {phrase}")
        for (column, row), refusal in self.refusals.items():
            asked = refusal.person is None or refusal.person in self.observed
            if asked and (column, row) not in self.used:
                self.complain(row, column, "a refusal is explained and was not observed")
