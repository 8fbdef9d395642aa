"use strict";

/*
 * An agent that plays by numbered cards (see `cards.py`).  A cell of a face is "X" or "O"; "*" for the move; the next
 * face and its quarter turns clockwise; a sign; or "".
 */
const agents = (() => {
  const { positionAfter, isOpen } = tttBatch;

  class CardAgent {
    constructor(board, solution, { seat, faces }) {
      this.board = board;
      this.solution = solution;
      this.hasValues = false;
      this.only = { seat, has: "cards" };
      this.faces = new Map(faces.map(({ name, cells }) => [name, cells]));
      this.byMarks = new Map();
      for (const { name } of faces) {
        for (let turns = 0; turns < (board.gravity ? 1 : 4); turns += board.rows === board.cols ? 1 : 2) {
          const laid = this.lay(name, turns);
          if (!this.byMarks.has(laid.marks)) this.byMarks.set(laid.marks, laid);
        }
      }
    }

    /** A face as it lies beside the board after quarter turns clockwise: its cells as one sees them, and its marks. */
    lay(name, turns) {
      let { rows, cols } = this.board;
      let cells = this.faces.get(name);
      for (let turn = 0; turn < turns; turn++) {
        const before = cells, [height, width] = [rows, cols];
        cells = before.map((_, i) => before[(height - 1 - (i % height)) * width + Math.floor(i / height)]);
        [rows, cols] = [width, height];
      }
      cells = cells.map((held) => (Array.isArray(held) ? [held[0], (held[1] + turns) % 4] : held));
      return { name, turns, cells, marks: cells.map((held) => (held === "X" || held === "O" ? held : ".")).join("") };
    }

    /**
     * The card in use after moves, or null; whether the agent's last move, or its next one, is on it; and whether a card
     * said that the agent cannot lose any more.
     */
    at(moves) {
      let [laid, on, safe] = this.only.seat === 2 ? [this.lay("0", 0), true, false] : [null, false, false];
      for (let ply = this.only.seat - 1; ply <= moves.length; ply += 2) {
        const marks = textOf(positionAfter(this.board, moves.slice(0, ply)).marks);
        const told = on && ply > 0 ? laid.cells[moves[ply - 1]] : "";
        safe ||= told === "☺";
        const next = Array.isArray(told) ? this.lay(...told) : this.byMarks.get(marks);
        on = next?.marks === marks && (ply === moves.length || next.cells[moves[ply]] === "*");
        if (on) laid = next;
      }
      return { laid, on, safe };
    }

    /** The move of the card in use; any free cell where none is.  moves: those of the game, if they are known. */
    candidates(marks, moves) {
      const { laid, on } = moves ? this.at(moves) : { laid: this.byMarks.get(textOf(marks)), on: true };
      const own = on && laid ? laid.cells.indexOf("*") : -1;
      return own >= 0 ? [own] : marks.flatMap((_, cell) => (isOpen(this.board, marks, cell) ? [cell] : []));
    }
  }

  function textOf(marks) {
    return marks.map((mark) => ".XO"[mark]).join("");
  }

  /** The agent of a page. */
  async function load(data) {
    const found = await sections.inflate(data.sections);
    const solution = data.solution ? new solutions.Solution(data.board, data.solution, found) : null;
    return new CardAgent(data.board, solution, data.cards);
  }

  return { load };
})();
