"use strict";

/*
 * An agent that plays by a table learnt here, as it was at some moment; as those of `table.js`.
 */
class LearntAgent {
  /** state: as the worker posts it.  solution: the truth of the board. */
  constructor(graph, { settings, arrays }, solution) {
    const { [settings.learner]: Learner } = sessions.LEARNERS;
    this.graph = graph;
    this.board = graph.board;
    this.solution = solution;
    this.hasValues = true;
    this.scale = Learner.scale;
    this.learner = new Learner(graph, settings.alpha);
    this.learner.arrays = arrays;
  }

  /** The first edge of a position, how many it has, and who moves (0 or 1). */
  #edges(marks) {
    const row = graphs.rowAt(this.graph, marks), first = this.graph.firstEdge[row];
    return { first, count: this.graph.firstEdge[row + 1] - first, mover: this.graph.ply[row] & 1 };
  }

  candidates(marks) {
    const { first, count, mover } = this.#edges(marks);
    const set = this.learner.candidates(first, count, mover);
    return Array.from(this.graph.cell.subarray(first, first + count)).filter((_, i) => (set >> i) & 1);
  }

  moveValues(marks) {
    const { first, count, mover } = this.#edges(marks);
    const values = new Array(marks.length).fill(null);
    for (let edge = first; edge < first + count; edge++) {
      values[this.graph.cell[edge]] = this.learner.score(edge, mover);
    }
    return values;
  }
}
