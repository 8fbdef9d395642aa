"use strict";

/*
 * `sutton-barto`: each player keeps a value for each position, and pulls those of a game, the last first, towards the
 * next one; not where this player itself explored (see `tabular/sutton_barto.py`).  A win 1, a draw 0.5, a loss 0.
 */
class SuttonBarto {
  static defaults = { alpha: 0.1, epsilon: 0.01 };
  static scale = { low: 0, high: 1 };

  constructor(graph, alpha) {
    this.graph = graph;
    this.alpha = alpha;
    const worth = [[0.5, 1, 0, 0.5], [0.5, 0, 1, 0.5]]; // to each player, by outcome
    this.value = worth.map((mine) => Float64Array.from(graph.outcome, (outcome) => mine[outcome]));
  }

  get arrays() {
    return this.value;
  }

  set arrays(value) {
    this.value = value;
  }

  score(edge, mover) {
    return this.value[mover][this.graph.child[edge]];
  }

  candidates(first, count, mover) {
    const value = this.value[mover], { child } = this.graph;
    let best = -Infinity, set = 0;
    for (let i = 0; i < count; i++) {
      const there = value[child[first + i]];
      if (there > best) [best, set] = [there, 1 << i];
      else if (there === best) set |= 1 << i;
    }
    return set;
  }

  learn({ rows, edges }, plies, exploring) {
    const { alpha, value } = this;
    for (let player = 0; player < 2; player++) {
      const own = value[player];
      let after = own[rows[plies]];
      for (let ply = plies - 1; ply >= 0; ply--) {
        const row = rows[ply], masked = (ply & 1) === player && (exploring >> ply) & 1;
        const before = own[row], target = after;
        if (!masked) own[row] += alpha * (target - before);
        after = own[row];
        if (ply > 0 && (ply & 1) !== player) {
          this.updates?.push({ by: ply - 1, plies: ply, to: edges[ply], before, target, after });
        }
      }
    }
  }

  values(row) {
    return this.value.map((own) => own[row]);
  }

  setValues(row, values) {
    this.value.forEach((own, player) => (own[row] = values[player]));
  }
}
