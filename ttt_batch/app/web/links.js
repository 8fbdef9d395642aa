"use strict";

/*
 * Positions in the page's address, as `#X.O/.X./...`.
 */
const links = (() => {
  const { UNFINISHED, positionAfter } = tttBatch;

  function textOf(board, marks) {
    const rows = Array.from({ length: board.rows }, (_, row) => marks.slice(row * board.cols, (row + 1) * board.cols));
    return rows.map((row) => row.map((mark) => ".XO"[mark]).join("")).join("/");
  }

  /** Moves of a game that leads to a position; null for what is no position of the board, or is never reached. */
  function movesTo(board, text) {
    const rows = text.toUpperCase().split("/");
    if (rows.length !== board.rows || rows.some((row) => row.length !== board.cols || /[^.XO]/.test(row))) return null;
    const cells = (mark) => [...rows.join("")].flatMap((one, cell) => (one === mark ? [cell] : []));
    const [first, second] = [cells("X"), cells("O")];
    if (first.length !== second.length && first.length !== second.length + 1) return null;
    // The last move may have ended the game, so every mark of who made it is tried as the last.
    const last = first.length > second.length ? first : second;
    for (let tried = 0; tried < Math.max(1, last.length); tried++) {
      const moves = Array.from({ length: first.length + second.length }, (_, ply) => [first, second][ply % 2][ply >> 1]);
      if (positionAfter(board, moves.slice(0, -1)).outcome === UNFINISHED) return moves;
      last.unshift(last.pop());
    }
    return null;
  }

  return { textOf, movesTo };
})();
