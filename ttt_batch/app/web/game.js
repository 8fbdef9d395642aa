"use strict";

/*
 * Rules and match.  Cells count from 0, row by row; a mark is 0 (empty), 1 (X, who moves first) or 2 (O).
 *
 * An agent, of `table.js`, `network.js` or `cards.js`, has
 *   board; hasValues, whether it has values of moves; solution, the truth of `solution.js`, or null if it is not known;
 *   candidates(marks, moves): the cells that it may pick, each equally likely unless `chances` says otherwise; some
 *     learners may name an illegal one, and cards follow the moves;
 *   chances(marks), if it has that: how likely it picks each of these cells, or null where all are equally likely;
 *   only, if it plays in one seat (1 or 2) alone: { seat, has: what it has for that seat };
 *   moveValues(marks): what it gives a move to each cell for the player to move: NaN if never seen, null if taken.
 */
const tttBatch = (() => {
  const UNFINISHED = 0, DRAW = 3; // 1 and 2: that player has won
  const TEMPERATURE = 0.25; // of moves below the agent's strength, as a share of the scale of its values

  /** The player (1 or 2) who moves after that many moves. */
  const moverAfter = (plies) => 1 + (plies % 2);

  /** Whether a cell may be marked: it is free and, where marks fall, the one below it is taken. */
  function isOpen(board, marks, cell) {
    return marks[cell] === 0 && !(board.gravity && marks[cell + board.cols] === 0);
  }

  /** The cell that a mark put on `cell` comes to; undefined if there is no room. */
  function landing(board, marks, cell) {
    if (!board.gravity) return isOpen(board, marks, cell) ? cell : undefined;
    const column = Array.from({ length: board.rows }, (_, row) => row * board.cols + (cell % board.cols));
    return column.find((one) => isOpen(board, marks, one));
  }

  /**
   * The position after `moves` (cells, in order): its marks, its outcome, the cells of completed lines, and whether
   * the last move went to a cell that may not be marked, which forfeits the game.
   */
  function positionAfter(board, moves) {
    const marks = new Array(board.rows * board.cols).fill(0);
    for (const [ply, cell] of moves.entries()) {
      if (!isOpen(board, marks, cell)) {
        return { marks, outcome: moverAfter(ply + 1), won: [], forfeited: true };
      }
      marks[cell] = moverAfter(ply);
    }
    let outcome = marks.includes(0) ? UNFINISHED : DRAW;
    const won = new Set();
    for (const line of board.lines) {
      const player = marks[line.cells[0]];
      if (player === 0 || !isComplete(line, marks, player)) continue;
      line.cells.forEach((cell) => won.add(cell));
      outcome = board.misere ? 3 - player : player;
    }
    return { marks, outcome, won: [...won], forfeited: false };
  }

  /**
   * Whether a player has all cells of a line and, on boards that want exactly k, none of its fence: those that would
   * make it longer.
   */
  function isComplete({ cells, fence }, marks, player) {
    return cells.every((cell) => marks[cell] === player) && !fence.some((cell) => marks[cell] === player);
  }

  /** Which of several has been drawn, by a number from 0 to 1; their chances add up to 1 but for rounding. */
  function picked(chances, drawn) {
    let number = 0;
    for (let left = drawn; number < chances.length - 1 && left >= chances[number]; number++) left -= chances[number];
    return number;
  }

  /**
   * The share of each cell, proportional to exp(value / temperature): as in `compiler/numerics.py`.  A value never seen
   * (NaN) counts like the average of those seen; a taken cell (null) has none.
   */
  function softmax(values, temperature) {
    const seen = values.filter((value) => value !== null && !Number.isNaN(value));
    const average = seen.reduce((sum, value) => sum + value / seen.length, 0);
    const filled = values.map((value) => (value === null ? -Infinity : Number.isNaN(value) ? average : value));
    const highest = Math.max(...filled);
    const weights = filled.map((value) => Math.exp((value - highest) / temperature));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  /** Games of a person against the agent: whose turn it is, what may be played, and the score. */
  class Match {
    /** side: "first", "second", or "alternate", which changes seats with each new game.  random: as Math.random. */
    constructor(agent, side = "first", random = Math.random) {
      this.agent = agent;
      this.span = 1; // between the values of a loss and of a win; null if the agent gives chances instead
      this.level = 1; // the share of moves by the agent's own rule; the others are drawn by its values
      this.random = random;
      this.side = side;
      this.results = [];
      this.#begin(side === "second" ? 2 : 1);
    }

    #begin(person) {
      this.person = person;
      this.moves = [];
      this.given = 0; // moves that were there when the game began
    }

    /** Begin in the position after `moves`, in which the person moves. */
    set(moves) {
      this.#begin(moverAfter(moves.length));
      this.moves = moves;
      this.given = moves.length;
    }

    get position() {
      return positionAfter(this.agent.board, this.moves);
    }

    /** Return who acts next: "you", "agent", or "over" if the game has ended. */
    get turn() {
      if (this.position.outcome !== UNFINISHED) return "over";
      return moverAfter(this.moves.length) === this.person ? "you" : "agent";
    }

    /** Return the result of the finished game: "you", "agent" or "draw". */
    get result() {
      const { outcome } = this.position;
      return outcome === DRAW ? "draw" : outcome === this.person ? "you" : "agent";
    }

    /** Finished games won by "you", by the "agent", or a "draw". */
    count(result) {
      return this.results.filter((one) => one === result).length;
    }

    #move(cell) {
      this.moves = [...this.moves, cell];
      if (this.turn === "over") this.results = [...this.results, this.result];
    }

    /** The person marks a cell, or the one to which the mark falls.  Returns whether that was possible. */
    play(cell) {
      const to = landing(this.agent.board, this.position.marks, cell);
      if (this.turn !== "you" || to === undefined) return false;
      this.#move(to);
      return true;
    }

    /**
     * The agent moves: any of its candidates, each equally likely, or as likely as its chances say.  Returns the cell,
     * how many there were, and how likely it was if they were not equally likely.
     */
    reply() {
      const { marks } = this.position;
      const weakened = this.#weakened();
      const candidates = weakened ?? this.agent.candidates(marks, this.moves);
      const chances = weakened ? null : this.agent.chances?.(marks);
      const drawn = this.random();
      const number = chances ? picked(chances, drawn) : Math.floor(drawn * candidates.length);
      this.#move(candidates[number]);
      const reply = { cell: candidates[number], among: candidates.length };
      return chances ? { ...reply, chance: chances[number] } : reply;
    }

    /** The cell drawn for this move if it is one that the level takes from the agent's rule, else null. */
    #weakened() {
      if (this.level >= 1 || this.random() < this.level) return null;
      const values = this.agent.moveValues(this.position.marks);
      const shares = this.span === null ? values.map((chance) => chance ?? 0) : softmax(values, TEMPERATURE * this.span);
      let left = this.random();
      const drawn = shares.findIndex((share) => (left -= share) < 0);
      return [drawn < 0 ? shares.findLastIndex((share) => share > 0) : drawn]; // shares add up to almost 1
    }

    /** Return whether the user has a move to undo. */
    get canUndo() {
      if (this.turn === "over" && this.agent.finished) return false; // it has learnt from the game
      return this.moves.length > this.given + (moverAfter(this.given) === this.person ? 0 : 1);
    }

    /** Take back the person's last move and what the agent answered; a finished game no longer counts. */
    undo() {
      if (!this.canUndo) return false;
      if (this.turn === "over") this.results = this.results.slice(0, -1);
      const before = this.moves.length - 1;
      this.moves = this.moves.slice(0, moverAfter(before) === this.person ? before : before - 1);
      return true;
    }

    /** Begin a new game; an unfinished one is given up and does not count. */
    restart() {
      this.#begin(this.side === "alternate" ? 3 - this.person : this.person);
    }

    /** Choose seats: one of the two begins a new game at once, "alternate" continues this one. */
    choose(side) {
      this.side = side;
      if (side !== "alternate") this.#begin(side === "second" ? 2 : 1);
    }
  }

  return { UNFINISHED, DRAW, Match, positionAfter, isComplete, isOpen, landing, moverAfter, softmax };
})();
