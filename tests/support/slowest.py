#!/usr/bin/python3
"""The ten cases that took longest, from the JUnit files in a directory: slowest.py DIR"""

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

HOW_MANY = 10


def cases(directory: Path) -> list[tuple[float, str]]:
    return [(float(case.get("time", 0)), f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}")
            for file in directory.glob("*.xml") for case in xml.parse(file).iter("testcase")]


if __name__ == "__main__":
    slowest = sorted(cases(Path(sys.argv[1])), reverse=True)[:HOW_MANY]
    print("\nslowest cases")
    for seconds, name in slowest:
        print(f"{seconds:7.1f}s  {name}")
