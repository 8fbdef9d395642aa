"use strict";

/*
 * Random numbers of games, those of `compiler/numerics.py`: SplitMix64, of which each game owns 128.  A 64-bit number
 * is two halves of 32 bits, since BigInt would take a hundred times as long.
 */
const random = (() => {
  const GOLDEN = 0x9e3779b97f4a7c15n, MIX_1 = 0xbf58476d1ce4e5b9n, MIX_2 = 0x94d049bb133111ebn;
  const halves = (number) => [Number(number >> 32n) | 0, Number(number & 0xffffffffn) | 0];
  const [GOLDEN_HIGH, GOLDEN_LOW] = halves(GOLDEN);
  const [STRIDE_HIGH, STRIDE_LOW] = halves(BigInt.asUintN(64, 128n * GOLDEN));
  const [HIGH_1, LOW_1] = halves(MIX_1);
  const [HIGH_2, LOW_2] = halves(MIX_2);

  /** The upper half of the product of two unsigned halves. */
  function upper(a, b) {
    const aLow = a & 0xffff, aHigh = a >>> 16, bLow = b & 0xffff, bHigh = b >>> 16;
    const middle = ((Math.imul(aLow, bLow) >>> 16) + Math.imul(aHigh, bLow)) >>> 0; // never above 2 ** 32
    const other = ((middle & 0xffff) + Math.imul(aLow, bHigh)) >>> 0;
    return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (other >>> 16)) | 0;
  }

  /** Where the sequence of a seed (a BigInt) starts, as `stream_key` for games of a training. */
  function keyOf(seed) {
    const mixed = (z) => {
      z = BigInt.asUintN(64, (z ^ (z >> 30n)) * MIX_1);
      z = BigInt.asUintN(64, (z ^ (z >> 27n)) * MIX_2);
      return z ^ (z >> 31n);
    };
    return mixed(mixed(BigInt.asUintN(64, seed)));
  }

  class Numbers {
    /** Those of a seed, a BigInt, from game `game` on. */
    constructor(seed, game = 0) {
      const first = BigInt.asUintN(64, keyOf(seed) + BigInt(game) * 128n * GOLDEN);
      this.base = Int32Array.from(halves(first)); // of this game: its upper and its lower half, as all below
      this.counter = Int32Array.from(this.base);
      this.drawn = new Int32Array(2);
    }

    /** Go on to the numbers of the next game. */
    next() {
      const { base, counter } = this;
      const low = (base[1] + STRIDE_LOW) | 0;
      base[0] = base[0] + STRIDE_HIGH + (low >>> 0 < base[1] >>> 0 ? 1 : 0);
      base[1] = low;
      counter.set(base);
    }

    /** Draw the game's next number. */
    draw() {
      const { counter } = this;
      let high = counter[0], low = counter[1];
      const after = (low + GOLDEN_LOW) | 0;
      counter[0] = high + GOLDEN_HIGH + (after >>> 0 < low >>> 0 ? 1 : 0);
      counter[1] = after;
      low ^= (low >>> 30) | (high << 2);
      high ^= high >>> 30;
      high = (upper(low, LOW_1) + Math.imul(high, LOW_1) + Math.imul(low, HIGH_1)) | 0;
      low = Math.imul(low, LOW_1);
      low ^= (low >>> 27) | (high << 5);
      high ^= high >>> 27;
      high = (upper(low, LOW_2) + Math.imul(high, LOW_2) + Math.imul(low, HIGH_2)) | 0;
      low = Math.imul(low, LOW_2);
      this.drawn[0] = high ^ (high >>> 31);
      this.drawn[1] = low ^ ((low >>> 31) | (high << 1));
    }

    /** From a new number one of 0 to n - 1. */
    below(n) {
      this.draw();
      return Math.floor(((this.drawn[0] >>> 0) * n) / 4294967296);
    }
  }

  return { Numbers };
})();
