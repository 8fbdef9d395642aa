"use strict";

/*
 * The arrays that the page carries (see `packing.py`).
 */
const sections = (() => {
  /** The bytes of each array, by name, each in an ArrayBuffer of its own. */
  async function inflate({ sizes, deflated }) {
    const text = atob(deflated);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const found = {};
    let start = 0;
    for (const [name, size] of Object.entries(sizes)) found[name] = buffer.slice(start, (start += size));
    return found;
  }

  /** Uint32Array of numbers whose bytes lie in four planes, the lowest first. */
  function fromPlanes(buffer) {
    const bytes = new Uint8Array(buffer);
    const numbers = new Uint32Array(bytes.length / 4);
    for (let plane = 0; plane < 4; plane++) {
      const start = plane * numbers.length;
      for (let i = 0; i < numbers.length; i++) numbers[i] |= bytes[start + i] << (8 * plane);
    }
    return numbers;
  }

  /** Where a number stands in an array in ascending order; -1 if it does not. */
  function indexIn(numbers, wanted) {
    let low = 0, high = numbers.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return numbers[low] === wanted ? low : -1;
  }

  return { inflate, fromPlanes, indexIn };
})();
