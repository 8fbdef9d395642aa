"use strict";

/*
 * What the page says of its agent: how good it is, and how it was trained (see `texts.py`).
 */
const about = (() => {
  const { NAMES, element, make, drawing, nameOf } = parts;
  const { positionAfter } = tttBatch;

  /** Show the facts that do not need the agent; about: see `texts.py`. */
  function describeRun({ board, about }) {
    element("introduction").textContent = `${about.introduction} ${about.rules}`;
    element("verdict").textContent = `${about.verdict[0].toUpperCase()}${about.verdict.slice(1)}.`;
    element("proof").textContent = about.proof;
    element("against").textContent = about.against;
    for (const [label, text] of about.facts) {
      element("facts").append(make("div", "", make("dt", "", label), make("dd", "", text)));
    }
    for (const [seat, shares] of Object.entries(about.results)) element("results").append(drawShares(seat, shares));
    for (const [seat, line] of Object.entries(about.losing_line)) {
      if (line) element("beatable").append(drawLine(board, seat, line));
    }
  }

  /** Show the agent's facts: the result of best play, and whether exact results and values are available. */
  function describeAgent({ board }, { solution, hasValues }) {
    if (solution) {
      const { winner, plies } = solution.truth(positionAfter(board, []));
      const seat = winner === 1 ? "first" : "second";
      const end = winner === 0 ? "it is a draw" : `the ${seat} player wins, in ${plies} plies (moves of either player)`;
      element("introduction").append(` With best play on both sides ${end}.`);
    } else {
      for (const name of ["truth", "about-truth"]) element(name).remove();
    }
    if (hasValues) return;
    element("values").firstElementChild.textContent = "Choices";
    element("about-values").textContent =
      "Choices: what the agent may play in your place; its values would make this file too large.";
  }

  /** Wins, draws and losses as a bar, and as text. */
  function drawShares(seat, shares) {
    const bar = make("div", "shares");
    bar.setAttribute("aria-hidden", "true");
    const texts = ["wins", "draws", "loses"].map((word, i) => {
      const part = make("span", ["win", "draw", "loss"][i]);
      part.style.setProperty("flex-grow", shares[i]);
      bar.append(part);
      return `${word} ${(100 * shares[i]).toFixed(1)}\u00a0%`;
    });
    return make("div", "result", make("p", "", make("b", "", `As ${seat}:`), ` ${texts.join(", ")}`), bar);
  }

  /** A game, board by board; texts: what else to say of each move, if anything. */
  function drawGame(board, line, texts = []) {
    const list = make("ol", "line");
    line.forEach((cell, ply) => {
      const { marks } = positionAfter(board, line.slice(0, ply + 1));
      const picture = make("div", "picture");
      picture.style.setProperty("--cols", board.cols);
      picture.setAttribute("aria-hidden", "true");
      marks.forEach((mark, i) => {
        picture.append(make("span", i === cell ? "here" : "", ...(mark ? [drawing(mark)] : [])));
      });
      const said = texts[ply] ? make("small", "", texts[ply]) : "";
      list.append(make("li", "", picture, make("span", "spoken", `${NAMES[1 + (ply % 2)]} ${nameOf(board, cell)}`), said));
    });
    return list;
  }

  /** A game that the agent can lose, under a summary that does not give it away. */
  function drawLine(board, seat, line) {
    const list = drawGame(board, line);
    return make("details", "", make("summary", "", `Show a game that it can lose as ${seat}`), list);
  }

  return { describeRun, describeAgent, drawGame };
})();
