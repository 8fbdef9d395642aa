"""Reader of possibly damaged HDF5 in a child process, which may crash, hang or need too much memory.

One flipped byte in an HDF5 file can make the library end the process or loop forever.  If the user trusts a file with a
wrong digest, a child process reads it and returns plain arrays.
"""

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ttt_batch.base.processors import module_command, module_environment
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.parsing import parse_image

SECONDS = 20.0
"""Time limit of the child in seconds; a file of 64 MiB takes about two."""

MEMORY = 400 << 20
"""Limit of the child's data in bytes where the system supports it; `TIMES` the file size if that is more."""

TIMES = 6

_PLAIN = ("config", "games", "table_fields", "provenance", "notes", "version")
_PARTS = ("states", "tables", "statistics", "progress", "resume", "points")


def parse_in_child(content: bytes) -> tuple[RunData | None, list[str]]:
    """Run `parse_image` without a known version in a child process; its failures become findings."""
    packed, finding = in_child(__name__, content)
    if packed is not None:
        with suppress(ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile):
            return unpack(packed)
        finding = "the HDF5 library fails on it (status 0)"
    return None, [finding]


def in_child(module: str, content: bytes) -> tuple[bytes | None, str]:
    """Pass `content` to a child process that runs `module`; return its output and "", or None and a finding."""
    try:
        done = subprocess.run(
            module_command(module),
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=module_environment() | {"OPENBLAS_NUM_THREADS": "1"},
            timeout=max(SECONDS, len(content) / 1e7),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"the HDF5 library does not finish reading it in {SECONDS:g} s"
    if done.returncode == 0:
        return done.stdout, ""
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
    return None, f"the HDF5 library fails on it ({how})"


def pack(data: RunData | None, findings: list[str]) -> memoryview:
    """Return a result as the bytes of an npz file, in which one array is a JSON text."""
    arrays: dict[str, Any] = {}
    text: dict[str, Any] = {"findings": findings}
    if data is not None:
        arrays = {f"{part}/{name}": array for part in _PARTS for name, array in getattr(data, part).items()}
        text["data"] = {name: getattr(data, name) for name in _PLAIN}
    buffer = io.BytesIO()
    np.savez(buffer, text=np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays)
    return buffer.getbuffer()


def unpack(packed: bytes) -> tuple[RunData | None, list[str]]:
    """Return the result packed by `pack`.  Raises ValueError and similar errors for bytes from a faulty child."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        found = dict(arrays)
    text = json.loads(found.pop("text").tobytes())
    findings = [str(finding) for finding in text["findings"]]
    if "data" not in text:
        return None, findings or ["HDF5 cannot read it"]
    values = text["data"]
    values["table_fields"] = {name: (axes, meaning) for name, (axes, meaning) in values["table_fields"].items()}
    values |= {"notes": tuple(values["notes"]), "version": tuple(values["version"])}
    parts: dict[str, Any] = {part: {} for part in _PARTS}
    for path, array in found.items():
        part, _, name = path.partition("/")
        parts[part][name] = array
    return RunData(**values, **parts), findings


def limit_memory(size: int = 0) -> None:
    """Limit this process's memory to the limit for a file of `size` bytes, and disable core dumps, if possible."""
    with suppress(ImportError):
        import resource

        for kind, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, max(MEMORY, TIMES * size))):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (limit, limit))


def run_child(work: Callable[[bytes], bytes | memoryview], too_large: Callable[[str], bytes | memoryview]) -> None:
    """Run the child: read a file's bytes from standard input and write the result of `work` to standard output.

    too_large: called with a finding instead if `work` runs out of memory.
    """
    content = sys.stdin.buffer.read()
    limit_memory(len(content))
    try:
        packed = work(content)
    except MemoryError:
        packed = too_large(f"reading it takes more than {max(MEMORY, TIMES * len(content)) >> 20} MiB of memory")
    sys.stdout.buffer.write(packed)
    sys.stdout.buffer.flush()
    # Skip the clean-up, since the library may have left a corrupt state.
    os._exit(0)


if __name__ == "__main__":
    run_child(lambda content: pack(*parse_image(content, None)), lambda finding: pack(None, [finding]))
