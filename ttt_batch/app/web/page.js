"use strict";

/*
 * The page: draws the match and passes on what a person does.  All it keeps of its own is which cell has the focus and
 * which hints are shown; after every change it draws everything again, which is cheap for at most 64 cells.
 */
const page = (async () => {
  const { Match, positionAfter, isOpen, landing } = tttBatch;
  const { NAMES, element, make, drawing } = parts;
  const data = JSON.parse(element("data").textContent);
  const { board } = data;
  let { scale } = data;
  // Milliseconds before the agent's move, so that the eye can follow.
  const PAUSE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 350;

  const cells = buildBoard();
  about.describeRun(data);
  let agent;
  try {
    agent = await agents.load(data);
  } catch (error) {
    say("This browser cannot read the page's agent; a newer one can.");
    throw error;
  }
  about.describeAgent(data, agent);
  const match = new Match(agent, document.querySelector("input[name=side]:checked").value);
  let seen = null; // how many moves of a finished game are to be seen again; null: all, as they are
  const shown = { values: agent.hasValues, truth: false };
  element("values").setAttribute("aria-pressed", String(shown.values));
  let focused = Math.floor(board.rows / 2) * board.cols + Math.floor(board.cols / 2);
  let pointed = null; // the cell under the pointer
  let waiting = 0; // the timer of the agent's move
  element("strength").hidden = !agent.hasValues;
  setLevel();
  listen();
  takeSeat();
  proceed();
  followLink();
  return { agent, challenge };

  /** Play against another agent from now on; its scale: see `hints.js`. */
  function challenge(other, itsScale) {
    [agent, match.agent, scale] = [other, other, itsScale];
    element("machine").hidden = !agent.follow;
    element("strength").hidden = !agent.hasValues || Boolean(agent.only);
    if (agent.only) element("level").value = 100;
    match.results = [];
    setLevel();
    takeSeat();
    match.restart();
    proceed();
  }

  /** The side that is left to the person; null if the agent plays in both seats. */
  function sideLeft() {
    return agent.only ? ["second", "first"][agent.only.seat - 1] : null;
  }

  /** Take the side that is left. */
  function takeSeat() {
    const left = sideLeft();
    for (const radio of document.querySelectorAll("input[name=side]")) {
      radio.disabled = left !== null && radio.value !== left;
    }
    if (left !== null) chooseSide(left);
  }

  /** Return whether the agent cannot play against a person on this side, and say so. */
  function refuses(side) {
    const left = sideLeft();
    if (left === null || side === left) return false;
    const { seat, has } = agent.only;
    say(`It has ${has} for the ${["first", "second"][seat - 1]} player alone: you are ${NAMES[3 - seat]}.`);
    return true;
  }

  function say(text) {
    element("status").textContent = text;
  }

  function nameOf(cell) {
    return parts.nameOf(board, cell);
  }

  // --- The board ---------------------------------------------------------------------------------------------------

  /** Make the cells, row by row.  Returns their buttons. */
  function buildBoard() {
    const grid = element("board");
    grid.setAttribute("aria-label", `Board of ${board.rows} rows and ${board.cols} columns`);
    grid.style.setProperty("--cols", board.cols);
    grid.style.setProperty("--rows", board.rows);
    const made = [];
    for (let row = 0; row < board.rows; row++) {
      const line = make("div", "row");
      line.setAttribute("role", "row");
      for (let col = 0; col < board.cols; col++) {
        const button = make("button", "cell");
        button.type = "button";
        const holder = make("div", "holder", button);
        holder.setAttribute("role", "gridcell");
        line.append(holder);
        made.push(button);
      }
      grid.append(line);
    }
    return made;
  }

  /** Draw the match as it is. */
  function draw() {
    const moves = match.moves.slice(0, seen ?? match.moves.length);
    const { marks, won, forfeited, outcome } = positionAfter(board, moves);
    const turn = match.turn;
    const last = moves.at(-1);
    const wanted = agent.only && !shown.truth ? [] : turn === "you" || (seen !== null && !outcome) ? hintsFor(marks, moves) : [];
    document.body.dataset.turn = turn;
    cells.forEach((button, cell) => {
      const mark = marks[cell];
      const to = turn === "you" ? landing(board, marks, cell) : undefined;
      const free = to === cell;
      const hint = wanted[cell];
      button.querySelector(".hint")?.remove();
      // Under the mouse a free cell shows what a click would draw.
      const face = mark ? `${NAMES[mark]} here` : free && !hint ? `maybe ${NAMES[match.person]}` : "";
      button.style.setProperty("--fall", board.gravity ? Math.floor(cell / board.cols) + 1 : 0); // rows
      if (button.dataset.face !== face) { // a mark that is there stays, or it would be drawn again before one's eyes
        button.dataset.face = face;
        button.replaceChildren(...(face ? [drawing(mark || match.person)] : []));
      }
      if (hint) button.append(hints.draw(hint, scale));
      const lit = board.gravity && to !== undefined && pointed !== null && (pointed - cell) % board.cols === 0;
      button.classList.toggle("lit", lit);
      button.classList.toggle("won", won.includes(cell));
      button.classList.toggle("last", cell === last && !forfeited);
      button.classList.toggle("forfeit", cell === last && forfeited);
      const tint = hint ? hints.tint(hint, scale) : null;
      button.dataset.tint = tint ? tint.kind : "";
      button.style.setProperty("--tint", tint ? tint.share : "0%");
      button.dataset.truth = hint?.truth ? hints.WORDS[hint.truth.result] : "";
      button.tabIndex = cell === focused ? 0 : -1;
      button.setAttribute("aria-disabled", String(to === undefined));
      const extras = [hint && hints.spoken(hint, scale), won.includes(cell) && "in the completed line"].filter(Boolean);
      button.setAttribute("aria-label", [`${nameOf(cell)}, ${NAMES[mark]}`, ...extras].join(", "));
    });
    for (const result of ["you", "draw", "agent"]) element(`score-${result}`).textContent = match.count(result);
    element("undo").setAttribute("aria-disabled", String(!match.canUndo));
    element("link").href = `#${links.textOf(board, marks)}`;
    if (agent.at) card.show(agent, moves, turn === "over");
    agent.follow?.(match.moves);
    element("legend").replaceChildren(...hints.legend({ ...shown, values: shown.values && !agent.only }, agent.hasValues, scale));
  }

  /** For each free cell what is to be shown of it; nothing where no hints are wanted. */
  function hintsFor(marks, moves) {
    if (!shown.values && !shown.truth) return [];
    const told = shown.values && !agent.only; // which has boxes or cards for its own moves alone
    const values = told && agent.hasValues ? agent.moveValues(marks) : [];
    const chosen = told ? agent.candidates(marks) : [];
    const truths = shown.truth ? agent.solution.trueMoves(moves) : [];
    return marks.map((_, cell) =>
      isOpen(board, marks, cell) ? { value: values[cell], chosen: chosen.includes(cell), truth: truths[cell] } : null);
  }

  // --- The course of a game ----------------------------------------------------------------------------------------

  /** Return the text after a move of the agent or at the start: who moves, or how it ended. */
  function news(reply) {
    const you = `You are ${NAMES[match.person]}.`;
    if (match.moves.length === 0) return `${you} ${match.turn === "you" ? "You move" : "The agent moves"} first.`;
    if (match.position.forfeited && reply.cell === undefined) return "The agent’s box is empty: it resigns. You win!";
    if (match.position.forfeited) {
      const why = match.position.marks[reply.cell] === 0 ? "in the air" : "taken";
      return `The agent chose ${nameOf(reply.cell)}, which is ${why}, and forfeits. You win!`;
    }
    const likely = reply?.chance === undefined ? "" : `, with probability ${reply.chance.toFixed(2)}`;
    const equals = reply?.among > 1 ? likely || `, one of ${reply.among} equal moves` : "";
    const played = reply ? `The agent plays ${nameOf(reply.cell)}${equals}. ` : "";
    return played + (match.turn === "over" ? ending() : "Your move.");
  }

  function ending() {
    if (match.result === "draw") return "A draw.";
    const line = board.misere ? ` ${match.result === "you" ? "The agent has" : "You have"} made a line.` : "";
    return (match.result === "you" ? "You win!" : "The agent wins.") + line;
  }

  /** Go on after any change: draw, say what is new, and let the agent move where it is its turn. */
  function proceed(reply) {
    clearTimeout(waiting);
    seen = null;
    draw();
    after.show(match);
    element("replay").value = match.moves.length;
    if (match.turn !== "agent" || match.moves.length === 0) say(news(reply));
    if (match.turn === "over" && match.person === 2 && match.given === 0) agent.finished?.(match.moves);
    // An open box is to be seen before its bead is drawn.
    if (match.turn === "agent") waiting = setTimeout(() => proceed(match.reply()), agent.follow ? 3 * PAUSE : PAUSE);
  }

  function play(cell) {
    if (match.play(cell)) proceed();
    else if (match.turn === "you" && board.gravity) say(`Column ${(cell % board.cols) + 1} is full. Your move.`);
    else if (match.turn === "you") say(`The cell in ${nameOf(cell)} is taken. Your move.`);
    else if (match.turn === "over") say(`${ending()} “New game” begins another.`);
  }

  /** See the finished game as it was after some of its moves. */
  function replay(plies) {
    seen = plies < match.moves.length ? plies : null;
    draw();
    const last = match.moves[plies - 1];
    const what = plies === 0 ? "the empty board" : last === undefined ? "X resigns" : `${NAMES[1 + ((plies - 1) % 2)]} ${nameOf(last)}`;
    element("replay").setAttribute("aria-valuetext", `move ${plies} of ${match.moves.length}: ${what}`);
    element("replayed").textContent = `Move ${plies} of ${match.moves.length}: ${what}`;
  }

  /** Go on from the position in the page's address, if there is one. */
  function followLink() {
    const text = links.textIn(location);
    if (["", "learn"].includes(text) || text === links.textOf(board, match.position.marks)) return;
    const moves = links.movesTo(board, text);
    if (moves === null) {
      const some = board.gravity ? "b-b-a" : board.rows * board.cols <= 9 ? "5-3-1" : "b2-a1";
      const forms = `#${links.textOf(board, cells.map(() => 0))} or #${some}`;
      say(`No game on this board reaches the position of the link, ${text.slice(0, 80)}. Write ${forms}.`);
      return;
    }
    if (refuses(["first", "second"][moves.length % 2])) return;
    match.set(moves);
    match.side = match.person === 1 ? "first" : "second";
    document.querySelector(`input[name=side][value=${match.side}]`).checked = true;
    proceed();
  }

  function setLevel() {
    const level = Number(element("level").value);
    [match.level, match.span] = [level / 100, scale.chance ? null : scale.high - scale.low];
    element("level-text").textContent = level === 100 ? "plays its best" : `${level} of 100 moves are its own`;
  }

  function undo() {
    if (!match.undo()) return;
    proceed();
    say("Taken back. Your move.");
  }

  function restart() {
    match.restart();
    proceed();
  }

  function chooseSide(side) {
    if (refuses(side)) return;
    document.querySelector(`input[name=side][value=${side}]`).checked = true;
    match.choose(side);
    if (side !== "alternate") proceed();
  }

  function toggle(hint) {
    if (hint === "truth" && agent.solution === null) return;
    shown[hint] = !shown[hint];
    element(hint).setAttribute("aria-pressed", String(shown[hint]));
    draw();
  }

  /** Follow the system's look until a person chooses one. */
  function isDark() {
    const chosen = document.documentElement.dataset.look;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function toggleLook() {
    document.documentElement.dataset.look = isDark() ? "light" : "dark";
    showLook();
  }

  function showLook() {
    element("look").setAttribute("aria-pressed", String(isDark()));
  }

  /** Show what a class can read from the last row: the board, large, and what belongs to a game or to learning. */
  function toggleLarge() {
    const { dataset } = document.documentElement, large = dataset.large === undefined;
    if (large) dataset.large = "";
    else delete dataset.large;
    element("large").setAttribute("aria-pressed", String(large));
    dispatchEvent(new Event("resize")); // the curve has another width
  }

  // --- Mouse, touch and keys ---------------------------------------------------------------------------------------

  /** Make a cell the one that the Tab key stops at. */
  function remember(cell) {
    cells[focused].tabIndex = -1;
    focused = cell;
    cells[cell].tabIndex = 0;
  }

  /** The cell that an arrow key leads to from the one in focus; the board's edge stops it. */
  function neighbour(key) {
    const row = Math.floor(focused / board.cols);
    const col = focused % board.cols;
    const within = (number, end) => Math.min(Math.max(number, 0), end - 1);
    switch (key) {
      case "ArrowUp": return within(row - 1, board.rows) * board.cols + col;
      case "ArrowDown": return within(row + 1, board.rows) * board.cols + col;
      case "ArrowLeft": return row * board.cols + within(col - 1, board.cols);
      case "ArrowRight": return row * board.cols + within(col + 1, board.cols);
      case "Home": return row * board.cols;
      case "End": return (row + 1) * board.cols - 1;
      default: return null;
    }
  }

  /** Remember the cell under the pointer, or null, whose column lights up where marks fall. */
  function point(cell) {
    pointed = cell;
    if (board.gravity) draw();
  }

  function onLearn() {
    return document.body.dataset.tab === "learn";
  }

  function listen() {
    const shortcuts = {
      n: restart,
      u: undo,
      v: () => toggle("values"),
      t: () => toggle("truth"),
      s: () => chooseSide(match.person === 1 ? "second" : "first"),
      d: toggleLook,
      p: toggleLarge,
    };
    cells.forEach((button, cell) => {
      button.addEventListener("click", () => play(cell));
      button.addEventListener("focus", () => remember(cell));
      button.addEventListener("pointerenter", () => point(cell));
      button.addEventListener("pointerleave", () => point(null));
    });
    element("board").addEventListener("keydown", (event) => {
      const next = event.altKey || event.ctrlKey || event.metaKey ? null : neighbour(event.key);
      if (next === null) return;
      event.preventDefault();
      cells[next].focus();
    });
    document.addEventListener("keydown", (event) => {
      // On a fresh page nothing has the focus yet: an arrow key then goes to the board instead of scrolling the page.
      const nowhere = document.activeElement === document.body && event.target === document.body;
      if (!nowhere || onLearn() || event.altKey || event.ctrlKey || event.metaKey || neighbour(event.key) === null) return;
      event.preventDefault();
      cells[focused].focus();
    });
    document.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || !element("shortcuts").checked) return;
      const key = event.key.toLowerCase();
      // There the match is out of sight, and letters go to the fields; looks alone are of both tabs.
      if (onLearn() && (!"dp".includes(key) || event.target.matches("[inputmode], select"))) return;
      shortcuts[key]?.();
    });
    element("replay").addEventListener("input", ({ target }) => replay(Number(target.value)));
    element("level").addEventListener("input", setLevel);
    addEventListener("hashchange", followLink);
    element("new").addEventListener("click", restart);
    element("undo").addEventListener("click", undo);
    element("values").addEventListener("click", () => toggle("values"));
    element("truth")?.addEventListener("click", () => toggle("truth"));
    element("look").addEventListener("click", toggleLook);
    element("large").addEventListener("click", toggleLarge);
    for (const radio of document.querySelectorAll("input[name=side]")) {
      radio.addEventListener("change", () => chooseSide(radio.value));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showLook);
    showLook();
  }
})();
