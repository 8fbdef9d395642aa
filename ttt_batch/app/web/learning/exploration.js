"use strict";

/*
 * Which plies of a game explore, as a set of bits drawn from one random number: the alias method over the 512 sets of
 * nine plies, as in `simulation/walk.py`, operation by operation.
 */
const exploration = (() => {
  const PLIES = 9, SETS = 1 << PLIES;

  class Explorations {
    /** epsilon: the probability of each ply. */
    constructor(epsilon) {
      // A column: the threshold, out of 2 ** 55, in its upper bits, and in the lowest nine the set above that.
      this.high = new Uint32Array(SETS);
      this.low = Uint32Array.from({ length: SETS }, (_, set) => set);
      const weight = new Float64Array(SETS);
      const stack = new Int32Array(SETS); // two stacks, growing towards each other
      let poorest = 0, richest = SETS;
      for (let set = 0; set < SETS; set++) {
        let share = 1;
        for (let ply = 0; ply < PLIES; ply++) share *= (set >> ply) & 1 ? epsilon : 1 - epsilon;
        weight[set] = share * SETS;
        if (weight[set] < 1) stack[poorest++] = set;
        else stack[--richest] = set;
      }
      while (poorest > 0 && richest < SETS) {
        const poor = stack[--poorest], rich = stack[richest];
        this.#keep(poor, Math.floor(weight[poor] * 2 ** 55), rich);
        weight[rich] -= 1 - weight[poor];
        if (weight[rich] < 1) {
          richest++;
          stack[poorest++] = rich;
        }
      }
    }

    #keep(set, threshold, other) {
      this.high[set] = Math.floor(threshold / 2 ** 23);
      this.low[set] = (threshold % 2 ** 23) * SETS + other;
    }

    /** The exploring plies of a game, bit p for ply p, from its first random number: an upper and a lower half. */
    drawn([upper, lower]) {
      const column = lower & (SETS - 1);
      const high = upper >>> 0, low = (lower | (SETS - 1)) >>> 0;
      const keeps = high < this.high[column] || (high === this.high[column] && low < this.low[column]);
      return keeps ? column : this.low[column] & (SETS - 1);
    }
  }

  return { Explorations };
})();
