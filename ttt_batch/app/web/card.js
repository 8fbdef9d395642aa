"use strict";

/*
 * The card in use, beside the board, as a player with cards would lay it.
 */
const card = (() => {
  const { element, make, drawing } = parts;
  const MEANINGS = { "★": "the agent wins", "=": "a draw", "☺": "the agent cannot lose any more" };
  const panel = make("div", "card");
  document.querySelector(".controls").prepend(panel);
  for (const name of ["values", "about-values", "against"]) element(name).hidden = true;
  element("facts").previousElementSibling.textContent = "Where do the cards come from?";

  /** The name of a face, turned clockwise. */
  function number(name, turns) {
    const made = make("u", "", name);
    made.style.setProperty("--turns", turns);
    return made;
  }

  /** What a cell of the card holds, as an element. */
  function drawn(held, seat) {
    if (held === "*") return make("span", "own", drawing(seat));
    if (held === "X" || held === "O") return make("span", "", drawing("XO".indexOf(held) + 1));
    return make("span", "", ...(Array.isArray(held) ? [number(...held)] : [held]));
  }

  /** Return a line about a game without a card, or about the signs on a card. */
  function said({ laid, on, safe }, over) {
    if (!on && !over) return safe ? "☺ No card is needed: the agent cannot lose any more." : "This position is on no card.";
    return Object.entries(MEANINGS).filter(([sign]) => laid?.cells.includes(sign)).map((one) => one.join(" ")).join(", ");
  }

  /** Show the card in use after some moves of a game, which may be over. */
  function show(agent, moves, over) {
    const use = agent.at(moves);
    const { laid } = use;
    const picture = make("div", "picture", ...(laid?.cells ?? []).map((held) => drawn(held, agent.only.seat)));
    picture.style.setProperty("--cols", agent.board.cols);
    picture.setAttribute("aria-hidden", "true");
    const title = make("h2", "", "Card in use: ", ...(laid ? [number(laid.name, laid.turns)] : ["none"]));
    panel.replaceChildren(title, picture, make("p", "explanation", said(use, over)));
  }

  return { show };
})();
