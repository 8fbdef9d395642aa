"use strict";

/*
 * The curve of a learning: what the table loses against random moves, and the lead of the best opponent, its wins less
 * its losses, in each seat, over the games (on a logarithmic axis).
 */
const curve = (() => {
  const shape = parts.svg;
  const HEIGHT = 190, LEFT = 34, RIGHT = 12, TOP = 8, BOTTOM = 34;
  const LINES = [
    { seat: 0, of: "response", className: "first best", text: "as first, lead of the best opponent" },
    { seat: 1, of: "response", className: "second best", text: "as second, lead of the best opponent" },
    { seat: 0, of: "loss", className: "first random", text: "as first, losses to random moves" },
    { seat: 1, of: "loss", className: "second random", text: "as second, losses to random moves" },
  ];

  /** A power of ten as a short text. */
  function short(games) {
    return games >= 1e6 ? `${games / 1e6}M` : games >= 1e3 ? `${games / 1e3}k` : String(games);
  }

  /** The drawing of some points, `width` pixels wide, for the first `count` seats. */
  function draw(points, width, count) {
    const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img" });
    svg.setAttribute("aria-label", "Losses over the games learnt; the table beside it has the last ones");
    const decades = Math.max(2, Math.ceil(Math.log10(points.at(-1)?.games || 1)));
    const x = (games) => LEFT + ((width - LEFT - RIGHT) * Math.log10(Math.max(1, games))) / decades;
    const y = (loss) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(1, Math.max(0, loss)));
    for (const loss of [0, 0.5, 1]) {
      svg.append(shape("path", { class: "rule", d: `M${LEFT} ${y(loss)}H${width - RIGHT}` }));
      svg.append(shape("text", { x: LEFT - 6, y: y(loss) + 4, "text-anchor": "end" }, 100 * loss));
    }
    for (let decade = 0; decade <= decades; decade++) {
      const place = { x: x(10 ** decade), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" };
      svg.append(shape("text", place, short(10 ** decade)));
    }
    const middle = { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle" };
    svg.append(shape("text", middle, "games"));
    for (const { seat, of, className } of LINES) {
      if (seat >= count) continue;
      const path = points.map(({ games, seats }) => `${x(games).toFixed(1)} ${y(seats[seat][of]).toFixed(1)}`);
      if (path.length > 0) svg.append(shape("path", { class: `line ${className}`, d: `M${path.join("L")}h0` }));
    }
    return svg;
  }

  /** Return the legend of the first `count` seats, as spans with a piece of each line. */
  function legend(count) {
    return ["In 100 games: ", ...LINES.filter(({ seat }) => seat < count).map(({ className, text }) => {
      const sample = shape("svg", { viewBox: "0 0 28 10", width: 28, height: 10, "aria-hidden": "true" });
      sample.append(shape("path", { class: `line ${className}`, d: "M1 5H27" }));
      return parts.make("span", "", sample, ` ${text}`);
    })];
  }

  return { draw, legend };
})();
