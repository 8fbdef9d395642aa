"use strict";

/*
 * An agent that plays by a table of positions (see `table.py`).
 */
const agents = (() => {
  const NEVER_SEEN = -32768;

  class TableAgent {
    constructor(board, solution, { step }, found) {
      this.board = board;
      this.solution = solution;
      this.sets = new Uint16Array(found.candidates);
      this.values = new Int16Array(found.values);
      this.step = step;
      this.likely = found.chances ? this.#likely(new Float32Array(found.chances)) : null;
      this.hasValues = this.values.length > 0;
      if (this.hasValues) this.firstValue = this.#firstValues();
    }

    /** Where the values of each row begin: a row has one for each free cell or, where marks fall, each open column. */
    #firstValues() {
      const { codes } = this.solution;
      const first = new Uint32Array(codes.length + 1);
      const cells = this.board.gravity ? this.board.cols : this.board.rows * this.board.cols;
      for (let row = 0; row < codes.length; row++) {
        let free = 0;
        for (let cell = 0, code = codes[row]; cell < cells; cell++, code = Math.floor(code / 3)) {
          if (code % 3 === 0) free++;
        }
        first[row + 1] = first[row] + free;
      }
      return first;
    }

    /** Return the probabilities of each row's moves. */
    #likely(chances) {
      let next = 0;
      return Array.from(this.sets, (set) => chances.subarray(next, (next += cellsIn(set).length)));
    }

    candidates(marks) {
      const { row, image } = this.solution.find(marks);
      return cellsIn(this.sets[row]).map((cell) => image[cell]).sort((a, b) => a - b);
    }

    /** Return the probability of each candidate; null if all are equal. */
    chances(marks) {
      if (this.likely === null) return null;
      const { row, image } = this.solution.find(marks);
      const chance = new Map(cellsIn(this.sets[row]).map((cell, i) => [image[cell], this.likely[row][i]]));
      return this.candidates(marks).map((cell) => chance.get(cell));
    }

    moveValues(marks) {
      const { row, image } = this.solution.find(marks);
      const values = new Array(marks.length).fill(null);
      let next = this.firstValue[row];
      for (const cell of image) {
        if (!tttBatch.isOpen(this.board, marks, cell)) continue;
        const value = this.values[next++];
        values[cell] = value === NEVER_SEEN ? NaN : value * this.step;
      }
      return values;
    }
  }

  /** The cells of a set of bits, cell 0 the lowest, in order. */
  function cellsIn(set) {
    const cells = [];
    for (let cell = 0; set >> cell; cell++) {
      if ((set >> cell) & 1) cells.push(cell);
    }
    return cells;
  }

  /** The agent of a page. */
  async function load(data) {
    const found = await sections.inflate(data.sections);
    return new TableAgent(data.board, new solutions.Solution(data.board, data.solution, found), data.table, found);
  }

  return { load };
})();
