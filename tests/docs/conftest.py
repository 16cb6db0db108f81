"""What of the documents was not typed here, and why."""

import sys


def pytest_terminal_summary(terminalreporter):
    left_out = getattr(sys.modules.get("places"), "LEFT_OUT", ())
    if left_out:
        terminalreporter.section("of the documents")
        for line in sorted(left_out):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"{len(left_out)} places are not typed here")
