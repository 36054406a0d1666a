// All audits, newest first: of which reward, on which task, how grave. Two of a task are marked and compared.

import { countChips, ofAudits } from "/page/audits/audit_words.js";
import { address, get } from "/page/asking.js";
import { line as copyLine } from "/page/copying.js";
import { h, once, put, tell } from "/page/dom.js";
import { KeptRows, Roving } from "/page/lists.js";
import { count, plural } from "/page/numbers.js";
import { again, when } from "/page/runs/run_words.js";

const TITLES = ["reward", "task", "found", "problems", "completions", "when", "folder"];

export async function show(place, around) {
  around.title("Audits");
  const wish = { search: around.query.get("search") ?? "", task: around.query.get("task") ?? "" };
  const marked = new Set();
  let answer = { audits: [], places: [] };
  const state = h("span.quiet.said", { role: "status" }),
    body = h("tbody", {}),
    empty = h("div.empty", { hidden: true });
  const search = h("input", {
    type: "search",
    value: wish.search,
    placeholder: "reward, task, folder",
    aria: { label: "Search audits" },
    data: { search: "" },
    oninput: once(120, () => change({ search: search.value })),
  });
  const tasks = h("select", { onchange: () => change({ task: tasks.value }) });
  const compare = h(
    "button.main",
    {
      type: "button",
      disabled: true,
      onclick: toCompare,
      title: "Mark two audits of a task with x, compare them with c",
    },
    "Compare",
  );
  const table = h(
    "div.scroll",
    {},
    h(
      "table.runs-table.audits-table",
      { aria: { label: "Audits" } },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", {}, h("span.visually-hidden", {}, "marked")),
          TITLES.map((words) => h("th", { scope: "col", class: isNumber(words) ? "num" : "" }, words)),
        ),
      ),
      body,
    ),
  );
  put(
    place,
    h("div.title-line", {}, h("h1", {}, "Audits"), state),
    h("div.toolbar", {}, search, h("label", {}, "task", tasks), h("span.room"), compare),
    table,
    empty,
  );
  const list = new Roving({
    open: (n) => around.go(`/audits/${list.rows[n].dataset.id}`),
    mark: (n) => mark(list.rows[n].dataset.id),
  });
  const rows = new KeptRows(body, list, { said: (row) => [row, marked.has(row.id)], cells });
  around.keys(list.keys("audits").on("c", "compare the two that are marked", toCompare));
  const refresh = around.guard(async () => {
    const told = await get("/api/audits");
    if (!around.here()) return;
    answer = told;
    draw();
  });
  again(around, refresh, { concerns: ofAudits });
  await refresh();

  function draw() {
    const { audits, places } = answer;
    for (const id of marked) if (!audits.some((row) => row.id === id)) marked.delete(id);
    const words = wish.search.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = audits.filter(
      (row) =>
        (!wish.task || row.task === wish.task) &&
        words.every((word) => `${row.reward ?? ""} ${row.task ?? ""} ${row.path}`.toLowerCase().includes(word)),
    );
    put(
      state,
      fit.length === audits.length
        ? plural(audits.length, "audit")
        : `${fit.length} of ${plural(audits.length, "audit")}`,
    );
    options(audits);
    table.hidden = !fit.length;
    empty.hidden = Boolean(fit.length);
    put(empty, fit.length ? null : audits.length ? "No audit fits." : nothing(places));
    rows.arrange(fit);
    compare.disabled = !comparable();
  }

  function options(audits) {
    const names = [...new Set([...audits.map((row) => row.task).filter(Boolean), wish.task].filter(Boolean))].sort();
    const said = JSON.stringify([names, wish.task]);
    if (tasks.dataset.said === said) return;
    tasks.dataset.said = said;
    put(
      tasks,
      h("option", { value: "" }, "all"),
      names.map((name) => h("option", { value: name, selected: name === wish.task }, name)),
    );
  }

  function cells(row) {
    return [
      h(
        "td.marks",
        {},
        h("input", {
          type: "checkbox",
          checked: marked.has(row.id),
          data: { key: "mark" },
          aria: { label: `Mark ${row.name}` },
          disabled: Boolean(row.why),
          onchange: () => mark(row.id),
        }),
      ),
      h(
        "td.name",
        {},
        h("a", { href: `/audits/${row.id}`, data: { key: "name" }, title: row.path }, row.reward ?? row.name),
        row.why ? h("div.why.bad", {}, row.why) : null,
      ),
      h("td", {}, row.task),
      h("td", {}, row.why ? h("span.chip.bad", {}, "unreadable") : countChips(row)),
      h("td.num", {}, row.why ? "" : count(row.problems)),
      h("td.num", {}, row.why ? "" : count(row.samples)),
      h("td.date", {}, when(row.when)),
      h("td.quiet.folder", { title: row.path }, row.name),
    ];
  }

  function mark(id) {
    const row = answer.audits.find((each) => each.id === id);
    if (!row || row.why) return;
    marked.has(id) ? marked.delete(id) : marked.add(id);
    tell(`${marked.size} marked`);
    draw();
  }

  // The two that are marked, the older first; null unless they are two of one task.
  function comparable() {
    const two = answer.audits.filter((row) => marked.has(row.id)).reverse();
    return two.length === 2 && two[0].task === two[1].task ? two : null;
  }

  function toCompare() {
    const two = comparable();
    if (two) around.go(address("/audits/compare", { audit: two.map((row) => row.id) }));
    else put(state, "mark two audits of the same task with x, then press c");
  }

  function change(changes) {
    Object.assign(wish, changes);
    around.keepInAddress(address("/audits", wish));
    draw();
  }
}

const isNumber = (words) => words === "problems" || words === "completions";

function nothing(places) {
  return [
    h("p", {}, `There is no audit in ${places.join(", ")} yet. Audit a reward, and it shows up here:`),
    copyLine("guerdon audit my.py:right --task trace:3 --out audits/right"),
  ];
}
