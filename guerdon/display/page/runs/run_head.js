// The head of a run's page: its name, how it stands, what came of it, and where one goes from there.

import { address, get, inFile } from "/page/asking.js";
import { h, once, put } from "/page/dom.js";
import { openDialog } from "/page/keys.js";
import { headlineWords, interval, progressBar, statusChip } from "/page/runs/run_words.js";

export function runHead([run, within, evidence, rollouts], readable, compare) {
  const line = run.headline;
  return [
    h(
      "p.crumbs",
      {},
      inFile() ? null : h("a", { href: "/" }, "Runs"),
      within ? [" / ", h("a", { href: `/run/${within.id}` }, within.name)] : null,
      h("span.quiet", {}, inFile() ? run.path : ` / ${run.path}`),
    ),
    h("div.title-line", {}, h("h1", {}, run.name), statusChip(run), progressBar(run.progress)),
    run.why && run.status !== "unreadable" ? h("p.quiet", {}, run.why) : null,
    run.status === "unreadable" ? h("p.bad", {}, run.why) : null,
    line
      ? h(
          "p.big",
          {},
          headlineWords(line),
          h(
            "span.quiet.about",
            {},
            [line.before ? interval(line, line.before) : "", interval(line, line.after)].filter(Boolean).join(" → "),
            interval(line, line.after) ? " (95 %), " : " ",
            line.about,
          ),
        )
      : null,
    readable && !inFile()
      ? h(
          "nav.toolbar",
          { aria: { label: "Of this run" } },
          rollouts
            ? [
                h(
                  "a.button",
                  { href: address("/rollouts", { run: run.id }), data: { key: "rollouts" } },
                  "Its rollouts",
                ),
                h("a.button", { href: address("/bench", { run: run.id }), data: { key: "bench" } }, "Bench"),
                h("a.button", { href: address("/labels", { run: run.id }), data: { key: "labels" } }, "Labels"),
              ]
            : null,
          run.kind === "study"
            ? null
            : h("button", { type: "button", data: { key: "compare" }, onclick: compare }, "Compare with…"),
          evidence
            ? h(
                "a.button",
                { href: `/evidence/${encodeURIComponent(evidence)}`, data: { key: "evidence" } },
                `Evidence of ${evidence}`,
              )
            : null,
        )
      : null,
  ];
}

// Which run to compare this one with.
export function chooseOther(run, around) {
  const list = h("ul.plain-list", {});
  const search = h("input", {
    type: "search",
    placeholder: "search runs",
    aria: { label: "Search runs" },
    oninput: once(150, fill),
  });
  const dialog = openDialog(`Compare ${run.name} with`, [search, list]);
  async function fill() {
    try {
      const { rows } = await get("/api/runs", { search: search.value, limit: 40 });
      const others = rows.filter((row) => row.id !== run.id && row.kind === "recipe");
      put(
        list,
        others.length
          ? others.map((row) =>
              h(
                "li",
                {},
                h(
                  "a",
                  { href: address("/compare", { run: [run.id, row.id] }), onclick: () => dialog.close() },
                  row.name,
                ),
                h("span.quiet", {}, ` ${row.recipe}, ${row.task}, seed ${row.seed}`),
              ),
            )
          : h("li.quiet", {}, "no other run fits"),
      );
    } catch (error) {
      around.fault(error);
    }
  }
  search.focus();
  fill();
}
