"use strict";

/*
 * Below the board: after a game its review and a slider that goes through it again, at any time a link to what is seen.
 */
const after = (() => {
  const { NAMES, element, make, nameOf } = parts;

  function resultText({ result, plies }) {
    return result === 0 ? "draw" : `${hints.WORDS[result]} in ${plies}`;
  }

  /** A slip as a list item. */
  function draw(board, { ply, cell, before, after: led, better }, person) {
    const who = 1 + (ply % 2) === person ? "you" : "the agent";
    const cells = better.map((one) => `${nameOf(board, one.cell)} (${resultText(one)})`);
    const move = cell === undefined ? "resigns" : nameOf(board, cell);
    return make("li", "", make("b", "", `${NAMES[1 + (ply % 2)]} ${move}`),
      ` (${who}): ${hints.WORDS[before]} → ${resultText(led)}. Better: ${cells.join("; ")}.`);
  }

  /** Show what belongs to a match; it is hidden until the game is over. */
  function show(match) {
    const { agent, moves, given, person, turn } = match;
    const over = turn === "over" && moves.length > given;
    element("after").hidden = !over;
    if (!over) return;
    const slider = element("replay");
    [slider.min, slider.max] = [given, moves.length];
    if (!agent.solution) {
      element("review").replaceChildren("No review: the board has too many positions to solve.");
      return;
    }
    const found = reviews.slips(agent, moves, given);
    const list = make("ol", "slips");
    found.forEach((slip) => {
      const item = draw(agent.board, slip, person);
      item.value = slip.ply + 1;
      list.append(item);
    });
    element("review").replaceChildren(...(found.length > 0 ? [make("h2", "", "Mistakes found"), list] :
      [make("p", "", "No mistakes found.")]));
  }

  return { show };
})();
