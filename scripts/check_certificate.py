"""Check a certificate of ttt-batch with NumPy alone: `python check_certificate.py FILE.npz`.

Prints what the file claims: board, seat and goal. Then checks it, prints the result in a line, and exits with 0 if the
claim holds, else with 1. It holds if the moves in the file reach the goal against every opponent.

The positions are checked layer by layer from the empty board. Each move goes to a free cell that a mark can fall to.
After every reply one of these is true: the position, or an image of it, is listed; the game is over without harm; or no
line is left that could beat the agent. Nothing else is listed, and nothing twice.
"""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np

KINDS = dict.fromkeys(("format", "board", "seat", "goal"), "i8") | {"symmetric": "?"}
KINDS |= {"first": "u8", "second": "u8", "move": "u1"}
"""The arrays that are read beside `source`, the text of a JSON object, each with its type."""

Fault = type("Fault", (ValueError,), {})  # what this program finds wrong with a file, in its own words


def read(path):
    """Return the arrays of a file. Refuse one that fills the memory: a real certificate shrinks by less than 100."""
    with zipfile.ZipFile(path) as packed:
        size, most = sum(entry.file_size for entry in packed.infolist()), 2**20 + 100 * Path(path).stat().st_size
    if size > most:
        raise Fault(f"it unpacks to {size:,} bytes, more than 100 times its size")
    with np.load(path, allow_pickle=False) as content:
        if not isinstance(json.loads(str(content["source"][()])), dict):
            raise Fault("it does not say where it comes from")
        return {name: content[name] for name in KINDS}


def lines_of(rows, cols, k, exact):
    """Each line as the set of its cells, and of the cells beside its ends if they must not be the same player's."""
    found = []
    for row, col in np.ndindex(rows, cols):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))[: 4 if k > 1 else 1]:
            run = [(row + i * down, col + i * right) for i in range(-1, k + 1)]
            bits = [1 << r * cols + c if 0 <= r < rows and 0 <= c < cols else 0 for r, c in run]
            if all(bits[1:-1]):
                found.append((np.uint64(sum(bits[1:-1])), np.uint64((bits[0] | bits[-1]) * (exact and k > 1))))
    return found


class Checker:
    """sides: the two players' cells in the positions of a layer, two uint64[n]."""

    def __init__(self, file):
        shapes = dict.fromkeys(KINDS, ()) | dict.fromkeys(("first", "second", "move"), (file["first"].size,))
        shapes["board"] = (6 if file["format"].size == 1 and file["format"] == 2 else 5,)
        kinds = all(file[name].dtype == np.dtype(KINDS[name]) and file[name].shape == shapes[name] for name in KINDS)
        if not kinds or file["format"] not in (1, 2):
            raise Fault("it is no certificate of format 1 or 2")
        self.rows, self.cols, k, self.misere, exact, self.falls = [*map(int, file["board"]), 0][:6]
        self.cells, self.seat, self.must_win = self.rows * self.cols, int(file["seat"]), int(file["goal"])
        first, second, self.move = file["first"], file["second"], file["move"]
        known = {self.misere, exact, self.falls, self.seat, self.must_win} <= {0, 1} and min(self.rows, self.cols) >= 1
        if not (known and self.cells <= 64 and 1 <= k <= max(self.rows, self.cols)):
            raise Fault("it is no certificate of format 1 or 2")
        shape = f"{self.rows}x{self.cols}" + f"x{k}" * ((self.rows, self.cols, k) != (3, 3, 3))
        name = f"{shape}{'-misere' * self.misere}{'-exact' * exact}{'-gravity' * self.falls}"
        goal = ("cannot lose", "always wins")[self.must_win]
        self.claim = f"board {name}, the {('first', 'second')[self.seat]} player {goal}"
        self.lines = lines_of(self.rows, self.cols, k, exact)
        grid = np.arange(self.cells).reshape(self.rows, self.cols)
        turned = [np.rot90(side, n) for side in (grid, grid[:, ::-1]) for n in range(0, 4, 4 if self.falls else 1)]
        turned = turned if file["symmetric"] else [grid]
        self.images = [image.ravel() for image in turned if image.shape == grid.shape]
        later = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
        self.demand(later, (first[1:], second[1:]), "is listed twice, or out of order")
        self.listed, self.ply = (first, second), np.bitwise_count(first).astype(int) + np.bitwise_count(second)
        self.filler = self.seat ^ 1 ^ self.misere  # whose line beats the agent

    def demand(self, good, sides, what):
        """End the check unless all positions are good; draw the first that is not."""
        for n in np.flatnonzero(~good)[:1]:
            first, second = int(sides[0][n]), int(sides[1][n])
            text = "".join("X" if first >> c & 1 else "O" if second >> c & 1 else "." for c in range(self.cells))
            rows = "/".join(text[start : start + self.cols] for start in range(0, self.cells, self.cols))
            raise Fault(f"position {rows} {what}")

    def may_mark(self, sides, cell):
        """Return whether a cell is free, and what is below it taken if marks fall.  cell: uint64, one or n."""
        taken, below = sides[0] | sides[1], cell + np.uint64(self.cols)
        lies = (below >= self.cells) | (taken >> np.minimum(below, np.uint64(63)) & np.uint64(1) != 0)
        return (taken >> cell & np.uint64(1) == 0) & (lies | (not self.falls))

    def has_line(self, own):
        """Return whether a player has filled a line."""
        return np.any([np.zeros(own.size, bool), *((own & (line | ends)) == line for line, ends in self.lines)], axis=0)

    def is_harmless(self, sides, ply):
        """Return whether no line can be filled any more that would beat the agent, after `ply` moves."""
        own, other = sides[self.filler], sides[1 - self.filler]
        left, harmless = (self.cells + 1 - self.filler) // 2 - (ply + 1 - self.filler) // 2, np.ones(own.size, bool)
        for line, ends in self.lines:
            harmless &= (line & other != 0) | (ends & own != 0) | (np.bitwise_count(line & ~own) > left)
        return harmless & (not self.must_win)

    def go_on(self, before, after, ply):
        """Those of the positions after a move in which the game goes on; end the check if the agent misses its goal."""
        over, full, mine = self.has_line(after[ply % 2]), ply + 1 == self.cells, ply % 2 == self.seat
        lost = over & (mine == self.misere) | ~over & (full and self.must_win)
        self.demand(~lost, before, "has a move that misses the goal" if mine else "has a reply that beats the agent")
        return [side[~over & (not full) & ~self.is_harmless(after, ply + 1)] for side in after]

    def answer(self, sides, ply):
        """The positions after the agent's moves in those of a layer, which must be those that are listed."""
        listed, move = [side[self.ply == ply] for side in self.listed], self.move[self.ply == ply]
        if not all(map(np.array_equal, sides, listed)):
            reached, named = (set(zip(*map(np.ndarray.tolist, both), strict=True)) for both in (sides, listed))
            what = "is not listed" if reached - named else "cannot be reached"
            self.demand(np.zeros(1, bool), [[word] for word in min(reached - named or named - reached)], what)
        cell, after = np.minimum(move, 63).astype(np.uint64), list(listed)
        self.demand((move < self.cells) & self.may_mark(listed, cell), listed, "has a move that is not allowed")
        after[self.seat] = listed[self.seat] | np.uint64(1) << cell
        return self.go_on(listed, after, ply)

    def reply(self, sides, ply):
        """The positions after all replies in those of a layer, each once, by its lowest image."""
        found = [[np.zeros(0, np.uint64)] * 2]
        for cell in range(self.cells):
            free = self.may_mark(sides, np.uint64(cell))
            before = [side[free] for side in sides]
            after = [side | np.uint64((player == ply % 2) << cell) for player, side in enumerate(before)]
            found.append(self.go_on(before, after, ply))
        children, best = [np.concatenate(side) for side in zip(*found, strict=True)], None
        for image in self.images:
            new = [np.zeros(side.size, np.uint64) for side in children]
            for cell, player in np.ndindex(self.cells, 2):
                new[player] |= (children[player] >> np.uint64(cell) & np.uint64(1)) << np.uint64(image[cell])
            best = best or new
            lower = (new[0] < best[0]) | ((new[0] == best[0]) & (new[1] < best[1]))
            best = [np.where(lower, *both) for both in zip(new, best, strict=True)]
        best = np.array(best)[:, np.lexsort(best[::-1])]
        return list(best[:, np.append(True, np.any(np.diff(best) != 0, axis=0))[: best.shape[1]]])

    def check(self):
        """Go through all layers; raise Fault at the first fault."""
        sides, ply = [np.zeros(1, np.uint64)] * 2, 0
        sides = [side[~self.is_harmless(sides, 0)] for side in sides]
        while sides[0].size:
            sides, ply = (self.answer if ply % 2 == self.seat else self.reply)(sides, ply), ply + 1
        self.demand(np.isin(self.ply, range(self.seat, ply, 2)), self.listed, "cannot be reached")


if __name__ == "__main__":
    try:
        checker = Checker(read(sys.argv[1] if len(sys.argv) == 2 else sys.exit("name one file: FILE.npz")))
        print(f"claim: {checker.claim}", flush=True)
        checker.check()
        print(f"holds: {checker.claim}, {checker.move.size:,} positions")
    except (OSError, MemoryError) as error:
        sys.exit(f"cannot read {sys.argv[1]}: {getattr(error, 'strerror', None) or 'not enough memory'}")
    except Exception as error:
        sys.exit(f"does not hold: {error if isinstance(error, Fault) else 'it is damaged, or no certificate'}")
