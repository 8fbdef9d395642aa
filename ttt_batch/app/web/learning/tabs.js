"use strict";

/*
 * The tabs of a page that learns, Play and Learn; and against whom Play is played.
 */
(async () => {
  const { element } = parts;
  const data = JSON.parse(element("data").textContent);
  let agent = null, challenge = null; // of a page whose agent this browser cannot read: Learn works without it
  try {
    ({ agent, challenge } = await page);
  } catch (error) {
    console.error(error); // the Play tab has said what to do
    element("challenge").hidden = true;
  }

  function open(tab) {
    document.body.dataset.tab = tab;
    for (const name of ["play", "learn"]) {
      if (name === tab) element(`tab-${name}`).setAttribute("aria-current", "page");
      else element(`tab-${name}`).removeAttribute("aria-current");
    }
    if (tab === "learn") learn.show(); // its curve is as wide as the page is now
  }

  /** Play against a table learnt here, under a name; or without one against the page's own agent again. */
  function play(other, name) {
    challenge(other, other.scale ?? data.scale);
    element("opponent").hidden = !name;
    element("opponent-name").textContent = name ?? "";
    document.body.dataset.opponent = name ? "learnt" : "own";
    open("play");
  }

  element("tab-play").addEventListener("click", () => open("play"));
  element("tab-learn").addEventListener("click", () => open("learn"));
  element("own").addEventListener("click", () => play(agent));
  open(location.hash === "#learn" || (data.tab === "learn" && !location.hash) ? "learn" : "play");
  learn.begin(data, agent?.solution ?? null, play);
})();
