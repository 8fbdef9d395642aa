"use strict";

/*
 * Small parts of which the page is made.
 */
const parts = (() => {
  const NAMES = ["empty", "X", "O"]; // what a cell holds, by mark

  function element(id) {
    return document.getElementById(id);
  }

  /** A new element with a class and children: text or elements. */
  function make(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  /** A new element of a drawing with attributes and, if given, a text. */
  function svg(tag, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  }

  /** X or O as a drawing; the text beside it or the cell's name says the same. */
  function drawing(mark) {
    const made = svg("svg", { viewBox: "0 0 100 100", class: `mark ${mark === 1 ? "x" : "o"}`, "aria-hidden": "true" });
    for (const d of mark === 1 ? ["M20 20L80 80", "M80 20L20 80"] : ["M50 16A34 34 0 1 1 49.9 16"]) {
      made.append(svg("path", { d, pathLength: 1 }));
    }
    return made;
  }

  function nameOf(board, cell) {
    return `row ${Math.floor(cell / board.cols) + 1}, column ${(cell % board.cols) + 1}`;
  }

  return { NAMES, element, make, svg, drawing, nameOf };
})();
