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
     * settings: learner (its name), alpha and epsilon (numbers), seed (text).  games: learnt from before.
     * elsewhere: whether the table is not known to come from such games alone.
     */
    constructor(plain, settings, games = 0, elsewhere = false) {
      const { boxes } = LEARNERS[settings.learner], Play = boxes ? BoxPlay : selfPlay.SelfPlay;
      const graph = (this.graph = graphFor(plain, settings.learner));
      this.settings = settings;
      this.elsewhere = elsewhere;
      this.learner = new LEARNERS[settings.learner](graph, settings.alpha);
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

    #judgeIfDue() {
      if (this.games < this.due) return;
      this.points.push(this.point());
      this.due = judge.pointAfter(this.games);
    }

    /** Learn up to game `until`, or until `now()` has reached `deadline`; points are judged where they are due. */
    learn(until, deadline = Infinity, now = () => 0) {
      while (this.games < until) {
        const last = Math.min(until, this.due, this.games + AT_ONCE);
        while (this.games < last) this.self.play();
        this.#judgeIfDue();
        if (now() >= deadline) return;
      }
    }
  }

  return { LEARNERS, Session, graphFor, learnersOf, isSeed };
})();
