"""`cordon policy convert`: other tools' documents in and out, and that runs hold what they say."""

import json

import pytest

pytestmark = pytest.mark.once

MXC = {"version": "0.6.0-alpha", "process": {"commandLine": "true", "timeout": 60000},
       "filesystem": {"readwritePaths": [], "deniedPaths": []},
       "network": {"defaultPolicy": "block"}}


def convert(world, source, target, word, *options, **how):
    return world.cordon_verb("policy", "convert", "--from", source, "--to", target, *options, word,
                             **how)


def test_a_converted_request_holds(world):
    inside = world.make_directory(world.project / "inside")
    secret = world.write(inside / "secret", "s3cret")
    document = json.loads(json.dumps(MXC))
    document["filesystem"] = {"readwritePaths": [str(inside)], "deniedPaths": [str(secret)]}
    done = convert(world, "mxc", "cordon", world.document(json.dumps(document), "mxc.json"))
    done.expect(0)
    assert "lost process.commandLine" in done.err
    policy = world.document(done.out, "converted.toml")
    world.cordon_verb("policy", "check", policy).expect(0)
    options = ("--policy", policy, "--read", world.project / "probe")
    world.allowed("write", inside / "new", options=options)
    world.denied("read", secret, options=options)
    # Beside the grant there is at most the private space of the sandbox.
    world.inside([("write", world.project / "new")], options=options)
    assert not (world.project / "new").exists()
    world.denied("read", world.write(world.home / "notes", "mine"), options=options)


@pytest.mark.parametrize("text, place, complaint", [
    ('{"version": "0.7.0",\n "bogus": 1, "process": {"commandLine": "x"}}', "mxc.json:2:2", "bogus"),
    ('{"process": {"commandLine": "x"},\n\n"seatbelt": {"keychainAccess": true}}', "mxc.json:3:14",
     "keychainAccess"),
    ('{"process": {"commandLine": "x"}, "containment": "vm"}', "mxc.json:1:50", "containment"),
    ('{"process": {"commandLine": "x"}, "process": {}}', "mxc.json:1:35", "process"),
])
def test_refusals_name_the_place(world, text, place, complaint):
    done = convert(world, "mxc", "cordon", world.document(text, "mxc.json"))
    done.expect(2)
    assert done.out == "" and place in done.err and complaint in done.err, done.account()


def test_what_would_widen_is_named_and_given_up_by_name(world):
    refused = convert(world, "cordon", "srt", "workspace", "--json")
    refused.expect(2)
    assert refused.json["document"] is None and refused.json["error"]["kind"] == "unsupported"
    hint = refused.err.split("--drop ")[1].strip()
    done = convert(world, "cordon", "srt", "workspace", "--json", "--drop", hint)
    done.expect(0)
    assert done.json["schema"] == "cordon.convert/1"
    assert str(world.project) in done.json["document"]["filesystem"]["allowWrite"]
    lost = {loss["key"] for loss in done.json["losses"]}
    assert set(hint.split(",")) <= lost
    convert(world, "cordon", "srt", "workspace", "--drop", hint + ",limits.cpu").expect(2)


@pytest.mark.parametrize("kind, drop", [("mxc", "fs.scratch,limits"),
                                        ("srt", "fs.scratch,env,limits"),
                                        ("safeclaw", "fs.scratch,env,limits")])
def test_there_and_back(world, kind, drop):
    done = convert(world, "cordon", kind, "strict", "--drop", drop).expect(0)
    back = convert(world, kind, "cordon", world.document(done.out, f"{kind}.json")).expect(0)
    world.cordon_verb("policy", "check", world.document(back.out, "back.toml")).expect(0)


def test_a_link_does_not_hide_what_must_not_be_written(world):
    held = world.make_directory(world.project / "held")
    world.make_directory(held / "sub")
    link = world.link(world.project / "link", held)
    def converted(writable, unwritable):
        document = {"network": {"allowedDomains": [], "deniedDomains": []},
                    "filesystem": {"denyRead": [], "allowWrite": [str(writable)],
                                   "denyWrite": [str(unwritable)]}}
        path = world.document(json.dumps(document), "srt.json")
        return convert(world, "srt", "cordon", path, "--json")

    done = converted(held / "sub", link).expect(0)
    assert "write" not in done.json["document"]["fs"], done.out
    done = converted(held / "sub", held / "other").expect(0)
    assert done.json["document"]["fs"]["write"] == [str(held / "sub")]
    # Nor does it lead to a grant: an earlier command may have left it.
    assert "leads through a link" in converted(link / "sub", held).expect(2).err


@pytest.mark.parametrize("options", [("--from", "mxc", "--to", "srt"), ("--from", "mxc"),
                                     ("--from", "toml", "--to", "cordon"),
                                     ("--from", "cordon", "--to", "cordon")])
def test_one_side_is_cordon(world, options):
    world.cordon_verb("policy", "convert", *options, "strict").expect(2)


@pytest.mark.parametrize("kind, drop", [("mxc", "fs.scratch"), ("srt", "fs.scratch,env"),
                                        ("safeclaw", "fs.scratch,env")])
def test_listed_sockets_are_lost_and_told(world, kind, drop):
    policy = world.document('version = 1\n[net]\nsockets = ["/run/x.sock"]\n')
    done = convert(world, "cordon", kind, policy, "--json", "--drop", drop)
    keys = {loss["key"] for loss in done.expect(0).json["losses"]}
    assert "net.sockets" in keys and "x.sock" not in json.dumps(done.json["document"]), done.account()
