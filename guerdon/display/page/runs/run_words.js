// What several views say of runs: how one stands, what it is about, and asking again while it is written.

import { h } from "/page/dom.js";
import { count, number, percent } from "/page/numbers.js";

const TONES = { "running": "good", complete: "", stopped: "wait", unfinished: "wait", unreadable: "bad", reading: "" };

export function statusChip(run) {
  return h(
    "span.chip.status",
    { class: TONES[run.status] ?? "", title: run.why || null },
    run.status === "running" ? h("span.pulse", { aria: { hidden: "true" } }) : null,
    run.status,
  );
}

export function value(headline, point) {
  return !point ? "–" : headline.is_share ? percent(point.value) : number(point.value);
}

export function interval(headline, point) {
  if (!point || point.low === null || point.high === null) return "";
  const said = (v) => (headline.is_share ? (100 * v).toFixed(1) : number(v));
  return `${said(point.low)} to ${said(point.high)}`;
}

export function headlineWords(headline) {
  if (!headline) return h("span.quiet", {}, "–");
  return [
    headline.before ? [h("span.quiet", {}, value(headline, headline.before)), " → "] : null,
    h("b", {}, value(headline, headline.after)),
    h("span.quiet", {}, ` ${headline.words}`),
  ];
}

export function progressWords(progress) {
  if (!progress) return "";
  const { done, of, unit } = progress;
  return of === null || of === undefined ? `${count(done)} ${unit}` : `${count(done)} of ${count(of)} ${unit}`;
}

export function progressBar(progress) {
  if (!progress) return null;
  return h(
    "span.progress",
    {},
    progress.share === null
      ? null
      : h("span.track", { aria: { hidden: "true" } }, h("span.fill", { style: { width: `${100 * progress.share}%` } })),
    progressWords(progress),
  );
}

export function when(created) {
  const date = new Date(created);
  if (Number.isNaN(date.getTime())) return created ?? "";
  const two = (n) => `${n}`.padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Numbers in a sentence of the library's with a true minus sign.
export function minus(words) {
  return words.replace(/(^|[ (])-(?=[\d.])/g, "$1−");
}

// Calls again when something changes, never twice at once, and the less often the longer an answer takes; while `goesOn()`
// also now and then, for a run that was killed writes nothing.
export function again(around, call, { least = 900, concerns = () => true, goesOn = () => false } = {}) {
  let asked = false,
    busy = false,
    last = -Infinity,
    cost = 0,
    timer = 0,
    gone = false;
  const run = async () => {
    timer = 0;
    if (busy || gone) return;
    busy = true;
    asked = false;
    const began = performance.now();
    await call();
    last = performance.now();
    cost = last - began;
    busy = false;
    if (asked) later();
  };
  const later = () => {
    if (!timer && !gone) timer = setTimeout(run, Math.max(0, last + Math.max(least, 3 * cost) - performance.now()));
  };
  const wake = () => {
    asked = true;
    if (!busy) later();
  };
  around.live((ids) => {
    if (ids === null || concerns(ids)) wake();
  });
  const slow = setInterval(() => {
    if (goesOn()) wake();
  }, 20_000);
  around.cleanup(() => {
    gone = true;
    clearTimeout(timer);
    clearInterval(slow);
  });
  return wake;
}
