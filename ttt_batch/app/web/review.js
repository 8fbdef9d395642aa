"use strict";

/*
 * The review of a game, as in the terminal: the moves that made the result of best play worse for who made them, and
 * what would have kept it (see `analysis/review.py`).
 */
const reviews = (() => {
  /** The slips of a game from ply `first` on: { ply, cell, before, after, better }, as `Slip` of that file. */
  function slips({ board, solution }, moves, first = 0) {
    const found = [];
    for (let ply = first; ply < moves.length; ply++) {
      const truths = solution.trueMoves(moves.slice(0, ply)).map((truth) => truth && { ...truth, plies: truth.plies + 1 });
      const cell = moves[ply], after = truths[cell] ?? { result: -1, plies: 1 }; // a taken cell loses at once
      const before = Math.max(...truths.filter(Boolean).map((truth) => truth.result));
      if (after.result >= before) continue;
      const better = truths.flatMap((truth, other) => (truth?.result === before ? [{ cell: other, ...truth }] : []));
      better.sort((a, b) => a.plies - b.plies || a.cell - b.cell);
      found.push({ ply, cell, before, after, better });
    }
    return found;
  }

  return { slips };
})();
