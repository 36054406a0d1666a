// Words that several parts of the bench say.

import { count, seconds } from "/page/numbers.js";

export const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"; // the names of texts

export function took(time) {
  return time < 1 ? `${count(1000 * time)} ms` : seconds(time);
}
