"""What the code can do to its caller is written down: variables it heeds, statuses it exits with."""

import re

from support.harness import ROOT

# What a program is told about its caller, and nobody sets for Cordon's sake.
OF_THE_SYSTEM = {"PATH", "HOME", "SHELL", "PWD", "USER", "LOGNAME"}


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and not path.stem.endswith("_test"):
                yield path.read_text()


def documents():
    paths = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/man").glob("*.scd")]
    return "\n".join(path.read_text() for path in paths)


def heeded_variables():
    names = set()
    for text in sources("src"):
        names.update(re.findall(r'(?:getenv|environment\.find|check_variable)\("([A-Z_]+)"', text))
        names.update(re.findall(r'"((?:CORDON|ENTRABOT|XDG)_[A-Z_]*[A-Z])"', text))
        for suffix in re.findall(r'find_variable\(environment, "([A-Z_]+)"', text):
            names.update({f"CORDON_SANDBOX_{suffix}"})
        for suffix in re.findall(r'is_on\(environment, "([A-Z_]+)"', text):
            names.update({f"CORDON_{suffix}"})
    return names


def test_every_variable_that_is_heeded_is_documented():
    names = heeded_variables()
    # A scan that finds nothing proves nothing.
    assert {"CORDON_CEILING", "CORDON_SANDBOX_NETWORK", "CORDON_ENABLE_RUN_CODE", "NO_COLOR",
            "XDG_STATE_HOME"} <= names, names
    text = documents()
    missing = sorted(name for name in names - OF_THE_SYSTEM
                     if not re.search(rf"\b{name}\b", text))
    assert not missing, f"no document names {missing}"


def test_every_status_is_documented():
    found = set()
    for text in sources("src", "include"):
        found.update(re.findall(r"\bk(?:Answer\w+|Refused|\w*Usage|Blocked|RequestError|"
                                r"BackendError|SignalBase|WallClockStatus)\s*=\s*(\d+)", text))
        found.update(re.findall(r"\bexit_status\s*=\s*(\d+)", text))
    assert {"0", "1", "2", "124", "125", "126", "127", "128", "255"} <= found, found
    sections = "\n".join(
        re.split(r"^#+ ", path.read_text().split("EXIT STATUS", 1)[1], maxsplit=1, flags=re.M)[0]
        for path in (ROOT / "docs/man").glob("*.scd") if "EXIT STATUS" in path.read_text())
    missing = sorted(status for status in found if not re.search(rf"\b{status}\b", sections))
    assert not missing, f"no manual page has the status {missing}"


def test_the_table_of_what_is_lost_is_the_generated_one():
    """R-334. A unit test makes the golden text from plans."""
    table = (ROOT / "tests/golden/degradation.txt").read_text()
    assert table.count("\n") > 5 and table in (ROOT / "docs/policy.md").read_text()


def test_every_loss_is_documented_in_its_own_sentence():
    """The word and the sentence of the report and doctor are those of docs/backends.md."""
    code = (ROOT / "src/base/loss.cc").read_text()
    names, sentences = [
        {case: "".join(re.findall(r'"([^"]*)"', text)) for case, text in
         re.findall(r'case Loss::(\w+):\s*return ((?:"[^"]*"\s*)+);', body)}
        for body in code.split("sentence_of(Loss loss)")]
    declared = (ROOT / "include/cordon/loss.h").read_text().split("{", 2)[2].split("}")[0]
    assert set(names) == set(sentences) == set(re.findall(r"^  (\w+),$", declared, flags=re.M))
    document = (ROOT / "docs/backends.md").read_text()
    for loss, name in names.items():
        assert f"| `{name}` | {sentences[loss]} |" in document, name
        assert re.search(rf"\b{name}\b", (ROOT / "schema/report.schema.json").read_text()), name


def test_the_table_of_protected_names_is_the_compiled_one():
    code = (ROOT / "src/policy/protected_names.cc").read_text()
    rows = re.findall(r'ProtectedName\{"([^"]+)",\s*HoldKind::(\w+),\s*k(Hold|Report),\s*'
                      r'k(Anywhere|HomeOnly),\s*((?:"[^"]*"\s*)+)\}', code)
    made = {f"| `{name}` | {kind.lower()} | {'held' if action == 'Hold' else 'reported'} | "
            f"{'anywhere' if where == 'Anywhere' else 'in a home'} | "
            f"{''.join(re.findall(chr(34) + '([^' + chr(34) + ']*)' + chr(34), reason))} |"
            for name, kind, action, where, reason in rows}
    assert len(made) == code.count("    ProtectedName{"), len(made)
    written = {line for line in (ROOT / "docs/policy.md").read_text().splitlines()
               if re.match(r"\| `[^`]+` \| \w+ \| (held|reported) \|", line)}
    assert written == made, (written - made, made - written)
