"use strict";

/*
 * `q-learning`: a value for each move, pulled to the best move at the same player's next turn, or to the result if the
 * game is over by then (see `learners/tabular/q_learning.py`).  A win 1, a draw 0, a loss -1.
 */
class QLearning {
  static defaults = { alpha: 0.1, epsilon: 0.1 };
  static scale = { low: -1, high: 1 };
  static #WORTH = [[0, 1, -1, 0], [0, -1, 1, 0]]; // to each player, by outcome

  constructor(graph, alpha) {
    this.graph = graph;
    this.alpha = alpha;
    this.q = new Float64Array(graph.child.length);
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

  /** The highest value of `count` moves from edge `first` on. */
  #best(first, count) {
    const { q } = this;
    let best = q[first];
    for (let edge = first + 1; edge < first + count; edge++) {
      if (q[edge] > best) best = q[edge];
    }
    return best;
  }

  candidates(first, count) {
    const { q } = this;
    const best = this.#best(first, count);
    let set = 0;
    for (let i = 0; i < count; i++) {
      if (q[first + i] === best) set |= 1 << i;
    }
    return set;
  }

  learn({ rows, edges }, plies) {
    const { alpha, q, graph: { firstEdge, outcome } } = this;
    for (let ply = 0; ply < plies; ply++) {
      let target = QLearning.#WORTH[ply & 1][outcome[rows[plies]]], to = null;
      if (ply + 2 < plies) {
        const next = rows[ply + 2], first = firstEdge[next];
        target = this.#best(first, firstEdge[next + 1] - first);
        to = q.indexOf(target, first);
      }
      const before = q[edges[ply]];
      q[edges[ply]] += alpha * (target - before);
      this.updates?.push({ by: ply, plies: Math.min(ply + 2, plies), to, before, target, after: q[edges[ply]] });
    }
  }
}
