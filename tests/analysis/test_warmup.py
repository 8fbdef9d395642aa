"""Warming up: after it no command compiles anything, and it compiles only what is missing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.support import finished

from ttt_batch.analysis import warmup
from ttt_batch.core.errors import TttBatchError

SECONDS = 600

# Runs every job in this process, and then all that commands can do, noting each signature of a kernel that was not
# called yet.  So it needs no cache of its own, and what other tests have compiled cannot hide a gap.  Almost all of the
# time is compiling.  Beyond 3x3 one learner stands for those whose tables, options and flags choose the same kernels.
EVERYTHING = """
import contextlib, io, itertools, re, sys
from pathlib import Path
import ttt_batch as ttt
from ttt_batch.__main__ import run
from ttt_batch.compiler.kernel_cache import KernelCache
from ttt_batch.analysis.warmup import BEYOND, LEARNERS, OTHERS, run_job

kinds = {}
for name, learner in LEARNERS.items():
    if not learner.by_beads:  # which has none of the options below
        axes = tuple((field, text[0]) for field, text in learner.fields.items())
        flags = learner.zero_sum, learner.occupied, learner.by_arrivals, learner.repeats, learner.temperature
        kinds.setdefault((axes, *flags, learner.settles, learner.final_rows, learner.edge_scores), []).append(name)
ALL, BEYOND_3X3 = [name for names in kinds.values() for name in names], [names[0] for names in kinds.values()]
for name in (*ALL, *OTHERS, *(name + BEYOND for name in BEYOND_3X3)):
    run_job(name)

new = []
load = KernelCache.load_overload
def noted(self, sig, context):
    new.append(f"{' '.join(words)}: {self._py_func.__qualname__}{sig}")
    return load(self, sig, context)
KernelCache.load_overload = noted

Path("games.txt").write_text("1 2 4 3 7\\n0 5! 1 8 2\\n")
commands = []
for learner in ALL:
    train = f"train --learner {learner} --games 60 --overwrite --out {learner}"
    commands += [
        f"{train}.h5 --batch 20",
        f"{train}-1.h5 --batch 1 --epsilon 0.3->0.1:linear",
        f"{train}-s.h5 --batch 20 --alpha 0.5->0.1:exp --epsilon 0.3->0.1:linear --record {learner}.txt",
        f"{train}-f.h5 --batch 20 --engine flow --epsilon 0.3->0.1:linear",
        f"{train}-b.h5 --batch auto --engine flow --alpha 0.5->0.1:exp",
        f"{train}-a.h5 --batch auto",
        f"{train}-w.h5 --batch 20 --engine flow --opponent optimal",
        f"{train}-c.h5 --batch 1",
        f"{train}-d.h5 --batch 1 --symmetry on",
        f"{train}-e.h5 --batch 1 --board 2x3",
        f"{train}-r.h5 --batch 1 --record {learner}-1.txt",
        f"{train}-o.h5 --batch 20 --opponent random --board 2x3",
        f"{train}-p.h5 --batch 1 --opponent td.h5 --as second",
        f"{train}-q.h5 --games 1200000 --batch 600000 --threads 2",
        f"{train}-n.h5 --batch 20 --start {learner}.h5",
        f"learn-from games.txt --learner {learner} --out {learner}-g.h5",
        f"learn-from games.txt --run {learner}.h5 --out {learner}-h.h5",
        f"evaluate {learner}.h5",
        f"evaluate {learner}.h5 --against optimal",
        f"evaluate {learner}.h5 --against self",
        f"evaluate {learner}.h5 --against {learner}-1.h5",
        f"compare {learner}.h5 {learner}-1.h5",
        f"info {learner}.h5",
        f"export {learner}.h5 --to json --out {learner}.json",
        f"play {learner}.h5 --seed 1",
        f"study --learner {learner} --games 60 --seeds 2 --batch 1,20 --epsilon 0.1,0.3->0.1:linear -o {learner}-st.h5",
        f"study --learner {learner} --games 60 --seeds 2 --batch 20 --engine flow --opponent optimal --as second "
        f"-o {learner}-sf.h5",
    ]
    for board in ("2x5x3", "5x5x5") if learner in BEYOND_3X3 else ():
        large = f"train --learner {learner} --games 20 --board {board} --overwrite --out {learner}-{board}"
        commands += [
            f"{large}.h5 --batch 7",
            f"{large}-1.h5 --batch 1 --epsilon 0.3->0.1:linear",
            f"{large}-f.h5 --batch 7 --engine flow",
            f"{large}-r.h5 --batch 7 --record {learner}-{board}.txt",
            f"{large}-s.h5 --batch 1 --record {learner}-{board}-1.txt",
            f"{large}-o.h5 --batch 7 --opponent random",
            f"{large}-p.h5 --batch 1 --opponent random --as first",
            f"{large}-q.h5 --batch 7 --opponent random --engine flow",
            f"learn-from {learner}-{board}.txt --learner {learner} --board {board} --out {learner}-{board}-g.h5",
            f"info {learner}-{board}.h5",
            f"evaluate {learner}-{board}.h5" + " --games 2" * (board == "5x5x5"),
            f"show {learner}-{board}.h5",
            f"study --learner {learner} --board {board} --games 20 --seeds 2 --batch 7 --engine walk,flow "
            f"-o {learner}-{board}-st.h5",
        ]
    if learner in BEYOND_3X3:
        commands.append(f"compare {learner}-2x5x3.h5 {learner}-2x5x3-1.h5")
    if learner not in ("sutton-barto", "minimax-q"):
        commands += [f"{train}-v.h5 --batch {batch} --alpha 1/n" for batch in (1, 20)]
# Others draw by chances that they learn.
commands = [re.sub(r" --epsilon \\S+", "", c) if re.search("reinforce|actor", c) else c for c in commands]
commands += ["export td.h5 --to csv --out td.csv", "import td.csv --learner td --out imported.h5"]
for command in commands:
    words = command.split()
    sys.stdin = io.StringIO("h\\n5\\nu\\n0\\n")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = run(words)
    print(*([command, status, said.getvalue()] if status else ["."]))
print(*new, sep="\\n")
"""


@pytest.mark.slow  # it compiles everything
def test_after_warming_up_no_command_compiles_anything(tmp_path: Path) -> None:
    done = finished([sys.executable, "-c", EVERYTHING], cwd=tmp_path, timeout=6 * SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {".", ""}, done.stdout
    assert done.stdout.count(".") > 100


# The command, with the smallest of the jobs only: it compiles one kernel.
SMALL = """
import sys
from ttt_batch.analysis import warmup
from ttt_batch.__main__ import run
warmup.LEARNERS, warmup.OTHERS = {}, {name: warmup.OTHERS[name] for name in sys.argv[1].split(",")}
sys.exit(run(["warmup", *sys.argv[2:]]))
"""


def warm(cache: Path, *words: str, jobs: str = "evaluation", **environment: str) -> "subprocess.CompletedProcess[str]":
    return finished(
        [sys.executable, "-c", SMALL, jobs, *words],
        env=os.environ | {"TTT_BATCH_CACHE_DIR": str(cache)} | environment,
        timeout=SECONDS,
    )


@pytest.mark.slow
def test_it_compiles_what_is_missing_and_says_what_there_is(tmp_path: Path) -> None:
    first = warm(tmp_path)
    (folder,) = tmp_path.iterdir()
    (kernel,) = folder.iterdir()
    assert first.returncode == 0
    assert re.fullmatch(r"compiling all kernels .*\.\.\.\nevaluation +[\d.]+ s   1 of 1\n", first.stderr)
    assert re.fullmatch(
        rf"compiled in [\d.]+ s, for evaluation\n1 kernel, 0.\d MB, in {re.escape(str(folder))}\n", first.stdout
    )
    before = kernel.stat().st_mtime_ns

    second = warm(tmp_path)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.startswith("all kernels are already compiled")
    third = warm(tmp_path, "--json")
    found = json.loads(third.stdout)
    assert (third.returncode, third.stderr) == (0, "")
    assert found.pop("seconds") < SECONDS
    assert found == {"compiled": [], "kernels": 1, "bytes": kernel.stat().st_size, "cache": str(folder)}
    assert kernel.stat().st_mtime_ns == before

    kernel.write_bytes(kernel.read_bytes()[:100])  # damaged: compiled anew
    assert json.loads(warm(tmp_path, "--json").stdout)["compiled"] == ["evaluation"]
    assert kernel.stat().st_size > 100


@pytest.mark.slow
def test_what_cannot_be_done_costs_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = warm(tmp_path / "file")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "TTT_BATCH_CACHE_DIR" in done.stderr
    done = warm(tmp_path, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "NUMBA_DISABLE_JIT" in done.stderr
    done = warm(tmp_path, "--processes", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "0" in done.stderr


def test_a_job_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_is_warm", lambda name: False)
    monkeypatch.setattr(warmup, "LEARNERS", {})
    monkeypatch.setattr(warmup, "OTHERS", {"no such job": lambda: None})
    with pytest.raises(TttBatchError, match=r"no such job: .*unknown learner"):
        warmup.warm_up(processes=1)
