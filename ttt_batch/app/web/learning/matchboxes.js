"use strict";

/*
 * The matchboxes of `menace`: those that the last game went through, and all 304 as a wall that one can look into.
 * Colours and numbers are those of the printed kit (see `kit/boxes.py`).
 */
const matchboxes = (() => {
  const { element, make, NAMES } = parts;
  const COLOURS = ["white", "sky blue", "yellow", "orange", "black", "green", "red", "blue", "pink"];
  let learner = null, rows = [], tiles = [], chosen = 0, seen = "";
  let naming = 0; // the timer of the next tiles to name
  const AT_ONCE = 40;

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

  /** A number of beads that fits a bead. */
  function short(beads) {
    return beads < 1e4 ? beads : beads < 1e6 ? `${Math.round(beads / 1e3)}k` : `${Math.round(beads / 1e6)}M`;
  }

  /** A box with the beads in it; drawn: the cell whose bead was drawn, if any. */
  function draw(row, drawn) {
    const beads = beadsOf(row), picture = make("div", "box");
    picture.setAttribute("role", "img");
    const words = [...beads].map(([cell, count]) => `${COLOURS[cell]} for cell ${cell + 1}: ${count}`);
    picture.setAttribute("aria-label", `${positionText(row)}. ${words.join(", ")}`);
    marksOf(row).forEach((mark, cell) => {
      const bead = beads.has(cell) ? make("i", `bead c${cell}${cell === drawn ? " drawn" : ""}`, short(beads.get(cell))) : "";
      picture.append(make("span", "", mark ? parts.drawing(mark) : bead));
    });
    const title = make("b", "", `Box ${rows.indexOf(row) + 1}`);
    return make("div", "opened", make("p", "", title, ` move ${moveOf(row)}, ${holding(totalOf(row))}`), picture);
  }

  function positionText(row) {
    const words = marksOf(row).flatMap((mark, cell) => (mark ? [`${NAMES[mark]} in cell ${cell + 1}`] : []));
    return words.join(", ") || "empty board";
  }

  /** Return the change of a box by the last game. */
  function drawTaken({ row, edge, before, after }) {
    const { child, cell, firstEdge } = learner.graph;
    let shown = edge;
    while (shown > firstEdge[row] && child.subarray(firstEdge[row], shown).includes(child[edge])) shown--;
    const place = cell[shown], change = Math.round(after - before);
    const changed = change > 0 ? `${change} added` : change < 0 ? `${-change} taken` : "nothing changed";
    const text = place === graphs.CELLS ? "No bead: it resigned." :
      `Drew ${COLOURS[place]} (cell ${place + 1}): ${changed}.`;
    const box = draw(row, place);
    box.append(make("p", "note", text));
    return box;
  }

  /** Make the wall: a grid for each move; one stop for the Tab key, arrow keys move on. */
  function build() {
    const { graph } = learner;
    rows = Array.from({ length: graph.open }, (_, row) => row).filter((row) => learner.isBox(row));
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

  /** Show the boxes of a learner, null for one without; taken: those of the last game, see `BoxPlay`. */
  function show(other, taken = []) {
    learner = other;
    element("boxes").hidden = !learner;
    if (!learner) return;
    if (tiles.length === 0) build();
    clearTimeout(naming);
    nameTiles(0);
    const title = taken.length > 0 ? [make("h4", "", "Of the last game")] : [];
    element("drawn-boxes").replaceChildren(...title, ...taken.map(drawTaken));
    choose(chosen);
  }

  return { show };
})();
