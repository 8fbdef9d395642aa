"use strict";

/*
 * Positions in the page's address: as rows, `#X.O/.X./...`, or as the moves that lead there, `#5-3-1` or `?moves=5,3,1`.
 */
const links = (() => {
  const { UNFINISHED, positionAfter } = tttBatch;

  function textOf(board, marks) {
    const rows = Array.from({ length: board.rows }, (_, row) => marks.slice(row * board.cols, (row + 1) * board.cols));
    return rows.map((row) => row.map((mark) => ".XO"[mark]).join("")).join("/");
  }

  /** The text of an address, given its parts; empty if it names no position. */
  function textIn({ hash, search }) {
    const text = hash.slice(1) || new URLSearchParams(search).get("moves") || "";
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** The cell that a word names: its digit on boards of up to nine cells, on any its column letter and row number. */
  function cellOf(board, word) {
    const [count, named] = [board.rows * board.cols, /^([a-z])([1-9][0-9]?)$/.exec(word)];
    if (count <= 9 && /^[1-9]$/.test(word)) return Number(word) <= count ? Number(word) - 1 : null;
    if (!named) return null;
    const [col, row] = [named[1].charCodeAt(0) - 97, Number(named[2]) - 1];
    return col < board.cols && row < board.rows ? row * board.cols + col : null;
  }

  /** The cells of moves, such as `5-3-1` or `X5 O3 X1`; null if one is not possible. */
  function played(board, words) {
    const moves = [];
    for (const [ply, word] of words.entries()) {
      const cell = cellOf(board, word) ?? (word[0] === "xo"[ply % 2] ? cellOf(board, word.slice(1)) : null);
      if (cell === null || moves.includes(cell) || positionAfter(board, moves).outcome !== UNFINISHED) return null;
      moves.push(cell);
    }
    return moves;
  }

  /**
   * Moves of a game that leads to a position, given as rows or as its moves; null for what is no position of the board,
   * or is never reached.
   */
  function movesTo(board, text) {
    if (/[0-9]/.test(text)) return played(board, text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean));
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

  return { textIn, textOf, movesTo };
})();
