"""Recording games: a file of games, in the notation of `transcripts`, that appears whole in the end."""

import codecs
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from ttt_batch.base.errors import GamesError, RunFileError, TakenError
from ttt_batch.base.files import exists, flush_folder, reason, shown, unused_paths, write_all
from ttt_batch.base.lock import Lock
from ttt_batch.base.outputs import Draft, OutputKind
from ttt_batch.game.board import RESIGNS, Board
from ttt_batch.game.graph import Graph
from ttt_batch.game.transcripts import Games, format_games, joined

GAMES_FILE = OutputKind(GamesError, "record", "write games to")
_RECORD = OutputKind(GamesError, "record", "append games to")
"""Files of games that are written whole, and those that grow, as `outputs` speaks of them."""

_AT_ONCE = _BEGINNING = 1 << 16
"""Bytes of games that are written at once, and of a file that show whether it is text."""


class GamesWriter:
    """Writes games to a file as they are played; the file appears whole, when the `with` block ends without an error.

    No other process may write it meanwhile.  A disk that refuses games ends the recording, not the training: `failure`
    says why, nothing more is written, and the block raises it in the end.  If another program takes the name meanwhile,
    its file stays as it is, and the games go into a new file beside it.

    file: where the games are in the end.
    Raises GamesError for an existing file (unless `overwrite`), for one that is not ordinary, and if the disk refuses
    at the beginning or in the end.
    """

    def __init__(
        self, path: Path, board: Board | None = None, *, overwrite: bool = False, say: Callable[[str], None]
    ) -> None:
        """board: given if a row stands for all images of a position.  say: called if the games go elsewhere."""
        self._path, self._board, self._overwrite, self._say = path, board, overwrite, say
        self._pending, self._written = bytearray(), False
        self.file: Path | None = None
        self.failure: GamesError | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._target = GAMES_FILE.place(self._path, overwrite=self._overwrite)
            stack.enter_context(GAMES_FILE.alone(self._target))
            with GAMES_FILE.refusing(self._path):
                self._draft = Draft(self._target)
            stack.callback(self._draft.close)
            self._held = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._held:
            if kind is None:
                self.finish()

    def write(self, games: Games, graph: Graph | None) -> None:
        """Append `games`, played on `graph`; without one their moves are cells of the board."""
        if self.failure is not None:
            return
        lines = joined(games.move, games) if graph is None else format_games(games, graph, self._board)
        self._pending += "".join(f"{line}\n" for line in lines).encode("ascii")
        self._written = self._written or bool(self._pending)
        if len(self._pending) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is pending; `failure` if the system refuses it."""
        try:
            with GAMES_FILE.refusing(self._path):
                self._draft.write(self._pending)
        except GamesError as error:
            self.failure = error
        self._pending = bytearray()

    def finish(self) -> None:
        """Let the file appear now, once, if any game was played.

        Raises GamesError if that fails, or if writing the games has failed.
        """
        if self.file is not None or not self._written:
            return
        self.flush()
        if self.failure is not None:
            raise self.failure
        with GAMES_FILE.refusing(self._path):
            self._draft.flush()
            self.file = self._publish()
            flush_folder(self.file.parent)

    def _publish(self) -> Path:
        """Give the file its name, or a free one beside it if that is taken; return which."""
        try:
            self._draft.publish(overwrite=self._overwrite)
        except OSError as error:
            if not os.path.lexists(self._target):  # the name is free: something else is wrong
                raise
            file = self._publish_beside()
            why = "another program has created it" if isinstance(error, FileExistsError) else reason(error)
            self._say(f"{shown(self._path)} is left as it is: {why}; the games are in {shown(file)}")
            return file
        return self._path

    def _publish_beside(self) -> Path:
        # Beside the file itself, which may be on another disk than a link to it.
        for path in unused_paths(self._target if self._path.is_symlink() else self._path):
            try:
                with Lock(path):
                    self._draft.publish(overwrite=False, target=path)
            except (FileExistsError, TakenError):
                continue
            except RunFileError as error:
                raise GamesError(str(error)) from None
            return path
        raise AssertionError("names do not run out")


class GameRecord:
    """A text file to which finished games are appended; call it with the cells of a game.

    resignation: the number that stands for resigning, if it may occur.

    Raises GamesError at once if `path` cannot be written, or holds something other than text.
    """

    def __init__(self, path: Path, resignation: int | None = None) -> None:
        self._path, self._resignation = path, resignation
        with _RECORD.refusing(path):
            if not exists(path):
                _RECORD.check(path, overwrite=False)
                return
            with _RECORD.place(path, overwrite=True).open("a+b", buffering=0) as file:
                file.seek(0)
                beginning = file.read(_BEGINNING)
            try:
                codecs.utf_8_decode(beginning, "strict", len(beginning) < _BEGINNING)
                binary = b"\0" in beginning
            except UnicodeError:
                binary = True
            if binary:
                raise _RECORD.refusal(path, f"it is not a text file; {_RECORD.with_option('name another file')}")

    def __call__(self, cells: Sequence[int]) -> None:
        """Append a game, all of it or nothing.  Raises GamesError for what the disk refuses."""
        line = " ".join(RESIGNS if cell == self._resignation else str(cell) for cell in cells).encode() + b"\n"
        target = _RECORD.place(self._path, overwrite=True)
        alone = _RECORD.alone(target, patience=1.0, necessary=False)
        with alone, _RECORD.refusing(self._path), target.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:  # a last line without an end must not run into this one
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            try:
                write_all(file.fileno(), line)
            except OSError:
                file.truncate(size)
                raise
