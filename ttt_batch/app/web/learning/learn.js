"use strict";

/*
 * The Learn tab: passes on to the worker what a person wants, and shows what the worker posts.
 */
const learn = (() => {
  const { element, make } = parts;
  const STARTED = "A table without any knowledge. “Learn” begins.";
  const BY_MOST = "So it is if each box plays the kind with the most beads; in a game it draws one.";
  let worker, graph, state, looking, pupil = null, goal = 0, announced = "";

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
    looking = new LookingBoard(element("learn-board"), board, show);
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
    graph: (data) => (graph = data.graph),
    state(data) {
      state = data;
      if (pupil && boxed()) pupil.learner.arrays = data.arrays;
      show();
      if (!data.running) say(fresh() ? STARTED : `Stopped after ${counted(data.games)}.`);
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
    looking.draw(new LearntAgent(graph, state, null));
    element("looking").textContent = looking.text(boxed());
    element("look-back").hidden = looking.moves.length === 0;
    element("learn-settings").disabled = !fresh() || running;
    for (const [name, value] of Object.entries(settings)) if (!fresh()) element(name).value = value;
    element("go").textContent = running ? "Stop" : pace() === "step" ? "Next game" : games > 0 ? "Go on" : "Learn";
    element("command").textContent = origin();
    if (running) say(pace() === "slow" ? "Learning slowly …" : "Learning …");
    showGame();
    matchboxes.show(boxed() ? new LearntAgent(graph, state, null).learner : null, running ? [] : state.boxes);
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
    const { learner, alpha, epsilon, seed } = state.settings, board = graph.board.name;
    const boarding = board === "3x3" ? "" : ` --board ${board}`;
    const numbers = boxed() ? "" : `--alpha ${alpha} --epsilon ${epsilon} `;
    return `ttt-batch train${boarding} --learner ${learner} --batch 1 ${numbers}` +
      `--seed ${seed} --games ${state.games}`;
  }

  /** The last game, where a person has time to look at it. */
  function showGame() {
    const { cells, exploring, running, games } = state;
    const wanted = cells.length > 0 && (!running || pace() === "slow");
    const texts = cells.map((_, ply) => ((exploring >> ply) & 1 ? "explores" : ""));
    element("last-game").replaceChildren(
      ...(wanted ? [make("h3", "", `Game ${games.toLocaleString("en")}`), about.drawGame(graph.board, cells, texts)] : []),
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
      row.cells[2].textContent = seats[seat].response.toFixed(2);
    });
    const place = element("curve");
    if (place.clientWidth > 0) place.replaceChildren(curve.draw(all, place.clientWidth, count));
    element("curve-legend").replaceChildren(...curve.legend(count));
  }

  // --- What a person does ------------------------------------------------------------------------------------------

  function pace() {
    return document.querySelector("input[name=pace]:checked").value;
  }

  /** Put the learner's own numbers into the fields. */
  function suggest() {
    const { defaults: { alpha, epsilon }, boxes } = sessions.LEARNERS[element("learner").value];
    element("alpha").value = alpha;
    element("epsilon").value = epsilon;
    for (const name of ["alpha", "epsilon"]) element(name).disabled = Boolean(boxes);
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
    const seed = field("seed", sessions.isSeed, "no seed; give a whole number of up to 18 digits, such as 7");
    const games = Number(field("games", (value) => /^\d{1,9}$/.test(value) && Number(value) > 0,
      "no number of games; give one from 1 to 999999999").trim());
    return { settings: { learner: element("learner").value, alpha, epsilon, seed }, games };
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

  function go(board) {
    if (state.running) return worker.postMessage({ kind: "stop" });
    withFields(({ settings, games }) => {
      if (fresh()) worker.postMessage({ kind: "begin", board, settings });
      if (pace() !== "step" && state.games >= goal) goal = state.games + games;
      const until = pace() === "step" ? state.games + 1 : goal;
      worker.postMessage({ kind: "learn", until, pace: pace() === "slow" ? "slow" : "fast" });
    });
  }

  function startOver(board) {
    goal = 0;
    worker.postMessage({ kind: "stop" });
    restart(board);
    say(STARTED);
  }

  function listen(board, solution, play) {
    const on = (name, event, act) => element(name).addEventListener(event, act);
    on("learning", "submit", (event) => (event.preventDefault(), go(board)));
    on("learner", "change", () => {
      suggest();
      looking.moves = sessions.LEARNERS[element("learner").value].boxes ? [] : [0];
      restart(board);
    });
    on("again", "click", () => startOver(board));
    on("look-back", "click", () => ((looking.moves = []), show()));
    on("download", "click", () => worker.postMessage({ kind: "write" }));
    on("challenge", "click", () => {
      const agent = new LearntAgent(graph, state, solution);
      if (boxed()) {
        pupil = agent;
        agent.finished = (cells) => worker.postMessage({ kind: "teach", cells });
      }
      play(agent, named());
    });
    on("load", "change", ({ target }) => {
      goal = 0;
      if (target.files.length > 0) worker.postMessage({ kind: "read", file: target.files[0] });
      target.value = "";
    });
    for (const radio of document.querySelectorAll("input[name=pace]")) {
      radio.addEventListener("change", () => {
        if (state.running && radio.value !== "step") {
          worker.postMessage({ kind: "learn", until: goal, pace: radio.value });
        } else if (state.running) {
          worker.postMessage({ kind: "stop" });
        } else {
          show();
        }
      });
    }
    addEventListener("resize", () => state && showJudged());
  }

  function named() {
    const more = boxed() ? "; it learns from yours, too" : "";
    return `${state.settings.learner}, learnt here from ${counted(state.games)}${more}`;
  }

  return { begin, show: () => state && show() };
})();
