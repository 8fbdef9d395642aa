"use strict";

/*
 * `backward-q`: a value for each move, pulled to that of the same player's next move in the game; the last move but one
 * is set to the result (see `learners/tabular/backward_q.py`).  A win 1, a draw 0.5, a loss 0.
 */
class BackwardQ {
  static defaults = { alpha: 0.1, epsilon: 0.3 };
  static scale = { low: 0, high: 1 };
  static #WINDOW = 0.01; // moves this close to the best may be picked
  static #WORTH = [[0.5, 1, 0, 0.5], [0.5, 0, 1, 0.5]]; // to each player, by outcome

  constructor(graph, alpha) {
    this.graph = graph;
    this.alpha = alpha;
    this.q = new Float64Array(graph.child.length);
    for (let row = 0; row < graph.open; row++) {
      const worth = BackwardQ.#WORTH[graph.ply[row] & 1];
      for (let edge = graph.firstEdge[row]; edge < graph.firstEdge[row + 1]; edge++) {
        this.q[edge] = worth[graph.outcome[graph.child[edge]]];
      }
    }
  }

  get arrays() {
    return [this.q];
  }

  set arrays([q]) {
    this.q = q;
  }

  score(edge) {
    return this.q[edge];
  }

  candidates(first, count) {
    const { q } = this;
    let best = q[first], set = 0;
    for (let edge = first + 1; edge < first + count; edge++) {
      if (q[edge] > best) best = q[edge];
    }
    const limit = best - BackwardQ.#WINDOW;
    for (let i = 0; i < count; i++) {
      if (q[first + i] > limit) set |= 1 << i;
    }
    return set;
  }

  learn({ rows, edges }, plies) {
    const { alpha, q } = this;
    let ahead = q[edges[plies - 1]]; // what the later moves of the same player are worth, and of the other
    let other = BackwardQ.#WORTH[plies & 1][this.graph.outcome[rows[plies]]];
    this.updates?.push({ by: plies - 2, plies, to: null, before: q[edges[plies - 2]], target: other, after: other });
    q[edges[plies - 2]] = other;
    for (let ply = plies - 3; ply >= 0; ply--) {
      const edge = edges[ply];
      const before = q[edge];
      q[edge] += alpha * (ahead - before);
      this.updates?.push({ by: ply, plies: ply + 2, to: edges[ply + 2], before, target: ahead, after: q[edge] });
      [ahead, other] = [other, q[edge]];
    }
  }
}
