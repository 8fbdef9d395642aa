"use strict";

/*
 * `td`: each position of a game, the last first, goes the step size's share of the way to its best child.  One value a
 * position, what it is worth to the first player: a win 1, a draw 0, a loss -1 (see `learners/tabular/td.py`).
 *
 * Every learner without boxes lists in `updates`, if there is a list, how a game changes the values of its moves:
 *   by: the ply of the move; plies: the moves of the game after which the target is seen; to: the edge that has the
 *   target as its value, null for the result; before, target, after: values for who made the move.
 */
class Td {
  static defaults = { alpha: 0.5, epsilon: 0.3 };
  static scale = { low: -1, high: 1 };

  constructor(graph, alpha) {
    this.graph = graph;
    this.alpha = alpha;
    this.value = Float64Array.from(graph.outcome, (outcome) => [0, 1, -1, 0][outcome]);
  }

  get arrays() {
    return [this.value];
  }

  set arrays([value]) {
    this.value = value;
  }

  /** Return the value of a move for its player (0 or 1). */
  score(edge, mover) {
    const value = this.value[this.graph.child[edge]];
    return mover ? 0 - value : value;
  }

  /** The best value after `count` moves from edge `first` on, for who makes them: the highest, or the lowest. */
  #best(first, count, mover) {
    const { value, graph: { child } } = this;
    let best = value[child[first]];
    for (let edge = first + 1; edge < first + count; edge++) {
      const there = value[child[edge]];
      if (mover ? there < best : there > best) best = there;
    }
    return best;
  }

  /** The moves that may be picked: a bit for each of `count` edges from `first` on. */
  candidates(first, count, mover) {
    const { value, graph: { child } } = this;
    const best = this.#best(first, count, mover);
    let set = 0;
    for (let i = 0; i < count; i++) {
      if (value[child[first + i]] === best) set |= 1 << i;
    }
    return set;
  }

  /** Return an update of the position after `ply` moves, for its list. */
  #update(ply, row, before, target) {
    const { value, graph: { child, firstEdge } } = this, sign = ply & 1 ? 1 : -1;
    const to = child.subarray(firstEdge[row]).findIndex((there) => value[there] === target) + firstEdge[row];
    return { by: ply - 1, plies: ply, to, before: sign * before, target: sign * target, after: sign * value[row] };
  }

  /** Learn from a game of `plies` moves: its rows and edges. */
  learn({ rows }, plies) {
    const { value, alpha, graph: { firstEdge } } = this;
    for (let ply = plies - 1; ply >= 0; ply--) {
      const row = rows[ply], first = firstEdge[row], before = value[row];
      const target = this.#best(first, firstEdge[row + 1] - first, ply & 1);
      value[row] += alpha * (target - before);
      if (ply > 0) this.updates?.push(this.#update(ply, row, before, target));
    }
  }

  /** Return the values of a position for the first and the second player, for a file. */
  values(row) {
    return [this.value[row], 0 - this.value[row]];
  }

  /** Take over what `values` gives. */
  setValues(row, [first]) {
    this.value[row] = first;
  }
}
