"""Record fingerprints of many configurations, and compare two records: did a change of the code change any bytes?

    python scripts/fingerprints.py before.jsonl              # at the old version
    python scripts/fingerprints.py after.jsonl               # at the new one
    python scripts/fingerprints.py --compare before.jsonl after.jsonl

A configuration is a call of the public API: a training, maybe resumed; an export, maybe imported again; an evaluation;
a study; an environment; a proof; or random games.  Its fingerprint is the SHA-256 of all that it computes or writes,
but for clock times and versions.  The configurations are drawn from a seed, so both versions get the same ones.
"""

import argparse
import hashlib
import json
import os
import random
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import ttt_batch as ttt

SEED = 2026
LEARNERS = [name for name in ttt.LEARNERS if name not in ("patterns", "ntuple-td")]
ACTION_LEARNERS = ("minimax-q", "backward-q", "q-learning", "sarsa", "expected-sarsa", "double-q")
DRAWING_LEARNERS = ("menace", "reinforce", "actor-critic")  # from probabilities of their own, without epsilon
BOARDS = ["3x3"] * 6 + ["3x3-misere", "3x3-exact", "2x3", "3x4x3", "3x4", "4x3x3-gravity", "4x4x3", "5x2x2", "1x7x3"]
LARGE_BOARDS = ["5x5x4", "6x6x5", "4x6x4"]
FORMATS = ["hdf5", "csv", "npz", "json", "jsonl"]
FORMATS_OF_VALUES = ["pickle", "pickle-text"]  # a file for each player
TIMES = {"seconds", "games_per_second", "created", "ended", "progress", "command", "processor", "threads", "workers"}
"""Names of values that differ between two calls."""

Options = dict[str, Any]


def draw_training(rng: random.Random) -> Options:
    """Return the arguments of a training on a board that can be enumerated."""
    learner = rng.choice(LEARNERS)
    board = "3x3" if learner == "menace" else rng.choice(BOARDS)
    if learner == "minimax-q":
        board = board.removesuffix("-gravity")
    options: Options = {"learner": learner, "board": board, "seed": rng.randrange(10**6)}
    options["games"] = rng.choice([1, 7, 100, 1000, 5000, 20_000])
    options["threads"] = rng.choice([1, 2])
    maybe(rng, options, "opponent", ["random", "optimal"], 0.25)
    if "opponent" in options and learner != "menace":
        maybe(rng, options, "seat", ["first", "second", "both"])
    maybe(rng, options, "symmetry", [True, False], 0.2)
    maybe(rng, options, "engine", ["flow"], 0.15)
    maybe(rng, options, "batch", [2, 64, 1000] if "engine" in options else ["auto", 1, 2, 64, 1000])
    if learner == "menace":
        maybe(rng, options, "beads", ["4,3,2,1", "8,4,2,1"])
        maybe(rng, options, "rewards", ["3,1,-1", "1,0,-1"])
        return options
    maybe(rng, options, "alpha", [0.05, 0.5, 1, "0.5->0.1:linear", "1/n", "1/n^0.8"])
    maybe(rng, options, "draw_worth", [(0, 0), (0.5, 0.5), (0.1, 0.5)])
    if learner in DRAWING_LEARNERS:
        maybe(rng, options, "beta", [0.01, 0.3])
        return options
    exploration = "explore" if rng.random() < 0.1 else "epsilon"
    shares = [0, 0.1, 0.3, 1, "0.5->0.01:linear", "0.5->0.01:exp", "10%"]
    maybe(rng, options, exploration, shares if exploration == "epsilon" else ["softmax:0.1", "softmax:1"], 0.6)
    maybe(rng, options, "gamma", [0.8, 0.9, 1])
    if learner not in ("minimax-q", "value-feed"):
        maybe(rng, options, "start_value", [0, 0.25, -0.5], 0.15)
    if learner == "td-lambda":
        maybe(rng, options, "lambda_", [0, 0.5, 0.9, 1])
        maybe(rng, options, "cut", [True, False])
    return options


def maybe(rng: random.Random, options: Options, name: str, values: list[Any], probability: float = 0.4) -> None:
    """Give an option one of these values, with this probability."""
    if rng.random() < probability:
        options[name] = rng.choice(values)


def draw_large_training(rng: random.Random) -> Options:
    """Return the arguments of a training on a board too large to enumerate: a growing table or a network."""
    learner = rng.choice(["td", "patterns", "ntuple-td"])
    options: Options = {"learner": learner, "board": rng.choice(LARGE_BOARDS), "seed": rng.randrange(10**6)}
    options["games"] = rng.choice([1, 10, 300])
    if learner == "td":
        options["symmetry"] = rng.choice([True, False])
    else:
        maybe(rng, options, "tuples", ["lines", "segments", "blocks:2x3"])
        maybe(rng, options, "sharing", ["symmetry", "translation", "none"])
        options["prove_every"] = 0
    if learner == "patterns":
        maybe(rng, options, "objective", ["safe", "win", "plain"])
    maybe(rng, options, "batch", [1, 2, 16])
    return options


def draw_configuration(rng: random.Random) -> tuple[str, Options]:
    """Return the kind of a configuration, and its arguments."""
    kinds = {"train": 38, "resume": 18, "transfer": 14, "evaluate": 10, "large": 4, "environment": 8, "study": 4}
    kinds |= {"prove": 2, "random games": 2}
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    if kind == "large":
        return kind, draw_large_training(rng)
    if kind == "environment":
        options: Options = {"board": rng.choice([*BOARDS, *LARGE_BOARDS]), "n": rng.choice([1, 5, 300])}
        best = [] if options["board"] in LARGE_BOARDS else ["optimal"]
        options["opponent"] = rng.choice([None, "random", "one-ply", "two-ply", *best])
        options |= {"seed": rng.randrange(1000), "steps": rng.choice([1, 12, 30])}
        return kind, options
    if kind == "random games":
        board = rng.choice(["3x3", "3x3-misere", "2x3", "4x4x3", *LARGE_BOARDS])
        return kind, {"board": board, "games": rng.randrange(200_000), "seed": rng.randrange(1000)}
    if kind == "prove":
        return kind, {"board": "5x5x4", "games": rng.choice([1, 200]), "seed": rng.randrange(1000)}
    options = draw_training(rng)
    if kind == "resume":
        options["more"] = rng.choice([1, 50, 3000])
    elif kind == "transfer":
        values = options["learner"] not in (*ACTION_LEARNERS, *DRAWING_LEARNERS)
        options["to"] = rng.choice([*FORMATS, *(FORMATS_OF_VALUES * 2 if values else [])])
    elif kind == "evaluate":
        options |= {"against": rng.choice(["random", "optimal", "self", "one-ply", "two-ply"])}
        options["ties"] = rng.choice(["sharp", "soonest", "any"])
    elif kind == "study":
        options = {name: options[name] for name in ("learner", "board") if name in options}
        options |= {"games": rng.choice([100, 1000]), "seeds": rng.choice([2, 9]), "alpha": "0.1,0.3"}
        if options["learner"] == "menace":
            del options["alpha"]
    return kind, options


class Fingerprint:
    """Digest of results: arrays, files and texts."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def add(self, *values: Any) -> None:
        """Add arrays, numbers, bytes, texts, and lists or dictionaries of these."""
        for value in values:
            if isinstance(value, dict):
                for key in sorted(value, key=str):
                    if key not in TIMES and "version" not in str(key):
                        self.add(str(key), value[key])
            elif isinstance(value, list | tuple):
                self.add(str(len(value)), *value)
            elif isinstance(value, bytes):
                self.digest.update(value)
            elif isinstance(value, str) or value is None:
                self.digest.update(repr(value).encode())
            elif isinstance(value, h5py.Empty):
                self.digest.update(b"empty")
            else:
                array = np.asarray(value)
                self.digest.update(f"{array.dtype} {array.shape}".encode())
                self.digest.update(str(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())

    def add_file(self, path: Path) -> None:
        """Add a file: the datasets and attributes of HDF5, otherwise its bytes."""
        if not h5py.is_hdf5(path):
            self.add(path.read_bytes())
            return
        with h5py.File(path) as file:
            self.add(_attributes(file))
            file.visititems(self._add_item)

    def _add_item(self, name: str, item: h5py.Group | h5py.Dataset) -> None:
        self.add(name, _attributes(item))
        if isinstance(item, h5py.Dataset) and name.rpartition("/")[2] not in TIMES:
            self.add(item[()])


def _attributes(item: Any) -> Options:
    """Return the attributes of an item but for the meanings, which are words."""
    return {name: value for name, value in item.attrs.items() if name != "meaning"}


def add_training(found: Fingerprint, folder: Path, options: Options) -> Any:
    """Add the run file of a training; return the run."""
    run = ttt.train(**options, out=folder / "run.h5", checkpoint_every="never")
    found.add_file(folder / "run.h5")
    return run


def resume(found: Fingerprint, folder: Path, options: Options) -> None:
    """Train, then go on in the same file."""
    more = options.pop("more")
    add_training(found, folder, options)
    ttt.train(resume=folder / "run.h5", more=more, checkpoint_every="never")
    found.add_file(folder / "run.h5")


def transfer(found: Fingerprint, folder: Path, options: Options) -> None:
    """Train, export and import again."""
    to = options.pop("to")
    run = add_training(found, folder, options)
    files = 2 if to in FORMATS_OF_VALUES else 1
    written = ttt.export_run(run, [folder / f"table-{number}.{to}" for number in range(files)], to)
    for path in written:
        found.add_file(path)
    again = ttt.import_run(written, options["learner"], form=to, board=options["board"], out=folder / "again.h5")
    found.add_file(folder / "again.h5")
    found.add(again.to_dict())


def evaluate(found: Fingerprint, folder: Path, options: Options) -> None:
    """Train and evaluate."""
    how = {name: options.pop(name) for name in ("against", "ties")}
    found.add(ttt.evaluate(add_training(found, folder, options), **how).to_dict())


def act(found: Fingerprint, folder: Path, options: Options) -> None:
    """Step an environment with its own random actions."""
    steps = options.pop("steps")
    games = ttt.Batch(options.pop("n"), options.pop("board"), **options)
    found.add(list(games.reset()))
    for _ in range(steps):
        found.add(list(games.step(games.sample())), games.bitboards)


def study(found: Fingerprint, folder: Path, options: Options) -> None:
    """Run a study."""
    ttt.study(out=folder / "study.h5", **options)
    found.add_file(folder / "study.h5")


def prove(found: Fingerprint, folder: Path, options: Options) -> None:
    """Train a network and search for a proof with a small budget."""
    run = add_training(found, folder, options | {"learner": "patterns", "prove_every": 0})
    found.add(ttt.prove(run, budget=20_000).to_dict())


def play_randomly(found: Fingerprint, folder: Path, options: Options) -> None:
    """Play random games."""
    found.add(ttt.random_games(**options))


CALLS: dict[str, Callable[[Fingerprint, Path, Options], Any]] = {
    "train": add_training,
    "large": add_training,
    "resume": resume,
    "transfer": transfer,
    "evaluate": evaluate,
    "environment": act,
    "study": study,
    "prove": prove,
    "random games": play_randomly,
}


def fingerprint(kind: str, options: Options) -> tuple[str, str]:
    """Return the fingerprint of a configuration, or the class of the error that it raises and its message."""
    found = Fingerprint()
    back = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            CALLS[kind](found, Path(folder), dict(options))
        except Exception as error:
            return type(error).__name__, str(error)
        finally:
            os.chdir(back)
    return found.digest.hexdigest(), ""


def record(path: Path, count: int, part: int, parts: int) -> None:
    """Write a line for each configuration; those that the file has already are left out."""
    have = {json.loads(line)["number"] for line in path.read_text().splitlines()} if path.exists() else set()
    rng = random.Random(SEED)
    with path.open("a") as file:
        for number in range(count):
            kind, options = draw_configuration(rng)
            if number in have or number % parts != part:
                continue
            begun = time.perf_counter()
            found, error = fingerprint(kind, options)
            line = {"number": number, "kind": kind, "options": options, "fingerprint": found, "error": error}
            print(json.dumps(line | {"seconds": round(time.perf_counter() - begun, 2)}), file=file, flush=True)


def compare(before: Path, after: Path) -> bool:
    """Print how many fingerprints agree and which do not; return True if all do."""
    old, new = ({json.loads(line)["number"]: json.loads(line) for line in path.open()} for path in (before, after))
    both = sorted(old.keys() & new.keys())
    differing = [number for number in both if old[number]["fingerprint"] != new[number]["fingerprint"]]
    failed = [number for number in both if len(new[number]["fingerprint"]) < 64]
    for number in differing:
        print(json.dumps(old[number]), new[number]["fingerprint"])
    print(f"{len(both):,} configurations in both, {len(differing):,} of them differ; {len(failed):,} raise an error:")
    print(dict(Counter(f"{new[number]['kind']}: {new[number]['fingerprint']}" for number in failed)))
    return not differing and old.keys() == new.keys()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path, nargs="+", help="file to write, or two files with --compare")
    parser.add_argument("--compare", action="store_true", help="compare two records")
    parser.add_argument("--count", type=int, default=2300, help="number of configurations [default: 2300]")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="record part I of N only")
    given = parser.parse_args()
    if given.compare:
        raise SystemExit(0 if compare(*given.record) else 1)
    record(given.record[0], given.count, *given.part)


if __name__ == "__main__":
    main()
