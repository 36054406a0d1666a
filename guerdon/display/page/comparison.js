// Compared runs as a file: the studio's page of them, with its answers inside, and what they said to one prompt.

import { h } from "/page/dom.js";
import { beginFile, data, sampleCard } from "/page/file_page.js";
import { show } from "/page/views/compare.js";

const { title, compared, differences, prompt } = data;
const runs = compared.steps.arms.flatMap((arm) => arm.runs.map((run) => run.id));
const samples = Object.fromEntries(prompt.sides.map((side) => [side.run, side.answers]));

beginFile({
  show,
  name: "compare",
  query: runs.map((run) => ["run", run]),
  answers: {
    "/api/runs/compare": ({ x }) => ({ ...compared[x], title }),
    "/api/runs/compare/difference": ({ arm, at }) => differences[`${arm}/${at}`],
    "/api/reading/rollout": ({ run, step, episode }) => samples[run]?.rollouts[`${step}/${episode}`],
    "/api/reading/group": ({ run, step, ask }) => samples[run]?.groups[`${step}/${ask}`],
  },
  addressOf: () => null,
  more: (around) => [
    h(
      "section.samples",
      {},
      h("h2", {}, "Answers to one prompt"),
      prompt.note ? h("p.quiet", {}, prompt.note) : null,
      prompt.sides.length ? h("pre.plain-text", { dir: "auto" }, prompt.prompt) : null,
      prompt.sides.map(({ title: words, run, step, samples: each }) => [
        h("h3", {}, words),
        each.map(({ label, episode, segment }) => sampleCard(label, { run, step, episode, segment }, around)),
      ]),
    ),
  ],
  smooths: false,
});
