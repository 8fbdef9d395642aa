"use strict";

/*
 * Rules, table and match: all that the page knows, without the page itself.
 *
 * Cells count from 0, row by row; a mark is 0 (empty), 1 (X, who moves first) or 2 (O).  The code of a position is the
 * sum of mark * 3 ** cell.  Sets of cells are bits of a number, cell 0 the lowest.
 */
const tttBatch = (() => {
  const UNFINISHED = 0, FIRST_WINS = 1, SECOND_WINS = 2, DRAW = 3;
  const NEVER_SEEN = -32768;

  /** The player (1 or 2) who moves after that many moves. */
  const moverAfter = (plies) => 1 + (plies % 2);

  /**
   * The position after `moves` (cells, in order): its marks, its outcome, the cells of completed lines, and whether
   * the last move went to a taken cell, which forfeits the game.
   */
  function positionAfter(board, moves) {
    const marks = new Array(board.rows * board.cols).fill(0);
    const owned = [0, 0, 0];
    for (const [ply, cell] of moves.entries()) {
      if (marks[cell] !== 0) {
        return { marks, outcome: moverAfter(ply + 1), won: [], forfeited: true };
      }
      marks[cell] = moverAfter(ply);
      owned[marks[cell]] |= 1 << cell;
    }
    let outcome = marks.includes(0) ? UNFINISHED : DRAW;
    let won = 0;
    // A line is completed where one player has all its cells and, on boards that want exactly k, none of its fence.
    for (const [line, fence] of board.lines) {
      for (const player of [1, 2]) {
        if ((owned[player] & (line | fence)) === line) {
          won |= line;
          outcome = board.misere ? 3 - player : player;
        }
      }
    }
    return { marks, outcome, won: cellsIn(won), forfeited: false };
  }

  /** The cells of a set, in order. */
  function cellsIn(set) {
    const cells = [];
    for (let cell = 0; set >> cell; cell++) {
      if ((set >> cell) & 1) cells.push(cell);
    }
    return cells;
  }

  /** The agent: what its table says about any position. */
  class Agent {
    /** Inflate the table that the page carries (see `packing.py`). */
    static async load({ board, table }) {
      const text = atob(table.deflated);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return new Agent(board, table, await new Response(stream).arrayBuffer());
    }

    constructor(board, table, buffer) {
      let start = 0;
      const section = (name) => buffer.slice(start, (start += table.sizes[name]));
      this.board = board;
      this.codes = numbersOfBits(new Uint8Array(section("rows")), table.rows);
      this.sets = new Uint16Array(section("candidates"));
      this.truths = new Int8Array(section("truths"));
      this.values = new Int16Array(section("values"));
      this.step = table.step;
      this.quickest = table.quickest;
      this.hasValues = this.values.length > 0;
      if (this.hasValues) this.firstValue = this.#firstValues();
    }

    /** Where the values of each row begin: a row has one for each free cell. */
    #firstValues() {
      const first = new Uint32Array(this.codes.length + 1);
      const cells = this.board.rows * this.board.cols;
      for (let row = 0; row < this.codes.length; row++) {
        let free = cells;
        for (let code = this.codes[row]; code > 0; code = Math.floor(code / 3)) {
          if (code % 3 !== 0) free--;
        }
        first[row + 1] = first[row] + free;
      }
      return first;
    }

    /**
     * The row of an unfinished position, and which of its cells stands on each cell of the image that the row is for:
     * the image with the lowest code, the first of several.
     */
    #find(marks) {
      let lowest = Infinity, image;
      for (const candidate of this.board.images) {
        let code = 0;
        for (let i = candidate.length - 1; i >= 0; i--) code = 3 * code + marks[candidate[i]];
        if (code < lowest) [lowest, image] = [code, candidate];
      }
      let low = 0, high = this.codes.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.codes[middle] < lowest) low = middle + 1;
        else high = middle;
      }
      if (this.codes[low] !== lowest) throw new Error(`no game reaches position ${lowest}`);
      return { row: low, image };
    }

    /** The cells that the agent may pick, each equally likely; some learners may name a taken one. */
    candidates(marks) {
      const { row, image } = this.#find(marks);
      return cellsIn(this.sets[row]).map((cell) => image[cell]).sort((a, b) => a - b);
    }

    /** What the table gives a move to each cell for the player to move: NaN if never seen, null if taken. */
    moveValues(marks) {
      const { row, image } = this.#find(marks);
      const values = new Array(marks.length).fill(null);
      let next = this.firstValue[row];
      for (const cell of image) {
        if (marks[cell] !== 0) continue;
        const value = this.values[next++];
        values[cell] = value === NEVER_SEEN ? NaN : value * this.step;
      }
      return values;
    }

    /** How the game ends with best play: who wins (1, 2, or 0 for a draw), and after how many plies. */
    truth({ marks, outcome }) {
      const free = marks.filter((mark) => mark === 0).length;
      if (outcome !== UNFINISHED) return { winner: outcome === DRAW ? 0 : outcome, plies: 0 };
      const truth = this.truths[this.#find(marks).row];
      if (truth === 0) return { winner: 0, plies: free };
      return { winner: truth > 0 ? 1 : 2, plies: this.quickest - Math.abs(truth) };
    }

    /**
     * The truth after a move to each cell after `moves`, for who makes it: result 1 (win), 0 or -1 (loss), and plies
     * to the end counted from after the move; null where a cell is taken.
     */
    trueMoves(moves) {
      const mover = moverAfter(moves.length);
      return positionAfter(this.board, moves).marks.map((mark, cell) => {
        if (mark !== 0) return null;
        const { winner, plies } = this.truth(positionAfter(this.board, [...moves, cell]));
        return { result: winner === 0 ? 0 : winner === mover ? 1 : -1, plies };
      });
    }
  }

  /** Int32Array of the numbers whose bits are set, `count` of them. */
  function numbersOfBits(bytes, count) {
    const numbers = new Int32Array(count);
    let found = 0;
    for (let i = 0; i < bytes.length; i++) {
      for (let byte = bytes[i], bit = 0; byte; byte >>= 1, bit++) {
        if (byte & 1) numbers[found++] = 8 * i + bit;
      }
    }
    return numbers;
  }

  /** Games of a person against the agent: whose turn it is, what may be played, and the score. */
  class Match {
    /** side: "first", "second", or "alternate", which changes seats with each new game.  random: as Math.random. */
    constructor(agent, side = "first", random = Math.random) {
      this.agent = agent;
      this.random = random;
      this.side = side;
      this.results = [];
      this.#begin(side === "second" ? 2 : 1);
    }

    #begin(person) {
      this.person = person;
      this.moves = [];
    }

    get position() {
      return positionAfter(this.agent.board, this.moves);
    }

    /** Who is to act: "you", "agent", or "over" if the game has ended. */
    get turn() {
      if (this.position.outcome !== UNFINISHED) return "over";
      return moverAfter(this.moves.length) === this.person ? "you" : "agent";
    }

    /** Who won the finished game: "you", "agent" or "draw". */
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

    /** The person marks a cell.  Returns whether that was possible. */
    play(cell) {
      if (this.turn !== "you" || this.position.marks[cell] !== 0) return false;
      this.#move(cell);
      return true;
    }

    /** The agent moves: any of its candidates, each equally likely.  Returns the cell and how many there were. */
    reply() {
      const candidates = this.agent.candidates(this.position.marks);
      const cell = candidates[Math.floor(this.random() * candidates.length)];
      this.#move(cell);
      return { cell, among: candidates.length };
    }

    /** Whether the person has a move to take back. */
    get canUndo() {
      return this.moves.length >= this.person;
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

    /** Choose seats: one of the two begins a new game at once, "alternate" goes on with this one. */
    choose(side) {
      this.side = side;
      if (side !== "alternate") this.#begin(side === "second" ? 2 : 1);
    }
  }

  return { Agent, Match, positionAfter };
})();
