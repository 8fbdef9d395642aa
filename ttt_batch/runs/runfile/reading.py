"""Reader of run files that checks the digest before HDF5 gets the bytes, and then every array."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ttt_batch.base.console import one_line
from ttt_batch.base.errors import RunFileError, flag
from ttt_batch.base.files import begins_with, reason, shown
from ttt_batch.runs.lookup import no_such_file
from ttt_batch.runs.runfile.checks import RunData, value_findings
from ttt_batch.runs.runfile.header import MAGIC, DamagedRun, holds_hdf5, read_bytes, verify
from ttt_batch.runs.runfile.parsing import parse_image

_REMEDY = "use a file as training wrote it"


def load_run(path: Path, *, trust: bool = False) -> RunData:
    """Read a run and check it: length, digest, version, configuration, and every array's dtype, shape and values.

    trust: read a file with a wrong length or digest in a child process; all other checks still apply.
    Raises RunFileError, with the problem and a remedy, if the file is not a complete and valid run file.
    """
    data, findings = examine_run(path, trust=trust)
    if data is None or findings:
        name = shown(Path(path))
        raise RunFileError(f"{name} is not a valid run: {one_line(findings[0])}; {_REMEDY}")
    return data


def is_run_file(path: Path) -> bool:
    """Return whether an ordinary file of any name begins with the run file's magic bytes."""
    return begins_with(path, MAGIC)


def examine_run(path: Path, *, trust: bool = False) -> tuple[RunData | None, list[str]]:
    """Return a run and all findings about it; the run is None if its file cannot be read completely.

    Raises RunFileError if the file is missing, unreadable or of a newer format, and, without `trust`, if its length or
    digest is wrong.
    """
    path = Path(path)
    name = shown(path)
    try:
        content = read_bytes(path, trust=trust)
        notes: tuple[str, ...] = ()
        try:
            data, findings = parse_image(content, verify(name, content))
        except DamagedRun as exc:
            if not trust:
                raise
            if not holds_hdf5(content):
                raise DamagedRun(f"{name} does not contain an HDF5 file; {_REMEDY}") from exc
            # A child process costs 0.25 s, so only files with a wrong digest need one.
            from ttt_batch.runs.runfile.shield import parse_in_child

            data, findings = parse_in_child(content)
            notes = (f"its content does not match its digest: opened because of {flag('trust', True)}",)
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
    """Return the newest run file in `folder` (`*.h5`, not hidden), or None.

    Only the first bytes are checked, so this is fast, but the file may be damaged.
    fits: predicate that accepts a file.  Raises RunFileError if the folder cannot be listed.
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
