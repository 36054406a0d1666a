// A run's report: the page of the run as a file, with its answers inside, and with a few rollouts.

import { h } from "/page/dom.js";
import { beginFile, data, sampleCard } from "/page/file_page.js";
import { count, number, plural } from "/page/numbers.js";
import { show } from "/page/views/run.js";

const RUN = "report";
const { one, curves, places, prompt, samples } = data;
const isThinned = Object.values(curves.curves).some((curve) => curve.count > curve.step.length);

const ANSWERS = {
  [`/api/runs/one/${RUN}`]: () => one,
  [`/api/runs/one/${RUN}/curves`]: curvesOver,
  "/api/reading/rollout": ({ step, episode }) => samples.rollouts[`${step}/${episode}`],
  "/api/reading/group": ({ step, ask }) => samples.groups[`${step}/${ask}`],
};

// the curves over another axis, and smoothed
function curvesOver({ x, smooth }) {
  const at = x === "steps" ? null : new Map(places.step.map((step, n) => [step, places[x][n]]));
  const placed = Object.entries(curves.curves).map(([name, curve]) => {
    const over = at ? curve.step.map((step) => at.get(step)) : curve.x;
    const smoothed = smooth ? { step: curve.step, x: over, value: soft(curve.value, smooth) } : undefined;
    return [name, { ...curve, x: over, smooth: smoothed }];
  });
  return { ...curves, x, curves: Object.fromEntries(placed) };
}

// the mean of all values so far, each counting `weight` times as much as the one after it; gaps stay gaps
function soft(values, weight) {
  let total = 0,
    all = 0;
  return values.map((value) => {
    if (value === null) return null;
    total = weight * total + value;
    all = weight * all + 1;
    return total / all;
  });
}

// what the model was shown first, token by token
function promptSection() {
  if (!prompt) return [];
  const rest = prompt.size - prompt.tokens.length;
  return [
    h(
      "section.prompt",
      {},
      h("h2", {}, "What the model was shown first"),
      h("p.quiet", {}, `${plural(prompt.size, "token")} of ${prompt.role}, special tokens framed.`),
      prompt.tokens.length
        ? h(
            "div.prompt-tokens.mono",
            {},
            prompt.tokens.map(([text, tone]) => h(`span.${tone}`, {}, text)),
            rest > 0 ? h("span.quiet", {}, ` and ${count(rest)} more`) : null,
          )
        : h("p.quiet", {}, "No tokenizer lies with this run, so the tokens are not spelled."),
      prompt.system ? h("details", {}, h("summary", {}, "its system prompt"), h("pre", {}, prompt.system)) : null,
      prompt.template ? h("details", {}, h("summary", {}, "its chat template"), h("pre", {}, prompt.template)) : null,
    ),
  ];
}

function sampleSections(around) {
  if (!samples.sections.length) return [];
  const shown = new Set();
  return [
    h(
      "section.samples",
      {},
      h("h2", {}, "Sample rollouts"),
      h(
        "p.quiet",
        {},
        "The best, a middle and the worst of the first and the last stored step; each token in the colour of its advantage.",
      ),
      samples.sections.map(({ title, step, samples: each, told }) => {
        const id = `step-${step}`;
        const first = !shown.has(id);
        shown.add(id);
        return [
          h("h3", { id: first ? id : null }, title),
          each.map((sample) => sampleOf(step, sample, around)),
          told.map(toldCard),
        ];
      }),
    ),
  ];
}

const drawn = new Set(); // rollouts that can be led to
function sampleOf(step, { label, episode, segment }, around) {
  const id = idOf(step, episode);
  const first = !drawn.has(id);
  drawn.add(id);
  return sampleCard(label, { run: RUN, step, episode, segment }, around, first ? id : null);
}

function toldCard({ label, prompt: asked, said }) {
  return h(
    "div.card.sample",
    {},
    label ? h("p.quiet", {}, label) : null,
    h("div.message", {}, h("span.who", {}, "asked"), h("pre.plain-text", { dir: "auto" }, asked)),
    h("div.message", {}, h("span.who", {}, "said"), h("pre.plain-text", { dir: "auto" }, said)),
    h("p.quiet", {}, "Its step is not stored: this is what the alarm holds of it."),
  );
}

function idOf(step, episode) {
  return `rollout-${step}-${episode}`;
}

// every metric in numbers
function metricTable() {
  const rows = Object.values(curves.curves).sort((a, b) => (a.metric < b.metric ? -1 : 1));
  if (!rows.length) return [];
  const heads = ["metric", "first", "last", "lowest", "highest", "steps"];
  return [
    h(
      "details.metrics",
      {},
      h("summary", {}, h("h2", {}, "All metrics")),
      h(
        "div.scroll",
        { tabindex: "0", role: "region", aria: { label: "All metrics" } },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              heads.map((words, n) => h(n ? "th.num" : "th", { scope: "col" }, words)),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map(({ metric, value, count: steps }) => {
              const there = value.filter((v) => v !== null);
              const numbers = [there[0], there.at(-1), Math.min(...there), Math.max(...there)];
              return h(
                "tr",
                {},
                h("td.mono", {}, metric),
                numbers.map((v) => h("td.num", {}, number(v))),
                h("td.num", {}, count(steps)),
              );
            }),
          ),
        ),
      ),
    ),
  ];
}

beginFile({
  show,
  name: "run",
  params: { run: RUN },
  answers: ANSWERS,
  addressOf: (step, episode) => (samples.rollouts[`${step}/${episode}`] ? `#${idOf(step, episode)}` : null),
  more: (around) => [...promptSection(), ...sampleSections(around), ...metricTable()],
  smooths: !isThinned,
});
