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

  /** X or O as a drawing; the text beside it or the cell's name says the same. */
  function drawing(mark) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("class", `mark ${mark === 1 ? "x" : "o"}`);
    svg.setAttribute("aria-hidden", "true");
    for (const line of mark === 1 ? ["M24 24L76 76", "M76 24L24 76"] : ["M50 20A30 30 0 1 1 49.9 20"]) {
      const path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("d", line);
      path.setAttribute("pathLength", "1");
      svg.append(path);
    }
    return svg;
  }

  function nameOf(board, cell) {
    return `row ${Math.floor(cell / board.cols) + 1}, column ${(cell % board.cols) + 1}`;
  }

  return { NAMES, element, make, drawing, nameOf };
})();
