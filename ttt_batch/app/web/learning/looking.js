"use strict";

/*
 * A board to look at a table: each free cell shows what the table gives the move, and a click looks at the position
 * after it.
 */
class LookingBoard {
  /** root: an empty element, which gets the cells; changed: called after each click.  It begins with X in a corner. */
  constructor(root, board, changed) {
    this.board = board;
    this.moves = [0]; // of O's replies all but one lose: values that learning moves
    root.style.setProperty("--cols", board.cols);
    root.style.setProperty("--rows", board.rows);
    this.cells = Array.from({ length: board.rows * board.cols }, (_, cell) => {
      const button = parts.make("button", "cell");
      button.type = "button";
      button.addEventListener("click", () => this.#look(cell, changed));
      return button;
    });
    for (let row = 0; row < board.rows; row++) {
      const cells = this.cells.slice(row * board.cols, (row + 1) * board.cols);
      root.append(parts.make("div", "row", ...cells.map((cell) => parts.make("div", "holder", cell))));
    }
  }

  #look(cell, changed) {
    const { marks, outcome } = tttBatch.positionAfter(this.board, this.moves);
    if (outcome !== tttBatch.UNFINISHED || marks[cell] !== 0) return;
    this.moves = [...this.moves, cell];
    changed();
  }

  /** Return a description of the board.  firstOnly: the table has only the first player's moves. */
  text(firstOnly) {
    const { outcome } = tttBatch.positionAfter(this.board, this.moves);
    if (outcome !== tttBatch.UNFINISHED) return outcome === tttBatch.DRAW ? "A draw." : `${parts.NAMES[outcome]} has won.`;
    const mover = parts.NAMES[tttBatch.moverAfter(this.moves.length)];
    const told = firstOnly && this.moves.length % 2 ? "there are no boxes for its cells" : "what the table gives each cell";
    return `${mover} to move: ${told}. Choose one to look further.`;
  }

  /** Draw what an agent gives the moves. */
  draw(agent) {
    const { marks, outcome, won } = tttBatch.positionAfter(this.board, this.moves);
    const open = outcome === tttBatch.UNFINISHED;
    const told = open && !(agent.only && this.moves.length % 2);
    const values = told ? agent.moveValues(marks) : [], chosen = told ? agent.candidates(marks) : [];
    this.cells.forEach((button, cell) => {
      const hint = open && marks[cell] === 0 ? { value: values[cell], chosen: chosen.includes(cell) } : null;
      const tint = hint && hints.tint(hint, agent.scale);
      const face = hint ? hints.draw(hint, agent.scale) : marks[cell] ? parts.drawing(marks[cell]) : "";
      button.replaceChildren(face);
      button.dataset.tint = tint ? tint.kind : "";
      button.style.setProperty("--tint", tint ? tint.share : "0%");
      button.classList.toggle("won", won.includes(cell));
      button.setAttribute("aria-disabled", String(!hint));
      const spoken = told && hint ? [hints.spoken(hint, agent.scale)] : [];
      const name = [parts.nameOf(this.board, cell), parts.NAMES[marks[cell]], ...spoken];
      button.setAttribute("aria-label", name.join(", "));
    });
  }
}
