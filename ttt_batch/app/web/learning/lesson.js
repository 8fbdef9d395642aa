"use strict";

/*
 * The Lesson tab: experiments (see `lesson.py`), each with a question, a prediction to write down, a learning that starts
 * with one click, and what is true, which is shown when it is over.
 */
(() => {
  const { element, make } = parts;
  const experiments = JSON.parse(element("data").textContent).lesson;
  const written = experiments.map(() => "");
  let at = 0, started = null; // the experiment that learns or has learnt; null before the first one

  /** A button that does not send the form. */
  function button(id, text) {
    const made = make("button", "", text);
    [made.type, made.id] = ["button", id];
    return made;
  }

  const numbers = experiments.map(({ title }, i) => {
    const made = button(`experiment-${i + 1}`, `${i + 1}`);
    made.setAttribute("aria-label", `Experiment ${i + 1}: ${title}`);
    made.addEventListener("click", () => choose(i));
    return made;
  });
  const title = make("h3"), question = make("p"), asked = make("span"), prediction = make("textarea");
  const go = button("experiment-go", "Start the experiment"), play = button("experiment-play", "Play against it");
  const found = make("p"), reason = make("p");
  const told = make("section", "truth-told", make("h3", "", "What is true"), found, reason, make("div", "buttons", play));
  const panel = make("section", "experiment", make("div", "buttons numbers", ...numbers), title, question,
    make("label", "", asked, prediction), make("div", "buttons", go));
  panel.setAttribute("aria-label", "Experiment");
  told.setAttribute("role", "status");
  told.id = "told";
  prediction.id = "prediction";
  element("learning").prepend(panel);
  panel.after(told);
  element("tabs").append(button("tab-lesson", "Lesson"));

  /** Show an experiment as it has not begun. */
  function choose(number) {
    written[at] = prediction.value;
    at = number;
    numbers.forEach((made, i) => (i === at ? made.setAttribute("aria-current", "true") : made.removeAttribute("aria-current")));
    const { title: name, question: text, predict } = experiments[at];
    title.textContent = `${at + 1}. ${name}`;
    question.textContent = text;
    asked.textContent = `Write down: ${predict}`;
    prediction.value = written[at];
    show(false);
  }

  /** Show or hide what is true. */
  function show(over) {
    told.hidden = !over;
    [found.textContent, reason.textContent] = over ? [experiments[at].found, experiments[at].reason] : ["", ""];
  }

  go.addEventListener("click", () => {
    started = at;
    show(false);
    learn.present(experiments[at]);
    if (element("pacing").getBoundingClientRect().bottom > innerHeight) element("learn-board").scrollIntoView();
  });
  play.addEventListener("click", () => element("challenge").click());
  go.disabled = true; // until the worker has begun
  addEventListener("learnt", ({ detail: { running, games, settings } }) => {
    go.disabled = false;
    const { games: all, settings: { learner, seed } } = experiments[at];
    if (started === at && !running && games >= all && settings.learner === learner && settings.seed === seed) {
      show(true);
      told.scrollIntoView({ block: "nearest" });
    }
  });
  choose(0);
})();
