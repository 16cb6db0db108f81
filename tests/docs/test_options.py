"""A page that tells what to type names verbs and options that there are."""

import re
import subprocess
from functools import cache

import pytest

from support.harness import ROOT, source_binary

PAGES = ["README.md", *(f"docs/{name}.md" for name in ("operators", "policy-guide", "recipes", "troubleshooting"))]


@cache
def helped(*words) -> str:
    return subprocess.run([source_binary(), *words, "--help"], capture_output=True, text=True, timeout=30,
                          check=False).stdout


@cache
def verbs() -> dict[str, list[str]]:
    """Each verb with the verbs below it."""
    def listed(text):
        section = re.search(r"^Verbs:\n((?:  \S.*\n|   .*\n)+)", text, re.M)
        return re.findall(r"^  (\S+)", section.group(1), re.M) if section else []
    return {verb: listed(helped(verb)) for verb in listed(helped())}


@cache
def options() -> set[str]:
    texts = [helped(), *(helped(verb) for verb in verbs()),
             *(helped(verb, below) for verb, all_below in verbs().items() for below in all_below)]
    return {name for text in texts for name in re.findall(r"^  (--[a-z][a-z-]*|-c|-V)", text, re.M)}


def wrong_words(text: str) -> list[str]:
    """In code: what begins with an option, and what begins with `cordon`, up to the command that is run."""
    found = []
    for code in [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^\$ (.*)", text, re.M)]:
        words = code.split(" -- ")[0].replace("\\|", " ").split()
        if words[:1] == ["cordon"] and len(words) > 1:
            verb, below = words[1], words[2] if len(words) > 2 else ""
            if re.fullmatch("[a-z]+", verb) and verb not in verbs():
                found.append(f"cordon {verb}")
            elif verbs().get(verb) and re.fullmatch("[a-z]+", below) and below not in verbs()[verb]:
                found.append(f"cordon {verb} {below}")
        elif not words or not words[0].startswith("--"):
            continue
        found += [word for word in words if (name := re.match(r"--[a-z][a-z-]*", word)) and name.group() not in options()]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_what_is_named_exists(page):
    assert len(verbs()) > 12 and {"--publish", "--socket", "--files", "--fix-hints"} <= options(), (verbs(), options())
    # An option of another program stands alone once.
    assert [word for word in wrong_words((ROOT / page).read_text()) if word != "--security-opt"] == []


@pytest.mark.parametrize("text, wrong", [
    ("`--publish 80` `cordon audit list --denied` `cordon run --read X -- ls --no-such`", []),
    ("`--publishing 80`", ["--publishing"]), ("`cordon audits`", ["cordon audits"]),
    ("`cordon audit lists`", ["cordon audit lists"]), ("$ cordon run --reading X -- true", ["--reading"])])
def test_what_does_not_exist_is_seen(text, wrong):
    assert wrong_words(text) == wrong
