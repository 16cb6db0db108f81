"""Which cases of these suites concern whom. Those that do not concern the person are left out when the
cases are collected."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "guest"))

from own_groups import may_make_groups


def pytest_configure(config):
    for line in ("grouped: concerns those who may make control groups",
                 "ungrouped: concerns those who may not",
                 "made_by_root: concerns an ordinary user for whom root prepares something"):
        config.addinivalue_line("markers", line)


def concerns(item) -> bool:
    who = item.callspec.params.get("who") if hasattr(item, "callspec") else None
    if item.get_closest_marker("grouped"):
        return may_make_groups(who)
    if item.get_closest_marker("ungrouped"):
        return not may_make_groups(who)
    if item.get_closest_marker("made_by_root"):
        return bool(who.prefix)
    return True


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    items[:] = [item for item in items if here not in Path(item.path).parents or concerns(item)]
