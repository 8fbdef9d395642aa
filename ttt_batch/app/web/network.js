"use strict";

/*
 * An agent that plays by networks: the sum of one weight of each tuple of cells, by what stands there (see `network.py`
 * here, and in `patterns`, whose numbers these are to the last bit: weights are whole numbers, and so are their sums).
 */
const agents = (() => {
  const { isComplete, isOpen, moverAfter } = tttBatch;

  /** The marks with one more. */
  const put = (marks, at, mark) => marks.map((before, cell) => (cell === at ? mark : before));

  class NetworkAgent {
    constructor(board, solution, { unit, tables, tuples }, found) {
      this.board = board;
      this.solution = solution;
      this.hasValues = true;
      this.unit = unit;
      this.tuples = tuples.map(([table, ...cells]) => ({ cells, ...tables[table] }));
      const cells = Array.from({ length: board.rows * board.cols }, (_, cell) => cell);
      this.through = cells.map((cell) => this.tuples.filter((tuple) => tuple.cells.includes(cell)));
      this.seats = ["first", "second"].map((seat) => readWeights(found[`gaps-${seat}`], found[`weights-${seat}`]));
    }

    candidates(marks) {
      const { mover, last, free, ending } = this.#look(marks);
      if (ending.length > 0 && !this.board.misere) return ending;
      const others = free.filter((cell) => !ending.includes(cell));
      if (others.length === 0) return free;
      if (last) return others;
      const sums = this.#sums(marks, mover, others).map((sum) => (mover === 1 ? sum : -sum));
      const best = Math.max(...sums);
      return others.filter((_, i) => sums[i] === best);
    }

    moveValues(marks) {
      const { mover, last, free, ending } = this.#look(marks);
      const sums = this.#sums(marks, mover, free);
      const values = new Array(marks.length).fill(null);
      free.forEach((cell, i) => {
        if (ending.includes(cell)) values[cell] = this.board.misere ? -1 : 1;
        else if (last) values[cell] = 0;
        else values[cell] = (mover === 1 ? 1 : -1) * squash(sums[i] / this.unit);
      });
      return values;
    }

    /** Return who moves, whether it is the last move, the cells that may be marked, and those that complete a line. */
    #look(marks) {
      const left = marks.filter((mark) => mark === 0).length;
      const free = marks.flatMap((_, cell) => (isOpen(this.board, marks, cell) ? [cell] : []));
      const mover = moverAfter(marks.length - left);
      const ending = free.filter((cell) => {
        const after = put(marks, cell, mover);
        return this.board.lines.some((line) => line.cells.includes(cell) && isComplete(line, after, mover));
      });
      return { mover, last: left === 1, free, ending };
    }

    /** The sums of the positions after moves to some free cells, by the weights of the player who moves. */
    #sums(marks, mover, cells) {
      const total = this.#sum(this.tuples, marks, mover);
      return cells.map((cell) => {
        const tuples = this.through[cell];
        return total + this.#sum(tuples, put(marks, cell, mover), mover) - this.#sum(tuples, marks, mover);
      });
    }

    /** The sum of the weights of some tuples. */
    #sum(tuples, marks, mover) {
      const { numbers, weights } = this.seats[mover - 1];
      let sum = 0;
      for (const { cells, first, powers, feet = 0 } of tuples) {
        let lowest = Infinity; // among the images of what stands on the tuple, which share a weight
        for (const power of powers) {
          let number = first;
          for (let i = 0; i < cells.length; i++) {
            const mark = cells[i] < marks.length ? marks[cells[i]] : 1; // under the lowest row is no free cell
            number += (i < cells.length - feet ? mark : Math.min(mark, 1)) * power[i];
          }
          lowest = Math.min(lowest, number);
        }
        const index = sections.indexIn(numbers, lowest);
        if (index >= 0) sum += weights[index];
      }
      return sum;
    }
  }

  /** The weights of a seat that are not 0, and the number of each. */
  function readWeights(gaps, weights) {
    const numbers = sections.fromPlanes(gaps);
    for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1];
    return { numbers, weights: Int32Array.from(sections.fromPlanes(weights), (twice) => (twice >>> 1) ^ -(twice & 1)) };
  }

  /** A sum as a value from -1 to 1. */
  function squash(sum) {
    const x = Math.max(-3, Math.min(3, sum));
    return (x * (27 + x * x)) / (27 + 9 * x * x);
  }

  /** The agent of a page. */
  async function load(data) {
    const found = await sections.inflate(data.sections);
    const solution = data.solution ? new solutions.Solution(data.board, data.solution, found) : null;
    return new NetworkAgent(data.board, solution, data.network, found);
  }

  return { load };
})();
