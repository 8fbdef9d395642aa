"use strict";

/*
 * The Learn tab: passes on to the worker what a person wants, and shows what the worker posts.
 */
const learn = (() => {
  const { element, make } = parts;
  const STARTED = "A table that knows nothing yet. “Start” lets it learn.";
  const BY_MOST = "This holds if each box plays its most frequent colour. In a game it draws a bead, and may do worse.";
  const PACES = [0, 1, 3, 10, 30, 100, 1000, Infinity]; // games a second; 0 for a move at a time
  const MOVE = 1000; // milliseconds that a move is seen
  const SEEN = 3; // games a second up to which the last one is shown
  const known = {}; // graphs by whether they are of boxes
  let worker, graph, state, looking, pupil = null, goal = 0, announced = "";
  let film = null, filming = false; // the last game move by move, and whether the next one is to be seen so
  let moving = 0; // the timer of the next move; 0 if a person decides
  let orders = 0, learning = false; // orders to learn and to stop so far; whether the last one was to learn

  function say(text) {
    if (text !== announced) element("learn-status").textContent = announced = text; // a reader says changes alone
  }

  /** Start the worker from this page's own scripts.  solution: the truth of the board.  play: see `page.js`. */
  function begin({ board }, solution, play) {
    const texts = [...document.querySelectorAll("script.learning")].map((script) => script.textContent);
    const source = `${texts.join("")}; onmessage = ((take) => ({ data }) => take(data))(learningWorker(postMessage));`;
    const failed = () => refuse("This browser has no Web Workers, which learning needs. The Play tab works without.");
    if (typeof Worker === "undefined") return failed();
    try {
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    } catch {
      return failed();
    }
    worker.onerror = ({ message }) => {
      if (state) say(`Learning has failed (${message}). “Start over” begins again.`);
      else failed();
    };
    worker.onmessage = ({ data }) => answers[data.kind](data);
    looking = new LookingBoard(element("learn-board"), board, () => {
      const { moves } = looking;
      leaveFilm();
      looking.moves = moves;
      show();
    });
    element("learner").append(...sessions.learnersOf(board).map((name) => new Option(name, name)));
    suggest();
    listen(board, solution, play);
    restart(board);
  }

  function refuse(text) {
    say(text);
    for (const control of element("learning").elements) control.disabled = true;
  }

  const answers = {
    graph: (data) => (known[data.graph.boxes] = data.graph),
    state(data) {
      graph = known[Boolean(sessions.LEARNERS[data.settings.learner].boxes)];
      if (filming && data.games > state.games) {
        film = new Film(new LearntAgent(graph, state, null), data);
        filming = false;
        if (moving) moving = setTimeout(step, MOVE);
      }
      const taught = data.taught > (state?.taught ?? 0);
      state = data;
      if (pupil && boxed()) {
        pupil.told(data, taught);
        if (document.body.dataset.opponent === "learnt") element("opponent-name").textContent = named();
      }
      show();
      if (!data.running && !film) say(stopped());
      dispatchEvent(new CustomEvent("learnt", { detail: data }));
    },
    file({ text }) {
      const link = make("a", "");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = `${state.settings.learner}-${graph.board.name}.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      say(`Saved as ${link.download}. It becomes a run with: ${importing(link.download)}`);
    },
    refused({ text }) {
      say(`This file was not loaded: ${text}.`);
    },
  };

  /** Return why it does not learn now. */
  function stopped() {
    if (fresh()) return STARTED;
    const why = !state.ended ? "." : element("stop").value === "proof" ? ": the first proof." : ": the losses are as few as wanted.";
    return `Stopped after ${counted(state.games)}${why}`;
  }

  function counted(games) {
    return `${games.toLocaleString("en")} ${games === 1 ? "game" : "games"}`;
  }

  function importing(file) {
    const { learner } = state.settings;
    return `ttt-batch import ${file} --learner ${learner} --board ${graph.board.name} --out ${learner}.h5`;
  }

  /** Return whether it learns with boxes, which only the first player has. */
  function boxed() {
    return Boolean(sessions.LEARNERS[state.settings.learner].boxes);
  }

  /** Return whether the table is neither trained nor loaded. */
  function fresh() {
    return state.games === 0 && state.points.length === 0;
  }

  // --- What is shown -----------------------------------------------------------------------------------------------

  /** Show the last state. */
  function show() {
    const { settings, games, running } = state;
    if (film) looking.moves = film.moves;
    const agent = new LearntAgent(graph, state, null);
    looking.draw(film?.agent ?? agent, film?.update);
    element("looking").textContent = film?.update ? "The arrow leads from the move to the target of its value." :
      looking.text(sessions.LEARNERS[settings.learner].scale, boxed());
    element("look-back").hidden = film !== null || looking.moves.length === 0;
    element("learn-settings").disabled = going();
    if (!fresh()) fill(settings);
    element("go").textContent = going() ? "Pause" : games > 0 ? "Go on" : "Start";
    element("command").textContent = origin();
    if (running) say("Learning …");
    if (film) say(`Game ${games.toLocaleString("en")}. ${film.words}`);
    showPace();
    showGame();
    matchboxes.show(boxed() ? agent.learner : null, settings.rewards, running ? [] : state.boxes);
    showJudged();
  }

  /** From how many games the table comes, and the command that makes the same, if there is one. */
  function origin() {
    const { games, elsewhere, taught } = state;
    if (taught) return `${counted(games)} learnt, of which a person has played ${taught.toLocaleString("en")}.`;
    if (elsewhere) return `A table that was loaded${games > 0 ? `, and ${counted(games)} learnt here` : ""}.`;
    return games > 0 ? `${counted(games)} learnt. The same table, byte for byte: ${training()}` : "";
  }

  function training() {
    const { learner, alpha, epsilon, seed, beads, rewards } = state.settings, board = graph.board.name;
    const boarding = board === "3x3" ? "" : ` --board ${board}`;
    const numbers = boxed() ? `--beads ${beads} --rewards ${rewards} ` : `--alpha ${alpha} --epsilon ${epsilon} `;
    return `ttt-batch train${boarding} --learner ${learner} --batch 1 ${numbers}` +
      `--seed ${seed} --games ${state.games}`;
  }

  /** The last game, where a person has time to look at it. */
  function showGame() {
    const { cells, exploring, running, games, updates, settings } = state;
    const wanted = cells.length > 0 && (!running || paceNow() <= SEEN), { scale } = sessions.LEARNERS[settings.learner];
    const texts = cells.map((_, ply) => ((exploring >> ply) & 1 ? ["explores"] : []));
    for (const { by, before, after } of updates) texts[by].push(`${hints.valueText(before, scale)} → ${hints.valueText(after, scale)}`);
    element("last-game").replaceChildren(
      ...(wanted ? [make("h3", "", `Game ${games.toLocaleString("en")}`), about.drawGame(graph.board, cells, texts.map((one) => one.join(", ")))] : []),
    );
  }

  function showJudged() {
    const all = state.now === state.points.at(-1) ? state.points : [...state.points, state.now];
    const { seats } = state.now, count = boxed() ? 1 : 2, since = judge.unbeatableSince(all, count);
    const alone = ["first", "second"].map((seat, i) =>
      `${i >= count ? "not applicable" : seats[i].unbeatable ? "unbeatable" : "can be beaten"} as ${seat}`);
    const text = since === null ? `${alone.join(", ")}.` :
      `unbeatable ${count === 1 ? "as first" : "in both seats"} at every recorded point since game ${since.toLocaleString("en")}.`;
    const drawn = count > 1 ? "" : `${since === null ? "" : " Not applicable as second."} ${BY_MOST}`;
    element("learn-verdict").textContent = text[0].toUpperCase() + text.slice(1) + drawn;
    document.querySelectorAll("#learn tbody tr").forEach((row, seat) => {
      row.hidden = seat >= count;
      row.cells[1].textContent = `${(100 * seats[seat].loss).toFixed(2)}\u00a0%`;
      row.cells[2].textContent = `${(100 * seats[seat].response).toFixed(1)} in 100`;
    });
    const place = element("curve");
    const zoom = document.documentElement.dataset.large === undefined ? 1 : 1.5;
    if (place.clientWidth > 0) place.replaceChildren(curve.draw(all, place.clientWidth / zoom, count));
    element("curve-legend").replaceChildren(...curve.legend(count));
  }

  // --- What a person does ------------------------------------------------------------------------------------------

  /** Return the games a second that are wanted now, 0 for a move at a time. */
  function paceNow() {
    return element("lesson").checked ? sessions.lessonPace(state.games) : PACES[element("pace").value];
  }

  function going() {
    return moving !== 0 || (state.orders === orders ? state.running : learning);
  }

  /** Show the pace as a text; in a lesson the slider goes along. */
  function showPace() {
    const now = paceNow(), rounded = Math.floor(now);
    if (element("lesson").checked) element("pace").value = PACES.findLastIndex((pace) => pace <= now);
    element("pace-text").textContent = now === Infinity ? "as fast as it can" : now === 0 ? "1 move a second" :
      `${counted(rounded)} a second`;
  }

  /** Order the worker to `learn` or to `stop`; until it answers, `going` is what was ordered. */
  function order(kind, how = {}) {
    learning = kind === "learn";
    worker.postMessage({ kind, orders: ++orders, ...how });
  }

  /** Go on as the controls say now. */
  function start({ settings, games, ends }) {
    if (fresh()) worker.postMessage({ kind: "begin", board: graph.board, settings });
    if (state.games >= goal) goal = state.games + games;
    if (paceNow() === 0) return walk();
    leaveFilm();
    order("learn", { until: goal, pace: element("lesson").checked ? "lesson" : paceNow(), ends });
  }

  /** Go on move by move, by itself. */
  function walk() {
    moving = -1; // until the first timer
    step();
  }

  function pause() {
    clearTimeout(moving);
    moving = 0;
    filming = false;
    order("stop");
  }

  function leaveFilm() {
    clearTimeout(moving);
    if (film) looking.moves = [];
    [film, filming, moving] = [null, false, 0];
  }

  /** Show the next move of the film, or learn from another game, to be seen move by move. */
  function step() {
    if (film && !film.ended) {
      film.at++;
      if (moving) moving = setTimeout(step, MOVE);
      return show();
    }
    if (moving && (state.ended || state.games >= goal)) {
      leaveFilm();
      show();
      return say(stopped());
    }
    filming = true;
    learnOne();
  }

  /** Learn from one game. */
  function learnOne() {
    withFields(({ settings, ends }) => {
      if (fresh()) worker.postMessage({ kind: "begin", board: graph.board, settings });
      worker.postMessage({ kind: "learn", until: state.games + 1, pace: Infinity, ends });
    });
  }

  /** Put settings into the fields. */
  function fill(settings) {
    for (const [name, value] of Object.entries(settings)) element(name).value = value;
    const { boxes = false } = sessions.LEARNERS[element("learner").value];
    for (const name of ["alpha", "epsilon"]) element(name).parentElement.hidden = boxes;
    for (const name of ["beads", "rewards"]) element(name).parentElement.hidden = !boxes;
  }

  /** Put the learner's own numbers into the fields. */
  function suggest() {
    fill(sessions.LEARNERS[element("learner").value].defaults);
  }

  /** Return the content of the fields.  Throws an Error with the fault and its field. */
  function wanted() {
    const field = (name, holds, text) => {
      const { value } = element(name);
      if (!holds(value)) throw Object.assign(new Error(`${value || "Nothing"} is ${text}`), { field: name });
      return value;
    };
    const share = (value) => value.trim() !== "" && Number(value) >= 0 && Number(value) <= 1;
    const alpha = Number(field("alpha", (value) => share(value) && Number(value) > 0,
      "no step size; give a number above 0, up to 1, such as 0.1"));
    const epsilon = Number(field("epsilon", share, "no exploration; give a number from 0 to 1, such as 0.3"));
    const { boxes } = sessions.LEARNERS[element("learner").value];
    const own = boxes ? {
      beads: field("beads", Menace.areBeads, "not four numbers of beads; give them from 1 to 1000000, such as 4,3,2,1"),
      rewards: field("rewards", Menace.areRewards,
        "not three rewards; a win adds at least 0, a loss at most 0, as in 3,1,-1"),
    } : {};
    const seed = field("seed", sessions.isSeed, "no seed; give a whole number of up to 18 digits, such as 7");
    const games = Number(field("games", (value) => /^\d{1,9}$/.test(value) && Number(value) > 0,
      "no number of games; give one from 1 to 999999999").trim());
    const stop = element("stop").value;
    const loss = stop !== "loss" ? null : Number(field("loss", (value) => Number(value) > 0 && Number(value) <= 100,
      "no share of lost games; give per cent above 0, up to 100, such as 5"));
    const ends = loss === null ? stop || null : loss / 100;
    return { settings: { learner: element("learner").value, alpha, epsilon, seed, ...own }, games, ends };
  }

  /** Do something with what the fields hold, or say what is wrong with them. */
  function withFields(act) {
    try {
      act(wanted());
    } catch (error) {
      if (!error.field) throw error;
      say(`${error.message}.`);
      element(error.field).focus();
    }
  }

  function restart(board) {
    withFields(({ settings }) => worker.postMessage({ kind: "begin", board, settings }));
  }

  function startOver(board) {
    goal = 0;
    leaveFilm();
    restart(board);
    say(STARTED);
  }

  /** Begin again with these settings and learn from so many games at the pace of a lesson. */
  function present({ settings: given, games }) {
    const settings = { ...sessions.LEARNERS[given.learner].defaults, ...given };
    fill(settings);
    element("games").value = goal = games;
    element("stop").value = "";
    element("fewer").hidden = element("lesson").checked = true;
    leaveFilm();
    looking.moves = [];
    worker.postMessage({ kind: "begin", board: graph.board, settings });
    order("learn", { until: games, pace: "lesson", ends: null });
  }

  /** After a change of settings ask whether to begin again, and put them back if the answer is no. */
  function change() {
    withFields(({ settings }) => {
      if (JSON.stringify(settings) === JSON.stringify(state.settings)) return;
      const { learner } = state.settings, what = settings.learner === learner ? "these settings" : settings.learner;
      element("question").textContent = `Begin again with ${what}? What ${learner} has learnt here from ` +
        `${counted(state.games)} is lost; “Download” keeps it.`;
      element("ask").showModal();
    });
  }

  function listen(board, solution, play) {
    const on = (name, event, act) => element(name).addEventListener(event, act);
    on("learning", "submit", (event) => {
      event.preventDefault();
      if (going()) pause();
      else withFields(start);
      show();
    });
    on("one-move", "click", () => {
      if (going()) pause();
      step();
    });
    on("one-game", "click", () => {
      if (going()) pause();
      leaveFilm();
      learnOne();
    });
    on("learner", "change", () => {
      suggest();
      if (fresh()) restart(board);
    });
    on("learn-settings", "change", () => fresh() || change());
    on("ask-yes", "click", () => {
      element("ask").close();
      startOver(board);
    });
    on("ask-no", "click", () => {
      element("ask").close();
      show(); // with the table's own settings
    });
    on("ask", "cancel", show);
    on("stop", "change", ({ target }) => (element("fewer").hidden = target.value !== "loss"));
    on("again", "click", () => startOver(board));
    on("look-back", "click", () => ((looking.moves = []), show()));
    on("download", "click", () => worker.postMessage({ kind: "write" }));
    on("challenge", "click", () => {
      const agent = new LearntAgent(graph, state, solution);
      if (boxed()) pupil = atTheTable(agent);
      play(agent, named());
    });
    on("load", "change", ({ target }) => {
      goal = 0;
      leaveFilm();
      looking.moves = [];
      if (target.files.length > 0) worker.postMessage({ kind: "read", file: target.files[0] });
      target.value = "";
    });
    const repace = () => {
      if (going()) {
        pause();
        withFields(start);
      }
      show();
    };
    on("pace", "input", () => {
      element("lesson").checked = false;
      repace();
    });
    on("lesson", "change", repace);
    addEventListener("resize", () => state && showJudged());
  }

  /** Return a machine of boxes that shows them while a person plays against it, and learns from each game. */
  function atTheTable(agent) {
    let now = [], taught = null, changes = null; // moves of the game, and of the last one to learn from; its boxes
    return Object.assign(agent, {
      follow(moves) {
        now = moves;
        matchboxes.follow(agent.learner, moves, moves === taught ? changes : null);
      },
      finished(cells) {
        [taught, changes] = [cells, null];
        worker.postMessage({ kind: "teach", cells });
      },
      told({ arrays, boxes }, isTaught) {
        agent.learner.arrays = arrays;
        if (isTaught) changes = boxes;
        agent.follow(now);
      },
    });
  }

  function named() {
    const more = boxed() ? "; it learns from yours, too" : "";
    return `${state.settings.learner}, learnt here from ${counted(state.games)}${more}`;
  }

  return { begin, present, show: () => state && show() };
})();
