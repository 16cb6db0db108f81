"""A link to `cordon` itself that has another tool's name is that tool's drop-in."""

import pytest

pytestmark = pytest.mark.once


def named(world, name):
    place = world.make_directory(world.home / "links")
    link = place / name
    return link if link.is_symlink() else world.link(link, world.cordon)


def test_a_link_named_srt_is_srt(world):
    done = world.bare(named(world, "srt"), "-c", "echo ran; cat ~/.ssh/id_rsa 2>&1").expect(1)
    assert done.out.startswith("ran\n") and "SECRET" not in done.out, done.account()
    assert world.bare(named(world, "srt"), "echo", "ran").expect(0).out == "ran\n"


def test_a_link_named_lxc_exec_is_the_executor(world):
    request = world.document('{"version": "0.8.0-alpha", "process": {"commandLine": "echo ran"}}', "request.json")
    assert world.bare(named(world, "lxc-exec"), request).expect(0).out == "ran\n"
    refused = world.bare(named(world, "lxc-exec"), world.project / "missing.json")
    assert refused.status != 0 and "missing.json" in refused.err + refused.out


def test_a_link_named_cordon_oci_stands_in_a_runtimes_seat(world):
    refused = world.bare(named(world, "cordon-oci"), "restore", "one").expect(1)
    assert "restore would start what was never judged" in refused.err, refused.account()


def test_under_another_name_it_is_cordon(world):
    assert world.bare(named(world, "contain"), "run", "--", "echo", "ran").expect(0).out == "ran\n"
