"use strict";

/*
 * `menace`: a box of beads for each position in which the first player has a choice; a bead is drawn, and after the
 * game the result adds to the beads of its kind, or takes some (see `tabular/menace.py`).  An empty box resigns.
 */
class Menace {
  static defaults = { alpha: 1, epsilon: 0, beads: "4,3,2,1", rewards: "3,1,-1" };
  static scale = { low: 0, high: 1, chance: true };
  static boxes = true;
  static #LEAST = 1e-300; // what resigning scores: above no bead, and below one

  /** beads: of a kind at first, by the moves that the first player has made; rewards: of a win, a draw and a loss. */
  constructor(graph, _alpha, { beads, rewards }) {
    const full = beads.split(",").map(Number), [win, draw, loss] = rewards.split(",").map(Number);
    this.graph = graph;
    this.reward = [0, win, loss, draw]; // by outcome
    this.q = new Float64Array(graph.child.length).fill(NaN);
    for (let row = 0; row < graph.open; row++) {
      if (!this.isBox(row)) continue;
      const first = graph.firstEdge[row], last = graph.firstEdge[row + 1] - 1;
      this.q.fill(full[graph.ply[row] >> 1], first, last);
      this.q[last] = 0;
    }
  }

  /** Return whether a text is whole numbers, one for each pair of limits. */
  static #areWithin(text, limits) {
    const numbers = typeof text === "string" ? text.split(",") : [];
    const within = (number, [low, high]) => /^-?\d{1,7}$/.test(number) && number >= low && number <= high;
    return numbers.length === limits.length && numbers.every((number, i) => within(number, limits[i]));
  }

  /** Return whether a text is beads, or rewards, that the command line takes, too (see `runs/options.py`). */
  static areBeads(text) {
    return Menace.#areWithin(text, new Array(4).fill([1, 1e6]));
  }

  static areRewards(text) {
    return Menace.#areWithin(text, [[0, 1e6], [-1e6, 1e6], [-1e6, 0]]);
  }

  get arrays() {
    return [this.q];
  }

  set arrays([q]) {
    this.q = q;
  }

  isBox(row) {
    return (this.graph.ply[row] & 1) === 0 && this.graph.legal[row] > 1;
  }

  score(edge) {
    return this.q[edge];
  }

  /** Return the probabilities of `count` edges from `first` on: a kind's share of the beads, divided evenly. */
  chances(first, count, mover) {
    const { q, graph: { child } } = this;
    const chance = new Array(count);
    let total = 0;
    for (let i = 0; i < count; i++) {
      let alike = 0;
      for (let j = 0; j < count; j++) if (child[first + j] === child[first + i]) alike++;
      chance[i] = q[first + i] > Menace.#LEAST ? q[first + i] / alike : 0;
      total += chance[i];
    }
    const set = total > 0 ? 0 : this.candidates(first, count, mover);
    return chance.map((share, i) => (total > 0 ? share / total : ((set >> i) & 1) / selfPlay.SIZES[set]));
  }

  /** The kinds with the most beads; without any bead the last edge, to resign. */
  candidates(first, count) {
    const { q, graph: { cell } } = this;
    if (Number.isNaN(q[first])) return (1 << count) - 1;
    let best = -1, set = 0;
    for (let i = 0; i < count; i++) {
      const there = cell[first + i] === graphs.CELLS ? Menace.#LEAST : q[first + i];
      if (there > best) [best, set] = [there, 1 << i];
      else if (there === best) set |= 1 << i;
    }
    return set;
  }

  learn({ rows, edges }, plies) {
    const { q, graph: { child, cell, outcome, firstEdge } } = this;
    const reward = this.reward[outcome[rows[plies]]];
    for (let ply = 0; ply < plies; ply += 2) {
      const row = rows[ply], edge = edges[ply];
      if (!this.isBox(row) || cell[edge] === graphs.CELLS) continue;
      const after = Math.max(q[edge] + reward, 0);
      for (let other = firstEdge[row]; other < firstEdge[row + 1]; other++) {
        if (child[other] === child[edge]) q[other] = after;
      }
    }
  }
}

/*
 * Games of a learner with boxes, first, against random moves: every ply is a draw by chances, as in
 * `training/kernels/sampled.py`.
 */
class BoxPlay {
  constructor(graph, learner, _epsilon, seed, games = 0) {
    this.graph = graph;
    this.learner = learner;
    this.numbers = new random.Numbers(seed, games);
    this.games = games;
    this.game = { rows: new Int32Array(graphs.CELLS + 2), edges: new Int32Array(graphs.CELLS + 1) };
    this.plies = 0;
    this.exploring = 0;
    this.before = new Float64Array(graphs.CELLS + 1); // beads of the kinds drawn, before the last game was learnt from
  }

  play() {
    const { numbers } = this;
    this.#play((first, count, ply) => {
      numbers.draw();
      const chances = ply & 1 ? new Array(count).fill(1 / count) : this.learner.chances(first, count, 0);
      return first + BoxPlay.#drawn(chances, numbers.drawn);
    });
    numbers.next();
  }

  /** Learn from a game that a person has played, by its cells; undefined is to resign. */
  teach(cells) {
    const steps = BoxPlay.steps(this.graph, cells);
    this.#play((_first, _count, ply) => steps[ply].edge);
    this.numbers.next();
  }

  /**
   * The positions of a game, by its cells: row, image, which cell of the board each cell of the row is, and the edge
   * of the move, which the last one has not.
   */
  static steps(graph, cells) {
    const marks = new Array(graphs.CELLS).fill(0);
    return [...cells, null].map((cell, ply) => {
      const row = graphs.rowAt(graph, marks), image = graphs.cellsOf(graph, marks);
      const first = graph.firstEdge[row], last = graph.firstEdge[row + 1];
      if (cell === null) return { row, image };
      marks[cell] = 1 + (ply & 1);
      return { row, image, edge: first + graph.cell.subarray(first, last).findIndex((own) => image[own] === cell) };
    });
  }

  /** Play a game whose edges `choose` gives, and learn from it. */
  #play(choose) {
    const { graph, learner, game: { rows, edges } } = this;
    let row = 0, ply = 0;
    while (row < graph.open) {
      const first = graph.firstEdge[row];
      rows[ply] = row;
      edges[ply] = choose(first, graph.firstEdge[row + 1] - first, ply);
      this.before[ply] = learner.q[edges[ply]];
      row = graph.child[edges[ply++]];
    }
    rows[ply] = row;
    this.plies = ply;
    learner.learn(this.game, ply);
    this.games++;
  }

  /** The first chance up to which all add up to more than a random number, of 53 bits in two parts, as a fraction of 1. */
  static #drawn(chances, [upper, lower]) {
    const reach = ((upper >>> 0) * 2097152 + (lower >>> 11)) / 9007199254740992;
    let total = 0, last = 0;
    for (let i = 0; i < chances.length && total <= reach; i++) {
      if (chances[i] > 0) {
        total += chances[i];
        last = i;
      }
    }
    return last;
  }

  /** The cells of the last game, on one board, but for resigning. */
  get cells() {
    const { graph, game } = this, marks = new Array(graphs.CELLS).fill(0);
    const made = Array.from(game.edges.subarray(0, this.plies)).filter((edge) => graph.cell[edge] < graphs.CELLS);
    return made.map((edge, ply) => {
      const cell = graphs.cellsOf(graph, marks)[graph.cell[edge]];
      marks[cell] = 1 + (ply & 1);
      return cell;
    });
  }

  /** The boxes of the last game: row, edge that was drawn, and the beads of its kind before and after the game. */
  get boxes() {
    const { rows, edges } = this.game;
    const plies = Array.from({ length: this.plies }, (_, ply) => ply).filter((ply) => this.learner.isBox(rows[ply]));
    return plies.map((ply) => ({
      row: rows[ply], edge: edges[ply], before: this.before[ply], after: this.learner.q[edges[ply]],
    }));
  }
}
