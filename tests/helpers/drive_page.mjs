/*
 * Plays on an exported page without a browser: runs the page's own scripts for rules, agent and match, and prints as
 * JSON what happened.
 *
 *   node drive_page.mjs PAGE          every game that can be played, in both seats
 *   node drive_page.mjs PAGE GAMES    so many random games in each seat
 *   node drive_page.mjs PAGE FILE     no games: the positions after the moves of a JSON file, a list of cells each
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { argv, cpuUsage, stdout } from "node:process";
import { runInThisContext } from "node:vm";

const html = readFileSync(argv[2], "utf8");
const scripts = [...html.matchAll(/<script(?: class="\w+")?>\n([^]*?)<\/script>/g)].map((found) => found[1]);
const plain = scripts.slice(0, scripts.findIndex((script) => script.includes("document."))); // the others need a browser
const { agents, tttBatch } = runInThisContext(`${plain.join("")}; ({ agents, tttBatch })`);
const { Match, positionAfter, isOpen } = tttBatch;
const data = JSON.parse(/<script type="application\/json" id="data">([^]*?)<\/script>/.exec(html)[1]);

/** Seconds of the processor: those of the clock belong to other programs, too. */
const spent = () => (({ user, system }) => (user + system) / 1e6)(cpuUsage());

const started = spent();
const agent = await agents.load(data);
const seconds = spent() - started;

/** What the page says of each position met, by its marks. */
const positions = {};

function record({ moves }) {
  const { marks, outcome } = positionAfter(data.board, moves);
  const key = marks.map((mark) => ".XO"[mark]).join("");
  positions[key] ??= outcome ? { outcome } : {
    candidates: agent.candidates(marks),
    chances: agent.chances?.(marks) ?? null,
    values: agent.hasValues ? agent.moveValues(marks).map((value) => (Number.isNaN(value) ? "never" : value)) : null,
    truths: agent.solution?.trueMoves(moves) ?? null,
  };
}

/** How often a random game's first move of the agent was each cell. */
const openings = new Array(data.board.rows * data.board.cols).fill(0);

let random; // what the agent draws next
const chance = () => random;

/** What has to be drawn for candidate `i`. */
function drawing(i, candidates, chances) {
  if (!chances) return (i + 0.5) / candidates.length;
  return chances.slice(0, i).reduce((sum, chance) => sum + chance, chances[i] / 2);
}

/** Every game from here, where it is the person's turn or over; the match is as before afterwards. */
function explore(match, tally) {
  if (match.turn === "over") {
    tally[match.result]++;
    return;
  }
  record(match);
  const before = [...match.moves];
  match.position.marks.forEach((_, cell, marks) => {
    const open = isOpen(data.board, marks, cell);
    if (!open && data.board.gravity) return; // a tap stands for its column
    assert.equal(match.play(cell), open);
    if (!open) return;
    if (match.turn === "over") {
      tally[match.result]++;
    } else {
      record(match);
      const candidates = agent.candidates(match.position.marks);
      const chances = agent.chances?.(match.position.marks);
      candidates.forEach((candidate, i) => {
        if (i > 0) match.play(cell);
        random = drawing(i, candidates, chances);
        const likely = chances ? { chance: chances[i] } : {};
        assert.deepEqual(match.reply(), { cell: candidate, among: candidates.length, ...likely });
        explore(match, tally);
        match.undo();
      });
      return;
    }
    match.undo();
    assert.deepEqual(match.moves, before);
  });
}

/** Every game in a seat. */
function exhaust(side) {
  const tally = { you: 0, draw: 0, agent: 0 };
  const match = new Match(agent, side, chance);
  let kept = 0; // games that the agent's first move ended, which leave nothing to take back
  const openings = match.turn === "agent" ? agent.candidates(match.position.marks) : [null];
  openings.forEach((opening, i) => {
    match.restart();
    if (opening !== null) {
      record(match);
      random = drawing(i, openings, agent.chances?.(match.position.marks));
      assert.equal(match.reply().cell, opening);
    }
    if (match.turn === "over") kept++;
    explore(match, tally);
    assert.equal(match.results.length, kept); // all other games were taken back
  });
  return tally;
}

/** Random games in a seat, always the same ones. */
function sample(side, games) {
  let state = 1;
  const draw = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const match = new Match(agent, side, draw);
  for (let game = 0; game < games; game++) {
    match.restart();
    while (match.turn !== "over") {
      record(match);
      if (match.turn === "agent") {
        const { cell } = match.reply();
        if (match.moves.length === 1) openings[cell]++;
      } else {
        const { marks } = match.position;
        const free = marks.flatMap((_, cell) => (isOpen(data.board, marks, cell) ? [cell] : []));
        match.play(free[Math.floor(draw() * free.length)]);
      }
    }
  }
  return Object.fromEntries(["you", "draw", "agent"].map((result) => [result, match.count(result)]));
}

/** Every position of the file.  Returns the processor's seconds for each. */
function look(file) {
  const all = JSON.parse(readFileSync(file, "utf8"));
  const began = spent();
  for (const moves of all) record({ moves });
  return { each: (spent() - began) / all.length };
}

const isFile = argv[3]?.endsWith(".json");
const play = argv[3] ? (side) => sample(side, Number(argv[3])) : exhaust;
// The agent is second where the person is first.
const tallies = isFile ? look(argv[3]) : { second: play("first"), first: play("second") };
stdout.write(JSON.stringify({ seconds, tallies, positions, openings, step: agent.step }));
