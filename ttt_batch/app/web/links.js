"use strict";

/*
 * Positions in the page's address: as rows, `#X.O/.X./...`, or as the moves that lead there, `#5-3-1` or `?moves=5,3,1`.
 */
const links = (() => {
  const { UNFINISHED, isOpen, landing, moverAfter, positionAfter } = tttBatch;

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

  /** The cell to which a mark falls in the column that a letter or a number names; undefined for other words. */
  function fallenTo(board, marks, word) {
    const col = /^[a-z]$/.test(word) ? word.charCodeAt(0) - 97 : Number(word) - 1;
    return board.gravity && col >= 0 && col < board.cols ? landing(board, marks, col) : undefined;
  }

  /** The cells of moves, such as `5-3-1` or `X5 O3 X1`, where marks fall `d-d-c`; null if one is not possible. */
  function played(board, words) {
    const moves = [];
    for (const [ply, word] of words.entries()) {
      const { marks, outcome } = positionAfter(board, moves);
      const named = cellOf(board, word) ?? (word[0] === "xo"[ply % 2] ? cellOf(board, word.slice(1)) : null);
      const cell = named ?? fallenTo(board, marks, word);
      if (outcome !== UNFINISHED || !isOpen(board, marks, cell)) return null;
      moves.push(cell);
    }
    return moves;
  }

  /** Moves that pile up these marks, the last one on top of a column; null if no game does.  tried: dead ends. */
  function piled(board, marks, plies, tried = new Set()) {
    if (plies === 0) return [];
    const key = marks.join("");
    if (tried.has(key)) return null;
    tried.add(key);
    for (let col = 0; col < board.cols; col++) {
      const cell = (landing(board, marks, col) ?? col - board.cols) + board.cols; // the highest mark of the column
      if (marks[cell] !== moverAfter(plies - 1)) continue;
      const moves = piled(board, marks.map((mark, one) => (one === cell ? 0 : mark)), plies - 1, tried);
      if (moves && positionAfter(board, moves).outcome === UNFINISHED) return [...moves, cell];
    }
    return null;
  }

  /**
   * Moves of a game that leads to a position, given as rows or as its moves; null for what is no position of the board,
   * or is never reached.
   */
  function movesTo(board, text) {
    if (/[0-9]/.test(text) || (board.gravity && !text.includes("/"))) return played(board, text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean));
    const rows = text.toUpperCase().split("/");
    if (rows.length !== board.rows || rows.some((row) => row.length !== board.cols || /[^.XO]/.test(row))) return null;
    const cells = (mark) => [...rows.join("")].flatMap((one, cell) => (one === mark ? [cell] : []));
    const [first, second] = [cells("X"), cells("O")];
    if (first.length !== second.length && first.length !== second.length + 1) return null;
    if (board.gravity) {
      const marks = [...rows.join("")].map((one) => ".XO".indexOf(one));
      const floats = marks.some((mark, cell) => mark !== 0 && marks[cell + board.cols] === 0);
      return floats ? null : piled(board, marks, first.length + second.length);
    }
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
