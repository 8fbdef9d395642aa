"use strict";

/*
 * The last game as a film: its moves, and then each value that it has changed, in the order of the learner.
 */
class Film {
  /** agent: with the table from before the game.  state: from after it, as the worker posts it. */
  constructor(agent, { cells, exploring, updates, settings }) {
    this.agent = agent;
    this.cells = cells;
    this.exploring = exploring;
    this.settings = settings;
    this.steps = [...cells.map((_, ply) => ({ plies: ply + 1 })), ...updates.map((update) => ({ plies: update.plies, update }))];
    this.at = 0;
  }

  get ended() {
    return this.at === this.steps.length - 1;
  }

  /** Return the moves on the board. */
  get moves() {
    return this.cells.slice(0, this.steps[this.at].plies);
  }

  /** Return the update to draw: its numbers as texts, and the cells from and to which its arrow goes; or null. */
  get update() {
    const { update } = this.steps[this.at];
    if (!update) return null;
    const { scale, graph } = this.agent, text = (value) => hints.valueText(value, scale);
    const [before, target, after] = [update.before, update.target, update.after].map(text);
    return { from: this.cells[update.by], to: update.to === null ? null : graph.cell[update.to], before, target, after };
  }

  /** Return what happens, in words. */
  get words() {
    const { plies, update } = this.steps[this.at], ply = update ? update.by : plies - 1;
    const move = `${parts.NAMES[1 + (ply & 1)]} in ${parts.nameOf(this.agent.board, this.cells[ply])}`;
    if (!update) return `${move}${(this.exploring >> ply) & 1 ? ", to explore" : ""}.`;
    const { before, target, after, to } = this.update, share = (update.after - update.before) / (update.target - update.before);
    const goal = to === null ? `${target}, the result` : target;
    if (update.before === update.target) return `${move}: ${before} stays, as that is the target.`;
    const way = share > 0.995 ? "all" : Math.abs(share - 0.5) < 0.005 ? "half" : share.toFixed(2);
    return `${move}: ${before} moves ${way} of the way to ${goal}. It is now ${after}.`;
  }
}
