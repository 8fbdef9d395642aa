/*
 * Learns without a browser, with the scripts that a page's worker runs, and prints as JSON what came of it.
 *
 *   node drive_learning.mjs PAGE JOBS.json
 *
 * A job is { settings, games } or, to load a file, { text }, and then { more }, games to go on with, or { ends }.  Of a
 * worker it is { settings, games, stopped: true }, { settings, loaded } with the text of a file, or { settings, paces },
 * each for a second by a clock that the worker's own waiting moves on.
 */
import { readFileSync } from "node:fs";
import { argv, stdout } from "node:process";
import { runInThisContext } from "node:vm";

const html = readFileSync(argv[2], "utf8");
const scripts = [...html.matchAll(/<script class="learning">\n([^]*?)<\/script>/g)].map((found) => found[1]);
const names = "{ graphs, judge, sessions, tableFiles, learningWorker }";
const { graphs, judge, sessions, tableFiles, learningWorker } = runInThisContext(`${scripts.join("")}; (${names})`);
const { board } = JSON.parse(/<script type="application\/json" id="data">([^]*?)<\/script>/.exec(html)[1]);
const graph = graphs.build(board);

/** What became of a session, to the bit. */
function told(session) {
  return {
    learner: session.settings.learner,
    games: session.games,
    elsewhere: session.elsewhere,
    arrays: session.learner.arrays.map((array) => Buffer.from(array.buffer).toString("base64")),
    points: [...session.points, session.point()],
    since: judge.unbeatableSince(session.points),
    updates: session.learner.updates,
    cells: session.self.cells,
    text: tableFiles.write(session),
  };
}

function work({ settings, games, text, more = 0, ends = null }) {
  try {
    const session = text === undefined ? new sessions.Session(graph, settings) : tableFiles.read(text, graph);
    session.learn((games ?? session.games) + more, Infinity, () => 0, ends);
    return told(session);
  } catch (error) {
    return { refused: error.message };
  }
}

/** The states that a worker posts while it learns, is told to stop, and goes on. */
async function stopped(settings, games) {
  const posted = [];
  let done;
  const answer = learningWorker((message) => (posted.push(message), done?.()));
  const until = (holds) => new Promise((resolve) => (done = () => holds(posted.at(-1)) && resolve()));
  answer({ kind: "begin", board, settings });
  answer({ kind: "learn", until: games, pace: Infinity });
  answer({ kind: "stop" });
  const { games: before, running } = posted.at(-1);
  const finished = until((message) => message.kind === "state" && message.games === games);
  answer({ kind: "learn", until: games, pace: Infinity });
  if (posted.at(-1).games !== games) await finished;
  const { arrays } = posted.at(-1);
  return { before, running, arrays: arrays.map((array) => Buffer.from(array.buffer).toString("base64")) };
}

/** What a worker holds that was told to read a file and, before it had it, to learn. */
async function loaded(text, settings) {
  const posted = [];
  const answer = learningWorker((message) => posted.push(message));
  let give;
  answer({ kind: "begin", board, settings });
  const reading = answer({ kind: "read", file: { text: () => new Promise((resolve) => (give = resolve)) } });
  answer({ kind: "learn", until: 1_000_000_000, pace: Infinity });
  give(text);
  await reading;
  const { running } = posted.at(-1);
  await new Promise((resolve) => setTimeout(resolve, 50)); // longer than a timer that went on would take
  answer({ kind: "stop" }); // which tells how far it is
  return { running, games: posted.at(-1).games };
}

/** The games that a worker has told of after each second at some paces. */
function paced(paces, settings) {
  const { performance, setTimeout } = globalThis;
  let time = 0, next, games;
  Object.defineProperty(globalThis, "performance", { value: { now: () => time }, configurable: true });
  globalThis.setTimeout = (act, wait) => (next = { act, at: time + wait });
  const answer = learningWorker((message) => (games = message.games));
  answer({ kind: "begin", board, settings });
  const found = paces.map((pace, second) => {
    answer({ kind: "learn", until: 1e9, pace });
    while (next.at < 1000 * (second + 1)) {
      time = next.at;
      next.act();
    }
    time = 1000 * (second + 1);
    return games;
  });
  answer({ kind: "stop" });
  Object.assign(globalThis, { setTimeout });
  Object.defineProperty(globalThis, "performance", { value: performance });
  return found;
}

const jobs = JSON.parse(readFileSync(argv[3], "utf8"));
const found = [];
for (const job of jobs) {
  if (job.paces) found.push(paced(job.paces, job.settings));
  else if (job.stopped) found.push(await stopped(job.settings, job.games));
  else found.push(job.loaded ? await loaded(job.loaded, job.settings) : work(job));
}
stdout.write(JSON.stringify(found));
