"use strict";

/*
 * What a table is worth, exactly: sweeps over all positions, the last first (as `evaluation/judgement.py`).
 */
const judge = (() => {
  /** Return the moves that may be picked in each unfinished row, as bits. */
  function policyOf(graph, learner) {
    return Uint16Array.from({ length: graph.open }, (_, row) => {
      const first = graph.firstEdge[row];
      return learner.candidates(first, graph.firstEdge[row + 1] - first, graph.ply[row] & 1);
    });
  }

  /**
   * The agent in `seat` (0 or 1): win, draw and loss, its shares against random moves; response, what the best opponent
   * expects, wins less losses, where the agent breaks ties by chance; unbeatable, whether no opponent and no tie-break
   * beats it: random moves would find a way.
   */
  function seatOf(graph, policy, seat) {
    const win = new Float64Array(graph.rows), loss = new Float64Array(graph.rows), best = new Float64Array(graph.rows);
    for (let row = graph.open; row < graph.rows; row++) {
      if (graph.outcome[row] === 1 + seat) [win[row], best[row]] = [1, -1];
      if (graph.outcome[row] === 2 - seat) [loss[row], best[row]] = [1, 1];
    }
    for (let row = graph.open - 1; row >= 0; row--) {
      const first = graph.firstEdge[row], count = graph.firstEdge[row + 1] - first;
      const own = (graph.ply[row] & 1) === seat;
      const set = own ? policy[row] : (1 << graph.legal[row]) - 1;
      let wins = 0, losses = 0, sum = 0, most = -1;
      for (let i = 0; i < count; i++) {
        if (!((set >> i) & 1)) continue;
        const child = graph.child[first + i];
        wins += win[child];
        losses += loss[child];
        sum += best[child];
        most = Math.max(most, best[child]);
      }
      const among = selfPlay.SIZES[set];
      win[row] = wins / among;
      loss[row] = losses / among;
      best[row] = own ? sum / among : most;
    }
    return { win: win[0], draw: 1 - win[0] - loss[0], loss: loss[0], response: best[0], unbeatable: loss[0] === 0 };
  }

  /** The agent as first and as second; see `seatOf`. */
  function judged(graph, learner) {
    const policy = policyOf(graph, learner);
    return [0, 1].map((seat) => seatOf(graph, policy, seat));
  }

  /** The game number after `games` at which a run with batches of one game is judged: `runs/schedules.py`. */
  function pointAfter(games) {
    let point = 0;
    for (let number = 1; point <= games; number++) {
      point = number <= 32 ? number : Math.max(point + 1, Math.round(point * 1.0905077326652577)); // 2 ** (1 / 8)
    }
    return point;
  }

  /** Games at the first point since which every one was unbeatable in `count` seats; null if the last one is not. */
  function unbeatableSince(points, count = 2) {
    let since = null;
    for (const { games, seats } of points) {
      if (!seats.slice(0, count).every((seat) => seat.unbeatable)) since = null;
      else since ??= games;
    }
    return since;
  }

  return { judged, pointAfter, unbeatableSince };
})();
