"use strict";

/*
 * Tables as files: the JSON of `export --to json`, with the training settings beside it, so that the page can continue.
 */
const tableFiles = (() => {
  const OUTCOMES = ["unfinished", "first wins", "second wins", "draw"];
  const LARGEST = 1e100; // the largest number that a table may hold, as of `import` (see `runs/options.py`)
  const BOXED = 765; // positions of 3x3 without their images
  const NO_TABLE = "choose one that this page or “ttt-batch export RUN --to json” has written";

  const isObject = (value) => value !== null && typeof value === "object";

  /** A table as text. */
  function write({ graph, learner, settings, games, elsewhere }) {
    const { name, rows, cols, k } = graph.board;
    const learnt = { ...settings, games, ...(elsewhere ? { elsewhere } : {}) };
    const codes = Array.from(graph.code).filter((code) => code >= 0);
    const states = codes.map((code, row) => JSON.stringify(stateOf(graph, learner, code, row)));
    const head = JSON.stringify({ board: name, rows, cols, k, learnt });
    return `${head.slice(0, -1)}, "states": [\n${states.join(",\n")}\n]}\n`;
  }

  function stateOf(graph, learner, code, row) {
    const marks = graphs.marksOf(code), mover = graph.ply[row] & 1, open = row < graph.open;
    const first = open ? graph.firstEdge[row] : 0, count = open ? graph.firstEdge[row + 1] - first : 0;
    const cells = Array.from(graph.cell.subarray(first, first + (open ? graph.legal[row] : 0)));
    const set = open ? learner.candidates(first, count, mover) : 0;
    const q = new Array(graphs.CELLS).fill(null);
    cells.forEach((cell, i) => (q[cell] = learner.score(first + i, mover)));
    const [toFirst, toSecond] = learner.values?.(row) ?? [];
    return {
      code,
      board: marks.map((mark) => ".XO"[mark]).join(""),
      to_move: open ? ["first", "second"][mover] : null,
      outcome: OUTCOMES[graph.outcome[row]],
      ...(learner.values ? { value: { first: toFirst, second: toSecond } } : { q }),
      best: cells.filter((_, i) => (set >> i) & 1),
    };
  }

  /** The session of a table that `write` or the command line has written.  Throws an Error that says what is wrong. */
  function read(text, graph) {
    let whole;
    try {
      whole = JSON.parse(text);
    } catch {
      throw new Error(`it is no JSON; ${NO_TABLE}`);
    }
    const states = whole?.states;
    if (!Array.isArray(states) || states.length === 0 || !states.every(isObject)) {
      throw new Error(`it has no list of states; ${NO_TABLE}`);
    }
    if (typeof whole.board !== "string") throw new Error(`it does not say of which board it is; ${NO_TABLE}`);
    if (whole.board !== graph.board.name) {
      throw new Error(`it is of the board ${whole.board.slice(0, 20)}, and this page learns ${graph.board.name}`);
    }
    const settings = settingsOf(whole.learnt, states, graph.board);
    const session = new sessions.Session(graph, settings, gamesOf(whole.learnt), !isWhole(whole.learnt));
    fill(session.learner, session.graph, states);
    session.points.push(session.point());
    return session;
  }

  /** Return whether a file has all training settings, so that its table can be learnt again. */
  function isWhole(learnt) {
    const names = ["learner", "alpha", "epsilon", "seed", "games"];
    return isObject(learnt) && !learnt.elsewhere && names.every((name) => Object.hasOwn(learnt, name));
  }

  function gamesOf(learnt) {
    const games = learnt?.games ?? 0;
    if (!Number.isSafeInteger(games) || games < 0) throw new Error(`its number of games is damaged; ${NO_TABLE}`);
    return games;
  }

  /** Return the learner that the file names; without a name, the learner whose table it may be. */
  function settingsOf(learnt, states, board) {
    const opposite = ({ value }) => typeof value?.first === "number" && value.second === 0 - value.first;
    // A loss is worth -1, or 0.
    const losing = ({ q }) => Array.isArray(q) && q.some((value) => typeof value === "number" && value < 0);
    const guess = states.length === BOXED ? "menace" : "q" in states[0] ? (states.some(losing) ? "q-learning" : "backward-q") :
      states.every(opposite) ? "td" : "sutton-barto";
    const learner = learnt?.learner ?? guess;
    if (typeof learner !== "string" || !sessions.learnersOf(board).includes(learner)) {
      throw new Error(`its learner is not on this page; ${NO_TABLE}`);
    }
    const { alpha, epsilon, seed, beads, rewards } = { ...sessions.LEARNERS[learner].defaults, seed: "0", ...learnt };
    const boxed = Boolean(sessions.LEARNERS[learner].boxes);
    const inRange = [alpha, epsilon].every(Number.isFinite) && alpha > 0 && alpha <= 1 && epsilon >= 0 && epsilon <= 1;
    const full = !boxed || (Menace.areBeads(beads) && Menace.areRewards(rewards));
    if (!inRange || !full || typeof seed !== "string" || !sessions.isSeed(seed)) {
      throw new Error(`its settings are damaged; ${NO_TABLE}`);
    }
    return { learner, alpha, epsilon, seed, ...(boxed ? { beads, rewards } : {}) };
  }

  /** Fill a learner's table.  Every position must be there once, with a number for each value. */
  function fill(learner, graph, states) {
    const missing = new Set(graph.code.filter((code) => code >= 0));
    for (const [number, state] of states.entries()) {
      if (!missing.delete(state.code)) {
        throw new Error(`state ${number} is of no position of ${graph.board.name}, or there twice; ${NO_TABLE}`);
      }
      const row = graph.rowOf[state.code];
      if (learner.values) {
        fillValues(learner, row, [state.value?.first, state.value?.second].map((one) => numberIn(one, number)), number);
      } else if (row < graph.open) {
        fillMoves(learner, graph, state, row, number);
      }
    }
    if (missing.size > 0) throw new Error(`${missing.size} positions are missing; ${NO_TABLE}`);
  }

  function fillValues(learner, row, values, number) {
    learner.setValues(row, values);
    if (learner.values(row).some((kept, seat) => kept !== values[seat])) {
      throw new Error(`state ${number} has values that are not each other’s negative; td learns no such tables`);
    }
  }

  function fillMoves(learner, graph, { q }, row, number) {
    if (graph.boxes) return fillBox(learner, graph, q, row, number);
    const edges = graph.legal[row];
    if (!Array.isArray(q) || q.filter((one) => one !== null).length !== edges) {
      throw new Error(`state ${number} has not one value for each free cell; this page learns no such tables`);
    }
    for (let edge = graph.firstEdge[row]; edge < graph.firstEdge[row + 1]; edge++) {
      learner.q[edge] = numberIn(q[graph.cell[edge]], number);
    }
  }

  /** Fill the box of a row: all beads of a kind must be as many; what is no box has none. */
  function fillBox(learner, graph, q, row, number) {
    const first = graph.firstEdge[row], kinds = new Map();
    for (let edge = first; edge < first + graph.legal[row]; edge++) {
      const beads = q?.[graph.cell[edge]], child = graph.child[edge];
      if (!learner.isBox(row) ? beads !== null : numberIn(beads, number) < 0 || beads !== (kinds.get(child) ?? beads)) {
        throw new Error(`state ${number} has not the beads of a box; ${NO_TABLE}`);
      }
      kinds.set(child, beads);
      if (learner.isBox(row)) learner.q[edge] = beads;
    }
  }

  function numberIn(value, number) {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new Error(`state ${number} has a value that is no number; this page learns tables with all values`);
    }
    if (Math.abs(value) > LARGEST) {
      throw new Error(`state ${number} has a value beyond ${LARGEST}, the largest that a table may hold`);
    }
    return value;
  }

  return { write, read };
})();
