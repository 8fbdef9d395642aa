"use strict";

/*
 * Every unfinished position of a board, and how the game ends from there with best play (see `solution.py`).  The code
 * of a position is the sum of mark * 3 ** cell.
 */
const solutions = (() => {
  const { UNFINISHED, DRAW, positionAfter, isOpen, moverAfter } = tttBatch;

  class Solution {
    constructor(board, { rows, quickest, images }, found) {
      this.board = board;
      this.images = images;
      this.quickest = quickest;
      this.codes = numbersOfBits(new Uint8Array(found.rows), rows);
      this.truths = new Int8Array(found.truths);
    }

    /**
     * The row of an unfinished position, and which of its cells stands on each cell of the image that the row is for:
     * the image with the lowest code, the first of several.
     */
    find(marks) {
      let lowest = Infinity, image;
      for (const candidate of this.images) {
        let code = 0;
        for (let i = candidate.length - 1; i >= 0; i--) code = 3 * code + marks[candidate[i]];
        if (code < lowest) [lowest, image] = [code, candidate];
      }
      const row = sections.indexIn(this.codes, lowest);
      if (row < 0) throw new Error(`no game reaches position ${lowest}`);
      return { row, image };
    }

    /** Return the result of best play: who wins (1, 2, or 0 for a draw), and after how many plies. */
    truth({ marks, outcome }) {
      const free = marks.filter((mark) => mark === 0).length;
      if (outcome !== UNFINISHED) return { winner: outcome === DRAW ? 0 : outcome, plies: 0 };
      const truth = this.truths[this.find(marks).row];
      if (truth === 0) return { winner: 0, plies: free };
      return { winner: truth > 0 ? 1 : 2, plies: this.quickest - Math.abs(truth) };
    }

    /**
     * The truth after a move to each cell after `moves`, for who makes it: result 1 (win), 0 or -1 (loss), and plies
     * to the end counted from after the move; null where no mark may go.
     */
    trueMoves(moves) {
      const mover = moverAfter(moves.length);
      const { marks } = positionAfter(this.board, moves);
      return marks.map((_, cell) => {
        if (!isOpen(this.board, marks, cell)) return null;
        const { winner, plies } = this.truth(positionAfter(this.board, [...moves, cell]));
        return { result: winner === 0 ? 0 : winner === mover ? 1 : -1, plies };
      });
    }
  }

  /** Int32Array of the numbers whose bits are set, `count` of them. */
  function numbersOfBits(bytes, count) {
    const numbers = new Int32Array(count);
    let found = 0;
    for (let i = 0; i < bytes.length; i++) {
      for (let byte = bytes[i], bit = 0; byte; byte >>= 1, bit++) {
        if (byte & 1) numbers[found++] = 8 * i + bit;
      }
    }
    return numbers;
  }

  return { Solution };
})();
