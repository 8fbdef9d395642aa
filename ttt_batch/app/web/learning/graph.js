"use strict";

/*
 * The graph of a board of nine cells, as `game/graph.py` has it: a row for each position that play reaches, an edge for
 * each move.  Unfinished rows come first; both groups are in the order of plies, and within a ply in that of codes.
 */
const graphs = (() => {
  const { UNFINISHED, DRAW, isComplete } = tttBatch;
  const CELLS = 9;

  const POWERS = Array.from({ length: CELLS }, (_, cell) => 3 ** cell);

  function marksOf(code) {
    const marks = new Array(CELLS);
    for (let cell = 0; cell < CELLS; cell++) {
      marks[cell] = code % 3;
      code = (code - marks[cell]) / 3;
    }
    return marks;
  }

  /** How a position that the last move led to has ended: that player (1 or 2) has won, DRAW, or UNFINISHED. */
  function outcomeOf(board, marks) {
    for (const line of board.lines) {
      const player = marks[line.cells[0]];
      if (player !== 0 && isComplete(line, marks, player)) return board.misere ? 3 - player : player;
    }
    return marks.includes(0) ? UNFINISHED : DRAW;
  }

  /** Every position that play reaches, ply by ply: those that go on, and those that have ended. */
  function enumerate(board) {
    const open = [], over = [];
    let layer = [0];
    for (let ply = 0; layer.length > 0; ply++) {
      const outcomes = layer.map((code) => outcomeOf(board, marksOf(code)));
      layer.forEach((code, i) => (outcomes[i] ? over : open).push({ code, ply, outcome: outcomes[i] }));
      const after = new Set();
      for (const [i, code] of layer.entries()) {
        if (outcomes[i]) continue;
        marksOf(code).forEach((mark, cell) => mark === 0 && after.add(code + (1 + (ply % 2)) * POWERS[cell]));
      }
      layer = [...after].sort((a, b) => a - b);
    }
    return { open, over };
  }

  /**
   * A board's graph: board; rows, how many; open, how many of them are unfinished; code, outcome and ply of each row;
   * rowOf, the row of each code, -1 if play does not reach it; firstEdge, where the edges of each unfinished row begin;
   * child and cell of each edge.
   */
  function build(board) {
    const { open, over } = enumerate(board);
    const all = [...open, ...over];
    const rowOf = new Int32Array(3 ** CELLS).fill(-1);
    all.forEach(({ code }, row) => (rowOf[code] = row));
    const firstEdge = new Int32Array(open.length + 1), child = [], cell = [];
    open.forEach(({ code, ply }, row) => {
      marksOf(code).forEach((mark, at) => {
        if (mark !== 0) return;
        child.push(rowOf[code + (1 + (ply % 2)) * POWERS[at]]);
        cell.push(at);
      });
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
      child: Uint16Array.from(child),
      cell: Uint8Array.from(cell),
    };
  }

  /** The row of a position, by its marks. */
  function rowAt(graph, marks) {
    return graph.rowOf[marks.reduceRight((code, mark) => 3 * code + mark, 0)];
  }

  return { CELLS, build, rowAt, marksOf };
})();
