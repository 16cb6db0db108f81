"""How each source is compiled by itself, for the tools that read sources one by one.

The build people use compiles several sources at once (cmake/CordonUnits.cmake); the preset `sources`
does not, and is only ever configured."""
import json
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[1]


def entries() -> list[dict]:
    """The compilation database, with what is generated made."""
    for words in (["cmake", "--preset", "sources"],
                  ["cmake", "--build", "--preset", "sources", "--target", "generated/syscall_numbers.inc"]):
        done = subprocess.run(words, cwd=TOP, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads((TOP / "out/sources/compile_commands.json").read_text())
