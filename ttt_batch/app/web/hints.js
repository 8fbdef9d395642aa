"use strict";

/*
 * Hints in free cells, for who is to move: what the agent gives the move ({ value }, NaN where it was never seen),
 * whether the agent may play it ({ chosen }), and how the game ends after it with best play ({ truth }).  Nothing is
 * said by colour alone.  scale: the learner's values of a loss (low) and of a win (high); chance: it has no values, and
 * gives how likely it is to make the move.
 */
const hints = (() => {
  const { make } = parts;
  const WORDS = { 1: "win", 0: "draw", "-1": "loss" }; // results for who moves
  const TINT = 26; // per cent of background colour for the best and the worst value, on which every text can be read
  const SIGNS = { 1: "▲", 0: "■", "-1": "▼" };

  function valueText(value, scale) {
    if (Number.isNaN(value)) return "unseen";
    const text = Math.abs(value).toFixed(2);
    const sign = Number(text) === 0 ? "" : value < 0 ? "−" : scale.low < 0 ? "+" : "";
    return sign + text;
  }

  /** A hint as an element. */
  function draw({ value, chosen, truth }, scale) {
    const hint = make("span", "hint");
    hint.setAttribute("aria-hidden", "true"); // the cell's name says it
    if (value !== undefined) {
      hint.append(make("span", "value", valueText(value, scale)));
      const bar = make("span", "bar");
      const share = (value - scale.low) / (scale.high - scale.low);
      bar.style.setProperty("--share", Math.min(1, Math.max(0, share || 0)));
      hint.append(bar);
    }
    if (truth) {
      // Plies to the end, the move itself included; "in" gives way where cells are small.
      const end = truth.result === 0 ? [] : [make("span", "in", " in"), ` ${truth.plies + 1}`];
      hint.append(make("span", "truth", `${SIGNS[truth.result]} ${WORDS[truth.result]}`, ...end));
    }
    if (chosen) hint.append(make("span", "star", "★"));
    return hint;
  }

  /** The background colour of a value and how much of it: a win's above the middle of the scale, a loss's below. */
  function tint({ value }, scale) {
    if (scale.chance || value === undefined || Number.isNaN(value)) return null;
    const middle = (scale.low + scale.high) / 2;
    const share = Math.min(1, Math.abs(value - middle) / (scale.high - middle));
    return { kind: value > middle ? "win" : "loss", share: `${(TINT * share).toFixed(1)}%` };
  }

  /** A hint as words. */
  function spoken({ value, chosen, truth }, scale) {
    const words = [];
    if (value !== undefined) words.push(Number.isNaN(value) ? "never seen" : `${scale.chance ? "chance" : "value"} ${valueText(value, scale)}`);
    if (chosen) words.push("the agent’s choice");
    if (truth) {
      const plies = truth.plies + 1;
      const when = truth.result === 0 ? "" : ` in ${plies} ${plies === 1 ? "ply" : "plies"}`;
      words.push(`${WORDS[truth.result]}${when}`);
    }
    return words.join(", ");
  }

  /** Return the meaning of the shown hints, as paragraphs. */
  function legend(shown, hasValues, scale) {
    const lines = [];
    if (shown.values && hasValues) {
      const ends = `from ${scale.low === 0 ? "0" : "−1"} (loss) to 1 (win)`;
      const meaning = scale.chance
        ? " how likely the agent is to make the move, from 0 to 1, as in training; it keeps no values of moves"
        : ` what the move is worth to you, as the agent sees it, ${ends}`;
      lines.push(make("p", "", make("b", "", "0.00"), meaning));
    }
    if (shown.values) lines.push(make("p", "", make("b", "", "★"), " what the agent may play in your place"));
    if (shown.truth) {
      const kinds = [1, 0, -1].map((result) =>
        make("span", WORDS[result], make("b", "", SIGNS[result]), ` ${WORDS[result]}`));
      const meaning = "for you with best play; a number counts the plies (moves of either player) to the end, this one included";
      lines.push(make("p", "", ...kinds, meaning));
    }
    return lines;
  }

  return { WORDS, valueText, draw, tint, spoken, legend };
})();
