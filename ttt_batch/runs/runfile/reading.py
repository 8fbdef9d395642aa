"""Reading a run, trusting nothing: HDF5 sees only bytes whose digest is right, and every array is checked."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ttt_batch.base.console import one_line
from ttt_batch.base.errors import RunFileError, option
from ttt_batch.base.files import begins_with, reason, shown
from ttt_batch.runs.lookup import no_such_file
from ttt_batch.runs.runfile.checks import RunData, value_findings
from ttt_batch.runs.runfile.header import MAGIC, Damaged, holds_hdf5, read_bytes, verify
from ttt_batch.runs.runfile.parsing import parse_image

_REMEDY = "use a file as training wrote it"


def load_run(path: Path, *, trust: bool = False) -> RunData:
    """Read a run and check it: length, digest, version, configuration, and every array's dtype, shape and values.

    trust: read a file whose length or digest is wrong all the same, in a process of its own; every other check applies.

    Raises RunFileError, with what is wrong and what to do, for everything that is not a whole and valid run file.
    """
    data, findings = examine_run(path, trust=trust)
    if data is None or findings:
        name = shown(Path(path))
        raise RunFileError(f"{name} is not a valid run: {one_line(findings[0])}; {_REMEDY}")
    return data


def is_run_file(path: Path) -> bool:
    """Whether an ordinary file begins as a run file does, whatever its name."""
    return begins_with(path, MAGIC)


def examine_run(path: Path, *, trust: bool = False) -> tuple[RunData | None, list[str]]:
    """A run, unless its file cannot even be read in full, and everything that is wrong with it.

    Raises RunFileError if length or digest are wrong, unless `trust`, and for what is no file or too new.
    """
    path = Path(path)
    name = shown(path)
    try:
        content = read_bytes(path, trust=trust)
        notes: tuple[str, ...] = ()
        try:
            data, findings = parse_image(content, verify(name, content))
        except Damaged as exc:
            if not trust:
                raise
            if not holds_hdf5(content):
                raise Damaged(f"{name} holds no HDF5 file; {_REMEDY}") from exc
            # Only here: a process costs a quarter of a second, and a right digest means bytes as they were written.
            from ttt_batch.runs.runfile.shield import parse_shielded

            data, findings = parse_shielded(content)
            notes = (f"its content does not match its digest: opened because of {option('trust', True)}",)
    except FileNotFoundError as exc:
        raise no_such_file(path) from exc
    except MemoryError as exc:
        raise RunFileError(f"cannot read {name}: not enough memory; free some and try again") from exc
    except (OSError, ValueError) as exc:
        raise RunFileError(f"cannot read {name}: {reason(exc)}; check the name and its permissions") from exc
    if data is not None:
        data.notes, data.size = (*notes, *data.notes), len(content)
        findings = [*findings, *value_findings(data)]
    return data, findings


def find_newest_run(folder: Path, fits: Callable[[Path], bool] = is_run_file) -> Path | None:
    """Return the run file in `folder` (`*.h5`, not hidden) that was written last, or None.

    A run file is known by its first bytes alone, so this is fast; the file may still turn out to be damaged.
    fits: whether a file is one of those to be found.  Raises RunFileError if the folder cannot be listed.
    """
    folder = Path(folder)
    candidates = []
    try:
        for path in folder.iterdir():
            if path.suffix == ".h5" and not path.name.startswith("."):
                with suppress(OSError):
                    candidates.append((path.stat().st_mtime_ns, path.name, path))
    except OSError as exc:
        raise RunFileError(f"cannot look for runs in {shown(folder)}: {exc.strerror}; name a run file instead") from exc
    return next((path for _, _, path in sorted(candidates, reverse=True) if fits(path)), None)
