"""The pages for a browser, in one: what axe finds wrong for people who do not see or point, and whether they fit on
a phone, a tablet and a desk, in the light and in the dark."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.packages import Packages

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "fleet")]
import made_records  # noqa: E402

pytestmark = pytest.mark.npm

AXE = Packages(Path(__file__).parent / "suite", "pages", at_least=1)
WIDTHS = (390, 820, 1440)

# What is looked at goes into the document itself: the browser prints that, and no port is opened.
LOOK = """<script>
const cures = document.querySelector('[aria-label="Each with its rule and its cure"]');
const hidden = cures ? cures.scrollWidth - cures.clientWidth : 0;
axe.run({resultTypes: ["violations"]}).then(found => {
  const seen = {violations: found.violations.map(one => [one.id, one.nodes.map(node => node.html)]),
                checked: found.passes.length, wide: document.documentElement.scrollWidth,
                window: window.innerWidth, hidden, background: getComputedStyle(document.body).backgroundColor};
  document.body.innerHTML = "";
  document.body.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
});
</script>"""


def look_at(world, page, width, dark=False):
    """The page with axe in it, as the browser has it after axe has looked. The pages themselves run no script, so
    their own rule against that is taken out of the copy first: it would stop axe, too."""
    axe = (AXE.install() / "node_modules/axe-core/axe.min.js").read_text()
    rule = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    assert len(rule.findall(page)) == 1
    copy = world.path / "copy.html"
    copy.write_text(rule.sub("", page).replace("</body>", f"<script>{axe}</script>{LOOK}</body>"))
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             f"--user-data-dir={world.path / 'browser'}", f"--window-size={width},1000",
             "--virtual-time-budget=20000", *(["--force-dark-mode"] if dark else []), "--dump-dom", f"file://{copy}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env={"HOME": str(world.path),
                                                                               "PATH": "/usr/bin:/bin"})
    found = re.search(r"SEEN(.*)NEES</body>", done.stdout, re.S)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def pages(world):
    report = world.path / "report.html"
    script = "echo '<script>alert(1)</script>'; echo x > .bashrc; echo y > " + "n" * 200 + "; cat ~/a/long/" + "p" * 60 + "; exit 3"
    world.run("sh", "-c", script, options=["--report", report, "--json", "--memory", "512M", "--timeout", "1m",
                                           "--allow", "allowed.example"]).expect(3)
    yield "report", report.read_text()
    refused = world.path / "refused.html"
    world.run("true", options=["--report", refused, "--read", "/no such place"]).expect(125)
    yield "refused", refused.read_text()
    yield "log", world.cordon_verb("audit", "export", "--format", "html").expect(0).out
    # Of a fleet: more names than a table shows, some of them hostile and long, and a clock that is ahead.
    records = made_records.export(
        *(made_records.action(1 + 2 * i, tool=f"tool{i}", reason=("exit", None, "timeout", "refused")[i % 4], back=i / 2)
          for i in range(120)),
        made_records.action(301, tool="<script>document.title='run'</script>" + "n" * 300, back=-100))
    log = world.write(world.project / ("node" + "n" * 80 + ".jsonl"), records + made_records.busy())
    world.cordon_verb("fleet", "report", "--from", log, world.project / "fleet.html").expect(0)
    yield "fleet", (world.project / "fleet.html").read_text()
    world.run("sh", "-c", "echo more >> file.txt; echo new > made", options=["--stage=review"]).expect(0)
    yield "differences", world.cordon_verb("changes", "diff", "--html").expect(0).out


@pytest.mark.only("root")
def test_everybody_can_read_them_everywhere(world):
    for name, page in pages(world):
        backgrounds = set()
        for width in WIDTHS:
            for dark in (False, True):
                seen = look_at(world, page, width, dark)
                where = f"{name} at {width}{' in the dark' if dark else ''}: {seen}"
                assert seen["violations"] == [] and seen["checked"] > 10, where
                # What is wider than the window scrolls by itself; the page does not.
                assert seen["wide"] <= seen["window"], where
                # What to do is seen beside what happened.
                assert seen["hidden"] <= 0, where
                backgrounds.add(seen["background"])
        assert len(backgrounds) == 2, (name, backgrounds)


@pytest.mark.only("root")
def test_axe_finds_what_is_wrong(world):
    """The control: a page that nobody can read."""
    page = ("<!DOCTYPE html><html><head><meta http-equiv=\"Content-Security-Policy\" content=\"x\"><title></title>"
            "</head><body><img src=\"x\"><p style=\"color:#eee;background:#fff\">pale</p></body></html>")
    found = {one for one, _ in look_at(world, page, 800)["violations"]}
    assert {"color-contrast", "image-alt", "document-title", "html-has-lang"} <= found, found
