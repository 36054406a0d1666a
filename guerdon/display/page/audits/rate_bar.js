// A share with its interval, the size of a word: a bar as long as the share, and whiskers from the low to the high end.

import { h } from "/page/dom.js";
import { percent } from "/page/numbers.js";

const WIDE = 120,
  HIGH = 14,
  EDGE = 2;

export function intervalWords({ low, high }) {
  return low === null || high === null ? "" : `${(100 * low).toFixed(1)} to ${percent(high)}`;
}

// what: {rate, low, high}, each from 0 to 1; `words` say of what it is
export function rateBar(what, words) {
  if (!what || what.rate === null) return h("span.quiet", {}, "–");
  const x = (share) => EDGE + (WIDE - 2 * EDGE) * Math.max(0, Math.min(1, share));
  const known = what.low !== null && what.high !== null;
  const label = `${words}: ${percent(what.rate)}${known ? `, 95 % interval ${intervalWords(what)}` : ""}`;
  const line = (x1, x2, y1, y2) => h("line.whisker", { x1, x2, y1, y2 });
  const [low, high] = known ? [x(what.low), x(what.high)] : [0, 0];
  return h(
    "svg.rate-bar",
    { width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", aria: { label } },
    h("rect.whole", { x: EDGE, y: 4, width: WIDE - 2 * EDGE, height: 6, rx: 2 }),
    h("rect.share", { x: EDGE, y: 4, width: Math.max(what.rate > 0 ? 1 : 0, x(what.rate) - EDGE), height: 6, rx: 2 }),
    known ? [line(low, high, 7, 7), line(low, low, 3, 11), line(high, high, 3, 11)] : null,
  );
}

export function rateWords(what) {
  if (!what || what.rate === null) return "–";
  return [percent(what.rate), h("span.quiet", {}, ` ${intervalWords(what)}`)];
}
