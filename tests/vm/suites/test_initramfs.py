"""A root that is an initramfs cannot be exchanged. guest/init tries there, before it leaves it; what
Cordon said is judged here."""

from pathlib import Path

from facts import landlock_abi

SAID = Path("/srv/initramfs.out")
WITHOUT = "run --backend landlock --ceiling /ceiling.toml"
# From here on a run can go without namespaces.
ABI_WITH_SCOPES = 6


def said(words):
    """What one call printed, and its status."""
    text = SAID.read_text().split(f"# {words}\n", 1)[1]
    printed, rest = text.split("# status ", 1)
    return printed, int(rest.split("\n", 1)[0])


def test_it_is_said_by_name_with_a_cure():
    text, status = said("run")
    assert status == 125 and "ran\n" not in text, text
    assert "its initramfs" in text and "switch_root" in text, text
    assert ("--backend landlock" in text) == (landlock_abi() >= ABI_WITH_SCOPES), text


def test_the_other_cure_works_where_it_is_named():
    text, status = said(WITHOUT)
    if landlock_abi() >= ABI_WITH_SCOPES:
        assert status == 0 and "ran\n" in text, text
    else:
        assert status == 125 and "needs Landlock ABI 6" in text, text


def test_doctor_names_it():
    text, _ = said("doctor")
    assert "initramfs" in text, text
