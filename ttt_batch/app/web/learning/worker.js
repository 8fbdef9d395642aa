"use strict";

/*
 * What learns beside the page, so that the page never waits for it: given a function that posts messages, it returns
 * the one that takes them.  In a Web Worker these are `postMessage` and `onmessage`.
 *
 * It takes { kind: "begin", board, settings }, "learn" with { until, pace, ends, orders }, "stop" with { orders }, "write",
 * "read" with { file }, and "teach" with { cells }, a game of a person against boxes; and posts "graph", "state",
 * "file" with { text }, "refused" with { text }.
 *
 * until: the number of games to stop after.  pace: games a second, Infinity for as many as it can, or "lesson".
 * ends: what else stops it, see `sessions.hasEnded`.  orders: a number that states give back.
 */
function learningWorker(post) {
  const CHUNK = 30, BETWEEN = 95; // milliseconds: at a stretch; between two states
  const posted = new Set(); // graphs, so that the page need not build them
  let graph, session, until = 0, pace = null, ends = null, timer = 0, told = 0, toldOf = 0;
  let ended = false; // whether the last learning was stopped by what `ends` says
  let orders = 0; // the last number of an order that the page has given
  let owed = 0, since = 0; // games that the pace asks for by now; the time of the last look at the clock

  const now = () => performance.now();

  /** Post the progress with a copy of the table, which keeps changing here. */
  function tell() {
    const { settings, games, elsewhere, taught, points, learner, self } = session;
    [told, toldOf] = [now(), games];
    if (!posted.has(session.graph)) post({ kind: "graph", graph: session.graph });
    posted.add(session.graph);
    post({
      kind: "state",
      settings,
      games,
      elsewhere,
      taught,
      points,
      now: points.at(-1)?.games === games ? points.at(-1) : session.point(),
      arrays: learner.arrays.map((array) => array.slice()),
      cells: self.cells,
      exploring: self.exploring,
      updates: learner.updates ?? [],
      boxes: self.boxes,
      running: pace !== null,
      ended,
      orders,
    });
  }

  function advance() {
    const rate = pace === "lesson" ? sessions.lessonPace(session.games) : pace, time = now(), before = session.games;
    // A page in the background may sleep: what it missed beyond a second is not made up for.
    owed = rate === Infinity ? rate : Math.min(owed + (rate * (time - since)) / 1000, Math.max(rate, 1));
    since = time;
    ended = session.learn(Math.min(until, before + Math.floor(owed)), time + CHUNK, now, ends);
    owed -= session.games - before;
    if (ended || session.games >= until) pace = null;
    if (pace === null || (session.games > toldOf && now() - told >= BETWEEN)) tell();
    const wait = rate === Infinity ? 0 : Math.min(BETWEEN, Math.ceil((1000 * Math.max(0, 1 - owed)) / rate));
    if (pace !== null) timer = setTimeout(advance, wait);
  }

  function stop() {
    clearTimeout(timer);
    pace = null;
    ended = false;
  }

  const answers = {
    begin({ board, settings }) {
      stop();
      graph ??= graphs.build(board);
      session = new sessions.Session(graph, settings);
      tell();
    },
    learn(wanted) {
      if (pace === null) [owed, since] = [1, now()]; // the first game at once
      stop();
      ({ until, pace, ends = null } = wanted);
      orders = wanted.orders ?? orders;
      advance();
    },
    stop(wanted) {
      stop();
      orders = wanted.orders ?? orders;
      tell();
    },
    teach({ cells }) {
      stop();
      if (!session.self.teach) return; // another learner has been chosen since
      session.teach(cells);
      tell();
    },
    write() {
      post({ kind: "file", text: tableFiles.write(session) });
    },
    async read({ file }) {
      stop();
      try {
        const read = tableFiles.read(await file.text(), graph);
        stop(); // again: a request to learn may have come while it waited for the file
        session = read;
        tell();
      } catch (error) {
        tell();
        post({ kind: "refused", text: error.message });
      }
    },
  };
  return (message) => answers[message.kind](message);
}
