"use strict";

/*
 * The tabs of a page that learns: Play, Learn and, on some, Lesson, which shows the tab Learn with an experiment; and against whom Play is played.
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

  const buttons = [...element("tabs").children];

  function open(tab) {
    document.body.dataset.tab = tab === "lesson" ? "learn" : tab;
    document.body.classList.toggle("lesson", tab === "lesson");
    for (const button of buttons) {
      if (button.id === `tab-${tab}`) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    if (tab !== "play") learn.show(); // its curve is as wide as the page is now
  }

  /** Play against a table learnt here, under a name; or without one against the page's own agent again. */
  function play(other, name) {
    challenge(other, other.scale ?? data.scale);
    element("opponent").hidden = !name;
    element("opponent-name").textContent = name ?? "";
    document.body.dataset.opponent = name ? "learnt" : "own";
    open("play");
  }

  for (const button of buttons) button.addEventListener("click", () => open(button.id.slice(4)));
  element("own").addEventListener("click", () => play(agent));
  open(location.hash === "#learn" ? "learn" : location.hash ? "play" : data.tab);
  learn.begin(data, agent?.solution ?? null, play);
})();
