// How far one is: what was labelled, of which kinds, and what is left.

import { h, put } from "/page/dom.js";
import { VERDICTS } from "/page/labelling.js";
import { count, plural } from "/page/numbers.js";

// `told` is what the queue or the pairs came with; before they are here, nothing is left.
export function showProgress(place, counts, { told, queue, every, two }) {
  const judged = counts.right + counts.wrong + counts.hack;
  const left = told ? Math.max(0, told.there - (every || two ? 0 : queue.filter((each) => each.kind).length)) : 0;
  const kept =
    told && told.kept > told.steps.length ? `, from ${plural(told.steps.length, "step")} of ${count(told.kept)}` : "";
  put(
    place,
    h("strong", {}, `${count(judged)} labelled`),
    ": ",
    VERDICTS.map(([kind], n) => [n ? ", " : "", h(`span.verdict.${kind}`, {}, `${count(counts[kind])} ${kind}`)]),
    counts.better + counts.level ? `, ${plural(counts.better + counts.level, "pair")}` : "",
    counts.note ? `, ${plural(counts.note, "note")}` : "",
    h("span.quiet", {}, ` · ${plural(left, two ? "pair" : "text")} left${kept}`),
  );
}
