// A page that is a file: its data and answers are inside, so it shows what it holds and asks nobody.

import { answerFrom } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { rolloutCard } from "/page/rollout_card.js";
import { beginTheme } from "/page/theme.js";

export const data = JSON.parse(document.getElementById("data").textContent);

// Draws a view of the studio. `answers`: by a path of the studio, what answers a query; `addressOf(step, episode)`: where a rollout
// is shown, or null; `more(around)`: what stands below the view.
export function beginFile({ show, name, params = {}, query = "", answers, addressOf, more, smooths }) {
  const around = {
    params,
    query: new URLSearchParams(query),
    smooths,
    more: () => more(around),
    go: () => {},
    fault,
    keys: () => {},
    keepInAddress: () => {},
    live: () => {},
    title: () => {},
    guard:
      (call) =>
      async (...given) => {
        try {
          return await call(...given);
        } catch (error) {
          fault(error);
          return undefined;
        }
      },
    here: () => true,
    cleanup: () => {},
  };
  answerFrom({
    answer: async (path, asked) => {
      const known = answers[path]?.(asked);
      if (known === undefined) throw new Error("this file holds the beginning alone; guerdon view shows all of it");
      return known;
    },
    addressOf,
  });
  beginTheme();
  const view = document.getElementById("view");
  view.className = `view ${name}`;
  around.guard(show)(view, around);
}

function fault(error) {
  const line = document.getElementById("fault");
  line.textContent = error?.message ?? "";
  line.hidden = !line.textContent;
}

// A rollout under its label. which: {run, step, episode, segment}.
export function sampleCard(label, which, around, id = null) {
  const place = h("div");
  rolloutCard(place, which, around).catch((error) => put(place, h("p.bad", {}, error.message)));
  return h("details.card.sample", { open: true, id }, h("summary", {}, h("b", {}, label)), place);
}
