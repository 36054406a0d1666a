// A text that was scored, to the letter: white space and what has no picture is seen, and a long one is cut until somebody
// opens it.

import { h, put } from "/page/dom.js";
import { count } from "/page/numbers.js";

const FOLD = 320, // characters
  LINES = 8;
const UNSEEN =
  /\n|\t|^ +| +$| {2,}|[\u00a0\u00ad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200d\u2028\u2029\u202f\u205f-\u2064\u3000\u3164\ufe00-\ufe0f\ufeff]/gm;

export const LEGEND = "In texts · is a space at an end or one of several, ↵ the end of a line, → a tab.";

export function shownText(text, words) {
  if (text === "") return h("span.quiet", {}, "(empty)");
  return folded(text, words, h("pre.audit-text", { dir: "auto" }), seen);
}

// A sentence that may be long.
export function shownWords(text, words) {
  return folded(text, words, h("p", { dir: "auto" }), (said) => said);
}

function folded(text, words, body, seen) {
  const begin = cut(text);
  put(body, seen(begin));
  if (begin.length === text.length) return body;
  const button = h(
    "button.plain.small",
    {
      type: "button",
      data: { opens: "" },
      aria: { expanded: "false" },
      onclick: () => open(button.getAttribute("aria-expanded") !== "true"),
    },
    "",
  );
  function open(all) {
    put(body, seen(all ? text : begin), all ? null : h("span.quiet", {}, " …"));
    button.setAttribute("aria-expanded", String(all));
    button.textContent = all ? "cut it again" : `all ${count(text.length)} characters`;
    button.setAttribute("aria-label", `${words}: ${button.textContent}`);
  }
  open(false);
  return h("div", {}, body, button);
}

function cut(text) {
  let end = Math.min(text.length, FOLD);
  let at = -1;
  for (let line = 0; line < LINES; line++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) break;
  }
  if (at >= 0) end = Math.min(end, at);
  else if (text.length - end <= 40) return text; // a few more are no longer than the button
  return text
    .slice(0, end)
    .replace(/[\ud800-\udbff]$/, "")
    .replace(/ +$/, ""); // of the cut, not of the text
}

function seen(text) {
  const pieces = [];
  let from = 0;
  for (const { 0: white, index } of text.matchAll(UNSEEN)) {
    pieces.push(text.slice(from, index), sign(white));
    from = index + white.length;
  }
  return [...pieces, text.slice(from)];
}

function sign(white) {
  if (white === "\n") return [h("span.white", {}, "↵"), "\n"];
  if (white === "\t") return [h("span.white", {}, "→"), "\t"];
  if (white[0] === " ") return h("span.white", {}, "·".repeat(white.length));
  return h("span.white", {}, `\\u${white.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
