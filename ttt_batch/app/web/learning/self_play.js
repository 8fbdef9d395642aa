"use strict";

/*
 * Self-play game by game, each game learnt from before the next: what `train --batch 1` does, number by number
 * (`training/kernels/sequential.py`), without its shortcuts.
 */
const selfPlay = (() => {
  const SIZES = Uint8Array.from({ length: 1024 }, (_, set) => set.toString(2).replaceAll("0", "").length);

  /** The member number `left`, from 0, of a set of bits. */
  function member(set, left) {
    for (; left > 0; left--) set &= set - 1;
    return 31 - Math.clz32(set & -set);
  }

  class SelfPlay {
    /** seed: a BigInt.  games: learnt from before. */
    constructor(graph, learner, epsilon, seed, games = 0) {
      this.graph = graph;
      this.learner = learner;
      this.explorations = new exploration.Explorations(epsilon);
      this.numbers = new random.Numbers(seed, games);
      this.games = games;
      this.game = { rows: new Int32Array(graphs.CELLS + 1), edges: new Int32Array(graphs.CELLS) };
      this.plies = 0; // of the last game
      this.exploring = 0; // its exploratory plies, as bits
    }

    /** Play a game and learn from it.  told: whether the learner lists its updates, see `td.js`. */
    play(told = false) {
      const { graph, learner, numbers, game: { rows, edges } } = this;
      numbers.draw();
      this.exploring = this.explorations.drawn(numbers.drawn);
      let row = 0, ply = 0;
      while (row < graph.open) {
        const first = graph.firstEdge[row];
        const edge = first + this.#choose(first, graph.firstEdge[row + 1] - first, ply);
        rows[ply] = row;
        edges[ply++] = edge;
        row = graph.child[edge];
      }
      rows[ply] = row;
      this.plies = ply;
      learner.updates = told ? [] : null;
      learner.learn(this.game, ply, this.exploring);
      numbers.next();
      this.games++;
    }

    /** Which of `count` moves from edge `first` on is made: a number is drawn only where chance decides. */
    #choose(first, count, ply) {
      if (count === 1) return 0;
      if ((this.exploring >> ply) & 1) return this.numbers.below(count);
      const set = this.learner.candidates(first, count, ply & 1);
      return member(set, SIZES[set] === 1 ? 0 : this.numbers.below(SIZES[set]));
    }

    /** The cells of the last game. */
    get cells() {
      return Array.from(this.game.edges.subarray(0, this.plies), (edge) => this.graph.cell[edge]);
    }
  }

  return { SelfPlay, SIZES };
})();
