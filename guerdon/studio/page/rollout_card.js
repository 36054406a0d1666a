// One rollout as people read it, wherever it is shown: in its own view, beside a list, beside another.

import { h, put } from "/page/dom.js";

// which: {run, step, episode, segment}; around: what a view is given. Gives {keys}, a layer of the card's own keys.
export async function rolloutCard(place, which, around) {
  put(place, h("p", {}, which.episode));
  return { keys: null };
}
