"use strict";

/*
 * The graph of a board of nine cells, as `games/graph.py` has it: a row for each position that play reaches, an edge
 * for each move.  Unfinished rows come first; both groups are in the order of plies, and within a ply in that of codes.
 *
 * With boxes a row stands for all images of its position, as the one with the lowest code, and where the first player
 * has a choice the last edge is to resign: its cell is CELLS, and it leads to a row after all others.
 */
const graphs = (() => {
  const { UNFINISHED, DRAW, isComplete } = tttBatch;
  const CELLS = 9;

  const POWERS = Array.from({ length: CELLS }, (_, cell) => 3 ** cell);

  /** The eight ways to turn and to mirror the board: which cell comes to each cell. */
  const IMAGES = Array.from({ length: 8 }, (_, image) =>
    Array.from({ length: CELLS }, (_, cell) => {
      let row = Math.floor(cell / 3), col = cell % 3;
      if (image & 4) [row, col] = [col, row];
      return 3 * (image & 2 ? 2 - row : row) + (image & 1 ? 2 - col : col);
    }));

  function codeOf(marks, image = IMAGES[0]) {
    return image.reduceRight((code, cell) => 3 * code + marks[cell], 0);
  }

  /** The image of a position with the lowest code. */
  function lowestImage(marks) {
    const codes = IMAGES.map((image) => codeOf(marks, image));
    return IMAGES[codes.indexOf(Math.min(...codes))];
  }

  function marksOf(code) {
    const marks = new Array(CELLS);
    for (let cell = 0; cell < CELLS; cell++) {
      marks[cell] = code % 3;
      code = (code - marks[cell]) / 3;
    }
    return marks;
  }

  /** Return the outcome after the last move: its player (1 or 2) has won, DRAW, or UNFINISHED. */
  function outcomeOf(board, marks) {
    for (const line of board.lines) {
      const player = marks[line.cells[0]];
      if (player !== 0 && isComplete(line, marks, player)) return board.misere ? 3 - player : player;
    }
    return marks.includes(0) ? UNFINISHED : DRAW;
  }

  /** Every position that play reaches, ply by ply: unfinished and final ones.  own: of a code. */
  function enumerate(board, own) {
    const open = [], over = [];
    let layer = [0];
    for (let ply = 0; layer.length > 0; ply++) {
      const outcomes = layer.map((code) => outcomeOf(board, marksOf(code)));
      layer.forEach((code, i) => (outcomes[i] ? over : open).push({ code, ply, outcome: outcomes[i] }));
      const after = new Set();
      for (const [i, code] of layer.entries()) {
        if (outcomes[i]) continue;
        marksOf(code).forEach((mark, cell) => mark === 0 && after.add(own(code + (1 + (ply % 2)) * POWERS[cell])));
      }
      layer = [...after].sort((a, b) => a - b);
    }
    return { open, over };
  }

  /**
   * A board's graph: board; rows, how many; open, how many of them are unfinished; code, outcome and ply of each row;
   * rowOf, the row of each code, -1 if play does not reach it; firstEdge, where the edges of each unfinished row begin;
   * legal, how many of them are moves; child and cell of each edge; boxes, as given.
   */
  function build(board, boxes = false) {
    const own = boxes ? (code) => codeOf(marksOf(code), lowestImage(marksOf(code))) : (code) => code;
    const { open, over } = enumerate(board, own);
    const all = [...open, ...over];
    const rowOf = new Int32Array(3 ** CELLS).fill(-1), resigned = all.length;
    all.forEach(({ code }, row) => {
      for (const image of boxes ? IMAGES : [IMAGES[0]]) rowOf[codeOf(marksOf(code), image)] = row;
    });
    if (boxes) all.push({ code: -1, ply: 0, outcome: 2 });
    const firstEdge = new Int32Array(open.length + 1), legal = new Uint8Array(open.length), child = [], cell = [];
    open.forEach(({ code, ply }, row) => {
      marksOf(code).forEach((mark, at) => {
        if (mark !== 0) return;
        child.push(rowOf[code + (1 + (ply % 2)) * POWERS[at]]);
        cell.push(at);
        legal[row]++;
      });
      if (boxes && ply % 2 === 0 && legal[row] > 1) {
        child.push(resigned);
        cell.push(CELLS);
      }
      firstEdge[row + 1] = child.length;
    });
    return {
      board,
      rows: all.length,
      open: open.length,
      code: Int32Array.from(all, (one) => one.code),
      outcome: Uint8Array.from(all, (one) => one.outcome),
      ply: Uint8Array.from(all, (one) => one.ply),
      rowOf,
      firstEdge,
      legal,
      boxes,
      child: Uint16Array.from(child),
      cell: Uint8Array.from(cell),
    };
  }

  /** The row of a position, by its marks. */
  function rowAt(graph, marks) {
    return graph.rowOf[codeOf(marks)];
  }

  /** Which cell of a position each cell of its row is. */
  function cellsOf(graph, marks) {
    return graph.boxes ? lowestImage(marks) : IMAGES[0];
  }

  return { CELLS, build, rowAt, cellsOf, marksOf };
})();
