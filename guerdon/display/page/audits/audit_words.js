// What several views say of audits: how grave, how often, in a line.

import { h } from "/page/dom.js";
import { count, number, plural } from "/page/numbers.js";

export function severityChip(severity) {
  return h("span.chip", { class: severity === "severe" ? "bad" : "wait" }, severity);
}

export function harmWords(harm) {
  const share = Math.max(0, Math.min(1, harm ?? 0));
  return h(
    "span.progress.harm",
    {},
    h("span.track", { aria: { hidden: "true" } }, h("span.fill", { style: { width: `${100 * share}%` } })),
    `harm ${number(harm, 2)}`,
  );
}

// Findings of each severity, as chips; none is said too.
export function countChips({ severe, warnings }) {
  if (!severe && !warnings) return h("span.chip.good", {}, "nothing found");
  return h(
    "span.chips",
    {},
    severe ? h("span.chip.bad", {}, `${count(severe)} severe`) : null,
    warnings ? h("span.chip.wait", {}, plural(warnings, "warning")) : null,
  );
}

// The verdict in a line.
export function verdictLine({ severe, warnings }, findings) {
  if (!findings.length) return h("span.good", {}, "Nothing found.");
  const worst = findings[0];
  return [
    severe ? h("span.bad", {}, plural(severe, "severe finding")) : h("span.good", {}, "Nothing severe"),
    warnings ? [", ", h("span.wait", {}, plural(warnings, "warning"))] : null,
    `; the most harmful is “${worst.name}” (${number(worst.harm, 2)}).`,
  ];
}

export function took(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return `${count(1e6 * seconds)} µs`;
  return seconds < 1 ? `${number(1e3 * seconds, 1)} ms` : `${number(seconds, 1)} s`;
}

// Whether any of the ids that changed is an audit's.
export const ofAudits = (ids) => ids.some((id) => id.startsWith("audit-"));

// Of what stands in its place already nothing is made anew: part(said, make) gives whether it was.
export function keptWhole(place) {
  let text = null;
  return (said, make) => {
    const next = JSON.stringify(said);
    if (next === text) return false;
    text = next;
    place.replaceChildren(...[make(said)].flat(Infinity).filter(Boolean));
    return true;
  };
}
