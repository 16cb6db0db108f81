#!/usr/bin/env python3
"""Holds what lets the sources of one folder be compiled as one unit (cmake/CordonUnits.cmake).

A name in an unnamed namespace stands in one source of its folder only. The compiler finds two
definitions of the same thing, but not two functions of one name that take something different: there a
call in the one source could silently choose the function of the other. An alias may stand twice: a second
meaning would be an error. A source leaves no macro behind and opens no namespace for the next one.
"""
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# Compiled by themselves for one program (src/CMakeLists.txt).
OF_ONE_PROGRAM = {"faces/loop/verb_loop.cc", "faces/mcp/verb_mcp.cc", "faces/loop/screen/screen.cc", "faces/mcp/http/no_tls.cc"}
UNNAMED = re.compile(r"\bnamespace\s*\{")
TYPES = re.compile(r"\b(?:class|struct|enum class|enum)\s+(\w+)\s*(?::[^;{]*)?\{")
CONSTANTS = re.compile(r"\b(k[A-Z0-9]\w*)(?=\s*[=\[{;])|\bconstexpr\s[^=(){};]*?\b(\w+)\s*[={\[]")
FUNCTIONS = re.compile(r"(?:^|[;}\n])\s*(?:template\s*<[^>]*>\s*)?(?:\[\[\w+\]\]\s*)?"
                       r"[\w:<>,&*\s]+?[\s&*](\w+)\s*\([^;{}]*\)[^;{}]*\{")
LEFT_BEHIND = re.compile(r"^\s*#\s*define\s+(\w+)|^\s*(using\s+namespace\b.*)", re.MULTILINE)


def plain(text: str) -> str:
    """Without comments and what stands in quotes."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'", "' '", text)


def outermost(text: str, begin: int) -> str:
    """From `begin`, behind an opening brace, to its end; of what has braces inside, these alone."""
    kept, depth = [], 1
    for character in text[begin:]:
        if character == "}":
            depth -= 1
            if depth == 0:
                break
        if depth == 1:
            kept.append(character)
        if character == "{":
            depth += 1
    return "".join(kept)


def own_names(text: str) -> set[str]:
    names: set[str] = set()
    for opened in UNNAMED.finditer(text):
        # A parameter's braces would be taken for a function's.
        inside = re.sub(r"=\s*\w*\{\}(?=\s*[,)])", "", outermost(text, opened.end()))
        for pattern in (TYPES, CONSTANTS, FUNCTIONS):
            for found in pattern.finditer(inside):
                names.add(next(group for group in found.groups() if group))
    return names


def compiled_alone() -> set[str]:
    lists = re.findall(r"set\(cordon_(?:alone|macros)\s(.*?)\)", (TOP / "cmake/CordonUnits.cmake").read_text(), re.DOTALL)
    if len(lists) != 2:
        raise SystemExit("cmake/CordonUnits.cmake: which sources are compiled alone is not found")
    return {name for listed in lists for name in re.findall(r"[\w/]+\.cc", listed)}


def main() -> int:
    alone = compiled_alone() | OF_ONE_PROGRAM
    problems, seen = [], 0
    holders = collections.defaultdict(list)
    for path in sorted((TOP / "src").rglob("*.cc")):
        name = path.relative_to(TOP / "src").as_posix()
        # What lies in src itself is compiled for one program as well.
        if path.name.endswith("_test.cc") or "/" not in name or name in alone:
            continue
        seen += 1
        text = plain(path.read_text())
        for found in own_names(text):
            holders[name.rpartition("/")[0], found].append(name)
        for macro, namespace in LEFT_BEHIND.findall(text):
            if namespace or not re.search(rf"#\s*undef\s+{macro}\b", text):
                problems.append(f"src/{name}: leaves {macro or namespace} to the next source of its unit")
    for (_, found), sources in sorted(holders.items()):
        if len(sources) > 1:
            problems.append(f"{found}: in the unnamed namespaces of {', '.join(sources)}")
    print("\n".join([*problems, f"{seen} sources, {len(holders)} names, {len(problems)} problem(s)"]))
    # Nothing found to compare would pass without having looked.
    return 1 if problems or seen < 50 or len(holders) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
