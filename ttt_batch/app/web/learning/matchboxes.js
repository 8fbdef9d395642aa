"use strict";

/*
 * The matchboxes of `menace`: those that the last game went through, all 304 as a wall that one can look into, and
 * beside the board those that a game with a person opens.  Colours and numbers are those of the printed kit
 * (see `kit.py`).
 */
const matchboxes = (() => {
  const { element, make, NAMES } = parts;
  const COLOURS = ["white", "sky blue", "yellow", "orange", "black", "green", "red", "blue", "pink"];
  let learner = null, rows = [], tiles = [], chosen = 0, seen = "";
  let naming = 0; // the timer of the next tiles to name
  const AT_ONCE = 40;
  const HEAP = [4, 3, 2, 1]; // beads that are drawn of a heap, from the lowest line up

  /** Beads of a box by cell, of one cell of each kind; those of large batches are rounded. */
  function beadsOf(row) {
    const { firstEdge, legal, child, cell } = learner.graph, kinds = new Map();
    for (let edge = firstEdge[row]; edge < firstEdge[row] + legal[row]; edge++) {
      if (!kinds.has(child[edge])) kinds.set(child[edge], [cell[edge], Math.floor(learner.q[edge] + 0.5)]);
    }
    return new Map(kinds.values());
  }

  function moveOf(row) {
    return (learner.graph.ply[row] >> 1) + 1;
  }

  function marksOf(row) {
    return graphs.marksOf(learner.graph.code[row]);
  }

  function counted(beads) {
    return `${beads.toLocaleString("en")} ${beads === 1 ? "bead" : "beads"}`;
  }

  function totalOf(row) {
    return [...beadsOf(row).values()].reduce((sum, beads) => sum + beads, 0);
  }

  function holding(total) {
    return total > 0 ? counted(total) : "empty: it resigns";
  }

  /** A number of beads that fits below its heap. */
  function short(beads) {
    return beads < 1e4 ? beads : beads < 1e6 ? `${Math.round(beads / 1e3)}k` : `${Math.round(beads / 1e6)}M`;
  }

  /** Beads of one kind as a heap, with their number below it; no more are drawn than fit. */
  function heap(cell, beads) {
    const pile = parts.svg("svg", { viewBox: "0 0 44 34", "aria-hidden": "true" });
    let left = beads;
    HEAP.forEach((most, line) => {
      const count = Math.min(left, most);
      left -= count;
      for (let i = 0; i < count; i++) {
        pile.append(parts.svg("circle", { class: `c${cell}`, cx: 22 + 10 * (i - (count - 1) / 2), cy: 28 - 7.5 * line, r: 4.5 }));
      }
    });
    return [pile, make("b", "", short(beads))];
  }

  /** A bead in a line of text. */
  function bead(cell) {
    const svg = parts.svg("svg", { viewBox: "0 0 10 10", class: "bead", "aria-hidden": "true" });
    svg.append(parts.svg("circle", { class: `c${cell}`, cx: 5, cy: 5, r: 4.5 }));
    return svg;
  }

  /**
   * A box with the beads in it.  drawn: the cell whose bead was drawn, if any.  places: where the picture shows each of
   * the box's cells, if it is turned.
   */
  function draw(row, drawn, places = [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
    const beads = beadsOf(row), picture = make("div", "box"), spans = [];
    picture.setAttribute("role", "img");
    const words = [...beads].map(([cell, count]) => `${COLOURS[cell]} for cell ${places[cell] + 1}: ${count}`);
    picture.setAttribute("aria-label", `${positionText(row, places)}. ${words.join(", ")}`);
    marksOf(row).forEach((mark, cell) => {
      const held = mark ? [parts.drawing(mark)] : beads.has(cell) ? heap(cell, beads.get(cell)) : [];
      spans[places[cell]] = make("span", cell === drawn ? "drawn" : "", ...held);
    });
    picture.append(...spans);
    const title = make("b", "", `Box ${numberOf(row)}`);
    return make("div", "opened", make("p", "", title, ` move ${moveOf(row)}, `, make("span", "", holding(totalOf(row)))), picture);
  }

  function numberOf(row) {
    return rows.indexOf(row) + 1;
  }

  function positionText(row, places) {
    const words = marksOf(row).flatMap((mark, cell) => (mark ? [`${NAMES[mark]} in cell ${(places?.[cell] ?? cell) + 1}`] : []));
    return words.join(", ") || "empty board";
  }

  /** Return the box's cell that has the beads of a move's kind. */
  function kindOf(row, edge) {
    const { child, cell, firstEdge } = learner.graph;
    return cell[firstEdge[row] + child.subarray(firstEdge[row], edge + 1).indexOf(child[edge])];
  }

  /**
   * Return a box that a game has opened, with the bead drawn and its change.  edge: undefined before it is drawn.
   * before, after: beads of its kind, undefined before the game is learnt from.  image: see `BoxPlay.steps`; the box
   * is then turned as the board is, with the beads drawn from in the cell that was marked.
   */
  function drawTaken({ row, edge, before, after, image }) {
    const kind = edge === undefined ? undefined : kindOf(row, edge), places = image?.slice();
    if (places && kind < graphs.CELLS) {
      const marked = learner.graph.cell[edge];
      [places[kind], places[marked]] = [places[marked], places[kind]];
    }
    const change = Math.round(after - before);
    const changed = before === undefined ? "" : change > 0 ? `: ${change} added` : change < 0 ? `: ${-change} taken` : ": nothing changed";
    const said = kind === undefined ? ["A bead is drawn …"] : kind === graphs.CELLS ? ["No bead: it resigned."] :
      ["Drew ", bead(kind), `${COLOURS[kind]} (cell\u00a0${(places?.[kind] ?? kind) + 1})${changed}.`];
    const box = draw(row, kind, places);
    box.append(make("p", "note", ...said));
    return box;
  }

  /**
   * Show beside the board the boxes that a game against `machine` has opened, the latest first.  moves: its cells.
   * changes: of the boxes, as of `BoxPlay`, once it was learnt from.
   */
  function follow(machine, moves, changes) {
    learner = machine;
    numberRows();
    const steps = BoxPlay.steps(learner.graph, moves).filter(({ row }) => learner.isBox(row));
    const boxes = steps.map((step, i) => drawTaken({ ...step, ...changes?.[i] }));
    // A reader says the last box, and after the game all.
    element("machine-news").textContent = boxes.slice(changes ? 0 : -1).map(({ firstChild, lastChild }) =>
      `${firstChild.textContent}. ${lastChild.textContent}`).join(" ");
    element("machine-boxes").replaceChildren(...boxes.reverse());
  }

  function numberRows() {
    if (rows.length > 0) return;
    rows = Array.from({ length: learner.graph.open }, (_, row) => row).filter((row) => learner.isBox(row));
  }

  /** Make the wall: a grid for each move; one stop for the Tab key, arrow keys move on. */
  function build() {
    numberRows();
    tiles = rows.map((row, i) => {
      const text = marksOf(row).map((mark) => "·XO"[mark]).join("").replace(/...(?=.)/g, "$&\n");
      const tile = make("button", "tile", make("span", "", text), make("small", "", i + 1));
      tile.type = "button";
      tile.addEventListener("click", () => choose(i));
      return tile;
    });
    const wall = element("wall");
    for (let move = 1; move <= 4; move++) {
      const grid = make("div", "tiles", ...tiles.filter((_, i) => moveOf(rows[i]) === move));
      grid.setAttribute("role", "group");
      grid.setAttribute("aria-label", `Boxes of move ${move}`);
      wall.append(make("h4", "", `Move ${move}`), grid);
    }
    wall.addEventListener("keydown", walk);
  }

  function choose(i) {
    chosen = i;
    tiles.forEach((tile, at) => {
      tile.tabIndex = at === i ? 0 : -1;
      tile.setAttribute("aria-pressed", String(at === i));
    });
    const box = draw(rows[i]), inside = `${i} ${box.lastChild.getAttribute("aria-label")}`;
    if (inside !== seen) element("chosen-box").replaceChildren(box); // a reader says changes alone
    seen = inside;
  }

  /** Go on by an arrow key; up and down to the tile nearest in the next line. */
  function walk(event) {
    const at = tiles.indexOf(event.target), box = event.target.getBoundingClientRect();
    const line = (sign) => tiles.map((tile) => tile.getBoundingClientRect()).reduce((best, { top, left }, i, all) => {
      const beyond = sign * (top - box.top);
      if (beyond < 1) return best;
      const far = (j) => [sign * (all[j].top - box.top), Math.abs(all[j].left - box.left)];
      const [high, wide] = best === at ? [Infinity, 0] : far(best);
      return beyond < high - 1 || (beyond < high + 1 && Math.abs(left - box.left) < wide) ? i : best;
    }, at);
    const moves = {
      ArrowLeft: () => at - 1, ArrowRight: () => at + 1, ArrowUp: () => line(-1), ArrowDown: () => line(1),
      Home: () => 0, End: () => tiles.length - 1,
    };
    if (at < 0 || !Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    const next = Math.min(tiles.length - 1, Math.max(0, moves[event.key]()));
    tiles[at].tabIndex = -1;
    tiles[next].tabIndex = 0;
    tiles[next].focus();
  }

  /** Name the tiles from number `first` on by what their boxes hold, some at a time: the page has other things to do. */
  function nameTiles(first) {
    const last = Math.min(first + AT_ONCE, tiles.length);
    for (let i = first; i < last; i++) {
      const total = totalOf(rows[i]), label = `Box ${i + 1}, ${positionText(rows[i])}, ${holding(total)}`;
      if (tiles[i].title === label) continue;
      tiles[i].title = label;
      tiles[i].setAttribute("aria-label", label);
      tiles[i].classList.toggle("out", total === 0);
    }
    if (last < tiles.length) naming = setTimeout(nameTiles, 0, last);
  }

  /**
   * Show the boxes of a learner, null for one without; rewards: of the learner; taken: the boxes of the last game, see
   * `BoxPlay`.
   */
  function show(other, rewards, taken = []) {
    learner = other;
    element("boxes").hidden = !learner;
    if (!learner) return;
    element("rewarded").textContent = rewardText(rewards);
    if (tiles.length === 0) build();
    clearTimeout(naming);
    nameTiles(0);
    const title = taken.length > 0 ? [make("h4", "", "Of the last game")] : [];
    element("drawn-boxes").replaceChildren(...title, ...taken.map(drawTaken));
    choose(chosen);
  }

  /** Return in words what a game does to the beads that were drawn. */
  function rewardText(rewards) {
    const words = rewards.split(",").map((reward, i) => {
      const what = reward > 0 ? `adds ${reward}` : reward < 0 ? `takes ${-reward}` : "changes nothing";
      return `a ${["win", "draw", "loss"][i]} ${what}`;
    });
    return words.join(", ");
  }

  return { show, follow };
})();
