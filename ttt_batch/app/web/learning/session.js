"use strict";

/*
 * One learning: a learner with its settings, how far it is, and the points at which it was judged.
 */
const sessions = (() => {
  const LEARNERS = {
    td: Td, "sutton-barto": SuttonBarto, "backward-q": BackwardQ, "q-learning": QLearning, menace: Menace,
  };
  const AT_ONCE = 64; // games between two looks at the clock

  /** Return whether a text is a seed that the command line takes, too. */
  function isSeed(text) {
    return /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
  }

  const DOUBLES = 5; // seconds in which a lesson doubles its pace

  /** Return the pace of a lesson in games a second: 1 at first, and twice as many every DOUBLES seconds. */
  function lessonPace(games) {
    return 1 + (games * Math.LN2) / DOUBLES;
  }

  /**
   * Return whether a point is the first to be as wanted: the point before, if any, is not.
   * ends: "proof", unbeatable in every seat; or a number, the share of games lost to random moves to be less than.
   */
  function hasEnded(ends, point, before, count) {
    const holds = ({ seats }) => seats.slice(0, count).every((seat) => (ends === "proof" ? seat.unbeatable : seat.loss < ends));
    return ends !== null && holds(point) && !(before && holds(before));
  }

  let boxed; // built once

  /** The graph that a learner learns on. */
  function graphFor(plain, learner) {
    return LEARNERS[learner].boxes ? (boxed ??= graphs.build(plain.board, true)) : plain;
  }

  /** The names of the learners of a board. */
  function learnersOf({ misere }) {
    return Object.keys(LEARNERS).filter((name) => !(misere && LEARNERS[name].boxes));
  }

  class Session {
    /**
     * plain: the graph of the positions.
     * settings: learner (its name), alpha and epsilon (numbers), seed (text); with boxes beads and rewards (texts).  games: learnt from before.
     * elsewhere: whether the table is not known to come from such games alone.
     */
    constructor(plain, settings, games = 0, elsewhere = false) {
      const { boxes } = LEARNERS[settings.learner], Play = boxes ? BoxPlay : selfPlay.SelfPlay;
      const graph = (this.graph = graphFor(plain, settings.learner));
      this.settings = settings;
      this.elsewhere = elsewhere;
      this.learner = new LEARNERS[settings.learner](graph, settings.alpha, settings);
      this.self = new Play(graph, this.learner, settings.epsilon, BigInt(settings.seed), games);
      this.points = [];
      this.taught = 0; // games of a person
      this.due = judge.pointAfter(games);
    }

    get games() {
      return this.self.games;
    }

    /** Judge the table as it is. */
    point() {
      return { games: this.games, seats: judge.judged(this.graph, this.learner) };
    }

    /** Learn from a game of a person against boxes, by its cells. */
    teach(cells) {
      this.self.teach(cells);
      this.elsewhere = true;
      this.taught++;
      this.#judgeIfDue();
    }

    /** Judge the table where that is due.  Returns whether it was. */
    #judgeIfDue() {
      if (this.games < this.due) return false;
      this.points.push(this.point());
      this.due = judge.pointAfter(this.games);
      return true;
    }

    /**
     * Learn up to game `until`, or until `now()` has reached `deadline`; points are judged where they are due.  Returns
     * whether the last point is one at which to stop; ends: see `hasEnded`.
     */
    learn(until, deadline = Infinity, now = () => 0, ends = null) {
      const seats = LEARNERS[this.settings.learner].boxes ? 1 : 2;
      while (this.games < until) {
        const last = Math.min(until, this.due, this.games + AT_ONCE);
        while (this.games < last) this.self.play(this.games + 1 === until);
        if (this.#judgeIfDue() && hasEnded(ends, this.points.at(-1), this.points.at(-2), seats)) return true;
        if (now() >= deadline) return false;
      }
      return false;
    }
  }

  return { LEARNERS, Session, learnersOf, isSeed, lessonPace };
})();
