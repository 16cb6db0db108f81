"""The probes of the contract in every column, against its one table. Their controls are there too."""

from __future__ import annotations

import place
from support.harness import FILE_ERRORS
from table import PRESETS, ROWS
from surroundings import Surroundings, preset_options

# Errors that are refusals there beside those of the table: what the host has is there to be refused,
# and attributes do not exist.
ALSO_REFUSED = {"landlock": FILE_ERRORS | {"EOPNOTSUPP"}, "seatbelt": {"EPERM"}}


def row_name(preset: str) -> str:
    return f"every probe of the contract, preset `{preset}`"


def judge(row, preset, column, answer) -> tuple[str, bool]:
    if row.verdicts[PRESETS.index(preset)] == "A":
        return "works", bool(answer.ok)
    refusals = row.errors | ALSO_REFUSED.get(column, set())
    assert answer.ok or answer.errno in refusals, f"{row.name}: {answer}"
    return "holds", not answer.ok


def probes_under(preset, around) -> dict:
    around.refill()
    options = preset_options(preset, around.world)
    try:
        answers = around.world.inside([around.attempt(row) for row in ROWS], options=options,
                                      timeout=120)
        facts = {"works": {}, "holds": {}}
        for row, answer in zip(ROWS, answers):
            # A profile is asked what is its matter.
            if answer.ok is not None:
                kind, so = judge(row, preset, around.world.backend, answer)
                facts[kind][row.name] = so
        return facts
    except place.Refused as refusal:
        return {"refused": refusal.error["message"]}
    except AssertionError as error:
        return {"broken": str(error)}


def probes_of_the_presets(who, column) -> dict[str, dict]:
    class Around(Surroundings):
        world_type = staticmethod(lambda person, path: place.kind_of(column)(person, path, column))

    around = Around(who)
    try:
        return {row_name(preset): probes_under(preset, around) for preset in PRESETS}
    finally:
        around.refill()
        around.close()
