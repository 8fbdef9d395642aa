"use strict";

/*
 * What learns beside the page, so that the page never waits for it: given a function that posts messages, it returns
 * the one that takes them.  In a Web Worker these are `postMessage` and `onmessage`.
 *
 * It takes { kind: "begin", board, settings }, "learn" with { until, pace }, "stop", "write", "read" with { file }, and
 * "teach" with { cells }, a game of a person against boxes; and posts "graph", "state", "file" with { text }, "refused"
 * with { text }.
 */
function learningWorker(post) {
  const CHUNK = 30, BETWEEN = 100, SLOWLY = 300; // milliseconds: at a stretch; between two states; between slow games
  let graph, session, until = 0, pace = null, timer = 0, told = 0;

  const now = () => performance.now();

  /** Post the progress with a copy of the table, which keeps changing here. */
  function tell() {
    told = now();
    const { settings, games, elsewhere, taught, points, learner, self } = session;
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
      boxes: self.boxes,
      running: pace !== null,
    });
  }

  function advance() {
    const slow = pace === "slow";
    if (slow) session.learn(Math.min(session.games + 1, until));
    else session.learn(until, now() + CHUNK, now);
    if (session.games >= until) pace = null;
    if (slow || pace === null || now() - told >= BETWEEN) tell();
    if (pace !== null) timer = setTimeout(advance, slow ? SLOWLY : 0);
  }

  function stop() {
    clearTimeout(timer);
    pace = null;
  }

  const answers = {
    begin({ board, settings }) {
      stop();
      if (!graph) post({ kind: "graph", graph: (graph = graphs.build(board)) });
      session = new sessions.Session(graph, settings);
      tell();
    },
    learn(wanted) {
      stop();
      ({ until, pace } = wanted);
      advance();
    },
    stop() {
      stop();
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
