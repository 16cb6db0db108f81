"""Tries every feature in every column as one person and prints what was found, as JSON.

    observe.py root|user
"""

import json
import sys
import traceback

import place
from contract_rows import probes_of_the_presets
from features import FEATURES
from support import harness


def observe(feature, who, column) -> dict:
    made = place.make_place(who, column)
    try:
        facts = feature.measure(made)
        return {"works": facts.works, "holds": facts.holds}
    except place.Refused as refusal:
        return {"refused": refusal.error["message"]}
    except place.Unanswered:
        return {"unanswered": True}
    except Exception:  # the whole matrix is still worth showing
        return {"broken": traceback.format_exc()}
    finally:
        made.close()


def main() -> None:
    [name] = sys.argv[1:]
    who = next(person for person in harness.PEOPLE if person.name == name)
    found = {}
    for feature in FEATURES:
        found[feature.name] = {column: observe(feature, who, column)
                               for column in ("bare", *place.COLUMNS)}
    for column in place.COLUMNS:
        for feature, facts in probes_of_the_presets(who, column).items():
            found.setdefault(feature, {})[column] = facts
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
