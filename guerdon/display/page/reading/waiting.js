// What is said while an answer takes its time.

import { h, put } from "/page/dom.js";

const PATIENCE = 400; // milliseconds without a word

export async function waiting(place, words, answer) {
  const timer = setTimeout(() => put(place, h("p.quiet", { role: "status" }, words)), PATIENCE);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
