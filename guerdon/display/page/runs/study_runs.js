// Of a study: the runs within it, and what it returned.

import { address, inFile } from "/page/asking.js";
import { h } from "/page/dom.js";
import { plural } from "/page/numbers.js";
import { headlineWords, progressBar, statusChip } from "/page/runs/run_words.js";

export function studyRuns([runs, result]) {
  return [
    h("h2", {}, plural(runs.length, "run")),
    runs.length
      ? h(
          "div.scroll",
          {},
          h(
            "table.runs-table",
            { aria: { label: "The runs of this study" } },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["name", "status", "before → after", "progress", "recipe", "seed"].map((words) =>
                  h("th", { scope: "col" }, words),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              runs.map((run) =>
                h(
                  "tr",
                  {},
                  h("td.name", {}, h("a", { href: run.address, data: { key: run.id } }, run.name)),
                  h("td", {}, statusChip(run)),
                  h("td", {}, headlineWords(run.headline)),
                  h("td", {}, progressBar(run.progress)),
                  h("td", {}, run.recipe),
                  h("td", {}, run.seed),
                ),
              ),
            ),
          ),
        )
      : h("p.quiet", {}, "none yet"),
    runs.length > 1 && !inFile()
      ? h(
          "p",
          {},
          h("a.button", { href: address("/compare", { run: runs.slice(0, 12).map((run) => run.id) }) }, "Compare them"),
        )
      : null,
    result.length
      ? [
          h("h2", {}, "What it returned"),
          h(
            "dl.pairs",
            {},
            result.map(({ name, value: said }) => [h("dt", {}, name), h("dd", {}, said)]),
          ),
        ]
      : null,
  ];
}
