// What is known of a run: facts, settings, lines for the command line.

import { line as copyLine } from "/page/copying.js";
import { h } from "/page/dom.js";
import { count, seconds } from "/page/numbers.js";
import { when } from "/page/runs/run_words.js";

export function factList([said, rewards, run]) {
  const { spent } = said;
  const pairs = [
    ["recipe", run.recipe],
    ["task", run.task],
    ["model", run.model],
    ["reward", run.reward],
    ...rewards.map(({ column, formula, version }) => [
      `${column} =`,
      [h("code", {}, formula), h("span.quiet", {}, ` version ${version}`)],
    ]),
    ["seed", String(said.seed)],
    [
      "spent",
      [
        spent.tokens ? `${count(spent.tokens)} tokens` : null,
        spent.episodes ? `${count(spent.episodes)} episodes` : null,
        spent.updates ? `${count(spent.updates)} updates` : null,
        spent.seconds ? seconds(spent.seconds) : null,
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["started", when(said.created)],
    ["again", said.again],
    ["weights", said.weights ?? "not final yet"],
    ["recipe's hash", said.hash],
    ...Object.entries(said.models).map(([name, about]) => [
      name,
      Object.entries(about)
        .map(([key, v]) => `${key} ${typeof v === "number" ? count(v) : v}`)
        .join(", "),
    ]),
    [
      "hardware",
      Object.entries(said.hardware)
        .map(([key, v]) => (key === "threads" ? `${v} threads` : v))
        .join(", "),
    ],
    [
      "versions",
      Object.entries(said.versions)
        .map(([key, v]) => `${key} ${v}`)
        .join(", "),
    ],
  ];
  return [
    h("h2", {}, "Facts"),
    h(
      "dl.pairs",
      {},
      pairs.filter(([, v]) => v).map(([name, v]) => [h("dt", {}, name), h("dd", {}, v)]),
    ),
  ];
}

export function settingFolds([groups, config], fold) {
  return [
    h("h2", {}, "Settings"),
    Object.entries(groups)
      .filter(([, pairs]) => Object.keys(pairs).length)
      .map(([group, pairs]) =>
        fold(
          `settings ${group}`,
          `${group} (${Object.keys(pairs).length})`,
          h(
            "dl.pairs.knobs",
            {},
            Object.entries(pairs).map(([name, said]) => [h("dt", {}, name), h("dd", {}, said)]),
          ),
        ),
      ),
    fold("run.json", "run.json as it is", h("pre.whole-config", { tabindex: "0" }, JSON.stringify(config, null, 1))),
  ];
}

export function commandLines(lines) {
  return [
    h("h2", {}, "On the command line"),
    lines.map(({ what, line }) => [h("div.quiet", {}, what), copyLine(line)]),
  ];
}
