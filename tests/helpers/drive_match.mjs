/*
 * What a page's own scripts make of games and links, without a browser, as JSON.
 *
 *   node drive_match.mjs PAGE JOBS.json
 *
 * A job is { at: moves } for an agent with cards, { review: moves }, { link: text }, { address: { hash, search } }, { softmax: values, temperature }, or { level, games }: so many first
 * moves of the agent at that level.
 */
import { readFileSync } from "node:fs";
import { argv, stdout } from "node:process";
import { runInThisContext } from "node:vm";

const html = readFileSync(argv[2], "utf8");
const scripts = [...html.matchAll(/<script(?: class="\w+")?>\n([^]*?)<\/script>/g)].map((found) => found[1]);
const plain = scripts.slice(0, scripts.findIndex((script) => script.includes("document.")));
const names = "({ agents, tttBatch, links, reviews })";
const { agents, tttBatch, links, reviews } = runInThisContext(`${plain.join("")}; ${names}`);
const data = JSON.parse(/<script type="application\/json" id="data">([^]*?)<\/script>/.exec(html)[1]);
const agent = await agents.load(data);

let state = 1; // always the same draws
const chance = () => (state = (state * 48271) % 2147483647) / 2147483647;

/** What becomes of a link: the position, and what the person has then. */
function follow(text) {
  const moves = links.movesTo(data.board, text);
  if (moves === null) return null;
  const match = new tttBatch.Match(agent, "first", chance);
  match.set(moves);
  const { marks } = match.position;
  return { text: links.textOf(data.board, marks), person: match.person, turn: match.turn, undo: match.canUndo };
}

function openings({ level, games }) {
  const counts = new Array(data.board.rows * data.board.cols).fill(0);
  for (let game = 0; game < games; game++) {
    const match = new tttBatch.Match(agent, "second", chance);
    const { low, high, chance: chances } = data.scale;
    [match.level, match.span] = [level, chances ? null : high - low];
    counts[match.reply().cell]++;
  }
  return counts;
}

/** The cells to which marks fall that are put on these, in turn; false if there is no room. */
function tap(cells) {
  const moves = [];
  return cells.map((cell) => {
    const { marks } = tttBatch.positionAfter(data.board, moves);
    const to = tttBatch.landing(data.board, marks, cell);
    if (to === undefined) return false;
    moves.push(to);
    return to;
  });
}

function work(job) {
  if ("taps" in job) return tap(job.taps);
  if ("at" in job) return agent.at(job.at);
  if ("review" in job) return reviews.slips(agent, job.review);
  if ("link" in job) return follow(job.link);
  if ("address" in job) return links.textIn(job.address);
  if ("softmax" in job) return tttBatch.softmax(job.softmax.map((one) => (one === "never" ? NaN : one)), job.temperature);
  return openings(job);
}

stdout.write(JSON.stringify(JSON.parse(readFileSync(argv[3], "utf8")).map(work)));
