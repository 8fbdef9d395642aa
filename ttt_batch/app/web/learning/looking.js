"use strict";

/*
 * A board to look at a table: each free cell shows what the table gives the move, and a click looks at the position
 * after it.
 */
class LookingBoard {
  /** root: an empty element, which gets the cells; changed: called after each click.  It begins with the empty board. */
  constructor(root, board, changed) {
    this.board = board;
    this.moves = [];
    this.root = root;
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

  /** Return a description of the board.  scale: of the values; firstOnly: the table has the first player's moves alone. */
  text(scale, firstOnly) {
    const { outcome } = tttBatch.positionAfter(this.board, this.moves);
    if (outcome !== tttBatch.UNFINISHED) return outcome === tttBatch.DRAW ? "A draw." : `${parts.NAMES[outcome]} has won.`;
    const mover = parts.NAMES[tttBatch.moverAfter(this.moves.length)];
    if (firstOnly && this.moves.length % 2) return `${mover} to move: it has no boxes. Choose a cell to make the move.`;
    const numbers = scale.chance ? "how likely the table is to make the move" :
      `what the move is worth to ${mover} by the table, from ${scale.low === 0 ? "0" : "−1"} (loss) to 1 (win)`;
    return `${mover} to move. Each number is ${numbers}. Choose a cell to make the move.`;
  }

  /** Draw what an agent gives the moves, or an update instead, as of `film.js`. */
  draw(agent, update = null) {
    const { marks, outcome, won } = tttBatch.positionAfter(this.board, this.moves);
    const open = outcome === tttBatch.UNFINISHED;
    const told = open && !update && !(agent.only && this.moves.length % 2);
    const values = told ? agent.moveValues(marks) : [], chosen = told ? agent.candidates(marks) : [];
    this.cells.forEach((button, cell) => {
      const hint = open && marks[cell] === 0 ? { value: values[cell], chosen: chosen.includes(cell) } : null;
      const tint = told && hint && hints.tint(hint, agent.scale);
      const face = told && hint ? hints.draw(hint, agent.scale) : marks[cell] ? parts.drawing(marks[cell]) : "";
      const [said, ...changed] = update ? LookingBoard.#changed(update, cell) : [];
      button.replaceChildren(face, ...changed);
      button.dataset.role = said ? (cell === update.from ? "from" : "to") : "";
      button.dataset.tint = tint ? tint.kind : "";
      button.style.setProperty("--tint", tint ? tint.share : "0%");
      button.classList.toggle("won", won.includes(cell));
      button.setAttribute("aria-disabled", String(!hint));
      const spoken = said ? [said] : told && hint ? [hints.spoken(hint, agent.scale)] : [];
      const name = [parts.nameOf(this.board, cell), parts.NAMES[marks[cell]], ...spoken];
      button.setAttribute("aria-label", name.join(", "));
    });
    this.root.querySelector(".arrow")?.remove();
    if (update && update.to !== null) this.root.append(this.#arrow(update));
  }

  /** What a cell says of an update, in words and as elements; nothing if it has no part in it. */
  static #changed({ from, to, before, target, after }, cell) {
    const hint = (...lines) => {
      const made = parts.make("span", "hint", ...lines.map((line) => parts.make("span", "", line)));
      made.setAttribute("aria-hidden", "true");
      return made;
    };
    if (cell === from) return [`${before} becomes ${after}`, hint(before, "↓", parts.make("b", "", after))];
    return cell === to ? [`target ${target}`, hint("target", target)] : [];
  }

  /** An arrow from the cell whose value changes to the one of its target. */
  #arrow({ from, to }) {
    const { rows, cols } = this.board, svg = parts.svg("svg", { viewBox: `0 0 ${cols} ${rows}`, class: "arrow", "aria-hidden": "true" });
    const [[x, y], [right, down]] = [from, to].map((cell) => [(cell % cols) + 0.5, Math.floor(cell / cols) + 0.5]);
    const long = Math.hypot(right - x, down - y), [dx, dy] = [(right - x) / long, (down - y) / long];
    const at = (along, aside) => `${x + along * dx - aside * dy} ${y + along * dy + aside * dx}`;
    const tip = long - 0.34;
    svg.append(parts.svg("path", { d: `M${at(0.34, 0)}L${at(tip, 0)}M${at(tip - 0.12, 0.09)}L${at(tip, 0)}L${at(tip - 0.12, -0.09)}` }));
    return svg;
  }
}
