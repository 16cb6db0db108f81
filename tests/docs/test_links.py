"""A link from one document to another leads to a document that is there, and to a heading that it has."""

import re
from urllib.parse import unquote

import pytest

from support.harness import ROOT

DOCUMENTS = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")]
                   if "node_modules" not in path.parts)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path):
    """Without fences and code, in which nothing is a link."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: code.group().replace("[", "(").replace("](", ")("), text)


def anchors(path):
    """As the forges make them of headings: lower case, without punctuation, blanks as hyphens."""
    found, seen = set(), {}
    for line in re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S).splitlines():
        if heading := re.match(r"#+ +(.*?) *$", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
    return found


def dead_links(path):
    found = []
    for link in LINK.findall(text_of(path)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = unquote(link).partition("#")
        target = (path.parent / file) if file else path
        if not target.exists():
            found.append(f"{path.relative_to(ROOT)}: {link}: there is no such file")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            found.append(f"{path.relative_to(ROOT)}: {link}: there is no such heading")
    return found


def test_links_lead_somewhere():
    assert len(DOCUMENTS) > 80
    assert sum(len(LINK.findall(text_of(path))) for path in DOCUMENTS) > 200
    dead = [line for path in DOCUMENTS for line in dead_links(path)]
    assert not dead, "\n".join(dead)


def test_every_page_is_reached_from_the_readme():
    named = set(LINK.findall(text_of(ROOT / "README.md")))
    missing = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"docs/{path.name}" not in named]
    assert not missing, missing


@pytest.mark.parametrize("text, dead", [
    ("[a](page.md) [b](page.md#a-heading-of-two-lines) [c](#here)\n# Here\n", 0),
    ("[a](no.md)\n", 1), ("[a](page.md#no)\n", 1), ("[a](#no)\n", 1),
    ("`[a](no.md)`\n```\n[a](no.md)\n```\n", 0), ("[a](https://example.com/no.md)\n", 0)])
def test_a_dead_link_is_seen(tmp_path, monkeypatch, text, dead):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("# A heading, of `two` lines\n")
    (tmp_path / "of.md").write_text(text)
    assert len(dead_links(tmp_path / "of.md")) == dead
