"""Random work in a stage, applied, against the same work on a plain copy: the trees are equal, and a
restore gives the tree from before. Also in two runs, the second of which goes on in the stage or in a copy
of it."""

import json
import os
import random
import shutil

import pytest

from test_stage import changes, picture

# More of them: CORDON_STAGE_ROUNDS=1250 makes ten thousand, of all four and of both people.
ROUNDS = int(os.environ.get("CORDON_STAGE_ROUNDS", "5"))
NAMES = ["a", "b", "a-b", "a.b", "c d", "é", "z"]

# Carries out a list of operations in the current directory; what cannot be done is left.
WORKER = r"""
import json, os, shutil, sys
for op, one, two in json.load(sys.stdin):
    try:
        if op == "write":
            with open(one, "w") as file: file.write(two)
        elif op == "append":
            with open(one, "a") as file: file.write(two)
        elif op == "touch": os.utime(one)
        elif op == "open": open(one, "a").close()
        elif op == "mkdir": os.makedirs(one)
        elif op == "unlink": os.unlink(one)
        elif op == "remove": shutil.rmtree(one)
        elif op == "move":
            # A directory that was there cannot be renamed in a stage: both trees copy it.
            if (two + "/").startswith(one + "/"): continue
            if os.path.isdir(one) and not os.path.islink(one):
                shutil.copytree(one, two, symlinks=True)
                shutil.rmtree(one)
            else: os.rename(one, two)
        elif op == "chmod":
            # Root outside may pass where the command may not.
            if not os.path.islink(one): os.chmod(one, two | (0o700 if os.path.isdir(one) else 0o600))
        elif op == "link": os.symlink(two, one)
    except OSError: pass
"""


def some_path(chance):
    return "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 3)))


def operations(chance, count):
    for _ in range(count):
        op = chance.choice(["write", "write", "append", "touch", "open", "mkdir", "unlink", "remove",
                            "move", "move", "chmod", "link"])
        two = {"write": chance.choice(["", "x\n", "text\n" * 50]), "append": "more\n",
               "move": some_path(chance), "chmod": chance.choice([0o600, 0o644, 0o755, 0o700]),
               "link": chance.choice(["a", "../b", "c d"])}.get(op)
        yield [op, some_path(chance), two]


def work(list_of_operations):
    return json.dumps(list_of_operations)


def in_stage(report):
    """What was written through a link into a private home is told too, as lost."""
    return [one for one in report["changes"] if one["state"] != "lost"]


def carry_out(world, chance, option, operations_of_run):
    """The report of the last run."""
    cut = chance.randint(0, len(operations_of_run)) if option else 0
    how = ["--stage=review"]
    if cut > 0:
        ended, report = world.report("python3", "-c", WORKER, options=how, input=work(operations_of_run[:cut]))
        ended.expect(0)
        # Without changes there is no stage to go on in.
        if in_stage(report):
            how = how + [option, report["run_id"]]
    ended, report = world.report("python3", "-c", WORKER, options=how, input=work(operations_of_run[cut:]))
    ended.expect(0)
    return report


@pytest.mark.parametrize("seed, option", [(0, None), (1, None), (2, "--stage-from"), (3, "--stage-fork")])
def test_random_work_arrives_as_it_was_done(world, seed, option):
    chance = random.Random(seed * 1000 + 7)
    plain = world.path / "plain"
    for number in range(ROUNDS):
        for tree in (world.project, plain):
            shutil.rmtree(tree, ignore_errors=True)
            world.make_directory(tree)
        before_work = work(list(operations(chance, 40)))
        operations_of_run = list(operations(chance, chance.choice([1, 5, 40])))
        run_work = work(operations_of_run)
        for tree in (world.project, plain):
            world.bare("python3", "-c", WORKER, input=before_work, cwd=tree).expect(0)
        before = picture(world.project)
        assert before == picture(plain)
        world.bare("python3", "-c", WORKER, input=run_work, cwd=plain).expect(0)
        report = carry_out(world, chance, option, operations_of_run)
        told = f"seed {seed}, round {number}: {run_work}"
        assert picture(world.project) == before, told
        after = picture(plain)
        if not in_stage(report):
            assert after == before, told
            continue
        # Links that lead out of the project are not applied: leave them out of both.
        outside = {name for name, (_, content) in after.items() if leads_out(name, content)}
        done = world.cordon_verb("changes", "apply", report["run_id"])
        assert "conflict" not in done.err, told + done.account()
        now = picture(world.project)
        differ = {name for name in now.keys() | after.keys() if now.get(name) != after.get(name)}
        assert differ <= outside, (f"{told}\n{sorted(differ)}\n{done.account()}\n"
                                   f"{changes(world, 'list', report['run_id']).out}\n"
                                   f"{[(n, before.get(n), after.get(n)) for n in sorted(differ)]}")
        changes(world, "restore", report["run_id"], status=0 if now != before else 1)
        assert picture(world.project) == before, told


def leads_out(name, content):
    """What Cordon takes for a link out: by its words alone."""
    if not isinstance(content, str):
        return False
    return os.path.normpath(os.path.join("/p", os.path.dirname(name), content)) == "/b"
