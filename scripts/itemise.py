"""Where the seconds of `ttt-batch train --games 100000` go, from the shell and back.

    python scripts/itemise.py [--runs N]

Each run is a process that does what the command does, with a stopwatch at its stages, and what a stage does within
another one counts only once.  Prints the median of each stage in milliseconds.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GAMES = 100_000
INTERPRETER, KERNELS, REST, EXIT = "start of the interpreter", "loading kernels", "the rest", "end of the process"
IMPORTS = {
    "import of typer and the commands": ("ttt_batch.__main__", "ttt_batch.app.cli", "ttt_batch.app.commands"),
    "import of numpy": ("numpy",),
    "import of numba": ("numba", "numba.extending", "numba.core.caching"),
    "import of h5py": ("h5py",),
    "import of pydantic for typer": ("typer._adapters",),  # where this version of typer has it
}
HASH, PACKAGE = "hash of the sources", "import of the package"
CALLS = {
    "enumerating the board": (("ttt_batch.runs.config", "enumerate_graph"),),
    "setting up": (("ttt_batch.training.train", "make_trainer"), ("ttt_batch.runs.run", "Recorder.__init__")),
    "playing, learning, proving": (
        ("ttt_batch.training.trainers.base", "TableTrainer.advance"),
        ("ttt_batch.training.trainers.base", "TableTrainer.judge"),
        ("ttt_batch.runs.run", "Recorder.record"),
    ),
    "writing": (("ttt_batch.training.session", "Checkpoints.write"),),
    # Types the arguments, finds the machine code in the cache and links it; called once a kernel and signature.
    KERNELS: (("numba.core.dispatcher", "_DispatcherBase._compile_for_args"),),
}
STAGES = (INTERPRETER, *IMPORTS, HASH, PACKAGE, *CALLS, REST, EXIT)


class Stopwatch:
    """Seconds by stage; those of a stage within another one are taken off the outer one."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._within = [0.0]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        self._within.append(0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] += spent - self._within.pop()
            self._within[-1] += spent

    def watch(self, module: str, path: str, name: str) -> None:
        """Make every call of a function a stage."""
        owner: Any = importlib.import_module(module)
        *holders, attribute = path.split(".")
        for holder in holders:
            owner = getattr(owner, holder)
        function: Callable[..., Any] = getattr(owner, attribute)

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return function(*args, **kwargs)

        setattr(owner, attribute, timed)


def run_stages(started: float, folder: str) -> None:
    """The command in this process, begun by its parent at `started`; print the stages and when they were over."""
    import gc

    watch = Stopwatch()
    watch.seconds[INTERPRETER] = time.monotonic() - started
    # As `ttt_batch.__main__.main` does.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 20)
    for name, modules in IMPORTS.items():
        with watch.stage(name):
            for module in modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(module)
    from ttt_batch.__main__ import run
    from ttt_batch.compiler.kernel_cache import cache_folder

    with watch.stage(HASH):
        cache_folder()  # every kernel looks it up when its module is imported
    with watch.stage(PACKAGE):
        for module in ("ttt_batch.training.train", "ttt_batch.app.reports.training", "ttt_batch.runs.storage.run_file"):
            importlib.import_module(module)
    for name, calls in CALLS.items():
        for module, path in calls:
            watch.watch(module, path, name)
    with watch.stage(REST), contextlib.redirect_stdout(io.StringIO()):
        status = run(["train", "--games", str(GAMES), "--out", str(Path(folder, "run.h5"))])
    if missed := [name for name in CALLS if watch.seconds[name] == 0.0]:
        sys.exit(f"never came to {', '.join(missed)}: the package does it elsewhere now")
    gc.freeze()
    print(json.dumps({"stages": watch.seconds, "over": time.monotonic()}), flush=True)
    sys.exit(status)


def itemise(folder: Path, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Run the command once, writing into `folder`: milliseconds by stage, and those of the process as `total`."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        started = time.monotonic()
        command = [sys.executable, __file__, "--inside", str(started), place]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        ended = time.monotonic()
    if done.returncode:
        raise SystemExit(f"ttt-batch train failed: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    stages = found["stages"] | {EXIT: ended - found["over"]}
    return {name: 1e3 * seconds for name, seconds in stages.items()} | {"total": 1e3 * (ended - started)}


def main() -> None:
    """Run and print the medians."""
    if sys.argv[1:2] == ["--inside"]:
        run_stages(float(sys.argv[2]), sys.argv[3])
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=11, help="how often; default 11")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        itemise(Path(folder))  # fills the cache of kernels and the system's of files
        runs = [itemise(Path(folder)) for _ in range(options.runs)]
    print(f"{'milliseconds of `ttt-batch train --games 100000`':<50}  median   min .. max")
    for name in (*STAGES, "total"):
        values = [run[name] for run in runs]
        print(f"{name:<50}{statistics.median(values):8.1f}   {min(values):.1f} .. {max(values):.1f}")


if __name__ == "__main__":
    main()
