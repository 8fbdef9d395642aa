"use strict";

/*
 * An agent that plays by a table learnt here, as it was at some moment; as those of `table.js`.
 */
class LearntAgent {
  /** graph: of the learner.  state: as the worker posts it.  solution: the truth of the board. */
  constructor(graph, { settings, arrays }, solution) {
    const { [settings.learner]: Learner } = sessions.LEARNERS;
    this.graph = graph;
    this.board = graph.board;
    this.solution = solution;
    this.hasValues = true;
    this.scale = Learner.scale;
    this.only = Learner.boxes ? { seat: 1, has: "boxes" } : null;
    this.learner = new Learner(this.graph, settings.alpha, settings);
    this.learner.arrays = arrays;
  }

  /** The first edge of a position, how many it has, who moves (0 or 1), and which cell each edge marks. */
  #edges(marks) {
    const { graph } = this, row = graphs.rowAt(graph, marks), first = graph.firstEdge[row];
    const count = graph.firstEdge[row + 1] - first, image = graphs.cellsOf(graph, marks);
    const cells = Array.from(graph.cell.subarray(first, first + count), (cell) => image[cell]);
    return { first, count, mover: graph.ply[row] & 1, cells };
  }

  /** A box's chances, by edge; null for other learners. */
  #shares({ first, count, mover }) {
    return this.learner.chances?.(first, count, mover) ?? null;
  }

  /** The cells that may be played, undefined for resigning; of a box those with beads. */
  candidates(marks) {
    const edges = this.#edges(marks), shares = this.#shares(edges);
    const set = shares ? 0 : this.learner.candidates(edges.first, edges.count, edges.mover);
    return edges.cells.filter((_, i) => (shares ? shares[i] > 0 : (set >> i) & 1));
  }

  /** Return the probability of each candidate; null if all are equal. */
  chances(marks) {
    return this.#shares(this.#edges(marks))?.filter((share) => share > 0) ?? null;
  }

  moveValues(marks) {
    const edges = this.#edges(marks), shares = this.#shares(edges);
    const values = new Array(marks.length).fill(null), noBox = shares && Number.isNaN(this.learner.q[edges.first]);
    edges.cells.forEach((cell, i) => {
      if (cell === undefined) return;
      values[cell] = noBox ? NaN : shares ? shares[i] : this.learner.score(edges.first + i, edges.mover);
    });
    return values;
  }
}
