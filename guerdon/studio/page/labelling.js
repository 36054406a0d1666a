// Labels, wherever a rollout is shown: buttons that say which it has, and the keys that give them.

import { h } from "/page/dom.js";

// sample: {run, step, episode, segment}. Gives {element, keys}: what is shown, and an array of [key, words, call] for a layer.
export function labelBar(sample, around) {
  return { element: h("span", {}), keys: [] };
}
