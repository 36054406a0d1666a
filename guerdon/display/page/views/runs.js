// All runs: a list that is searched, filtered and compared, live while they are written.

import { address, get } from "/page/asking.js";
import { sparkline } from "/page/charts/sparkline.js";
import { line as copyLine } from "/page/copying.js";
import { h, once, put, tell } from "/page/dom.js";
import { KeptRows, Roving } from "/page/lists.js";
import { count, plural } from "/page/numbers.js";
import { again, headlineWords, progressBar, statusChip, when } from "/page/runs/run_words.js";

const PAGE = 200;
const COLUMNS = [
  // key to sort by, words, class
  ["name", "name"],
  ["headline", "before → after", "headline"],
  ["status", "status"],
  [null, "over its steps", "way"],
  ["progress", "progress"],
  ["recipe", "recipe"],
  ["task", "task"],
  ["model", "model", "model"],
  ["reward", "reward", "reward"],
  ["seed", "seed", "num seed"],
  ["date", "started", "date"],
];

export async function show(place, around) {
  around.title("Runs");
  const wish = read(around.query);
  const marked = new Set(),
    folded = new Map(); // study's id: its runs
  let answer = null,
    query = 0;

  const search = h("input", {
    type: "search",
    value: wish.search,
    placeholder: "recipe, task, model, reward, setting",
    aria: { label: "Search runs" },
    data: { search: "" },
    oninput: once(180, () => change({ search: search.value, from: 0 })),
  });
  const chips = h("div.chips", { role: "group", aria: { label: "Status" } });
  const selects = { recipe: select("recipe"), task: select("task") };
  const compare = h(
    "button.main",
    { type: "button", disabled: true, onclick: open_compare, title: "Mark runs with x, compare them with c" },
    "Compare",
  );
  const state = h("span.quiet.said", { role: "status" });
  const body = h("tbody", {});
  const head = h("tr", {}, h("th", {}, h("span.visually-hidden", {}, "marked")), COLUMNS.map(header));
  const table = h("div.scroll", {}, h("table.runs-table", { aria: { label: "Runs" } }, h("thead", {}, head), body));
  const empty = h("div.empty", { hidden: true });
  const pages = h("nav.toolbar", { aria: { label: "Pages" } });
  put(
    place,
    h("div.title-line", {}, h("h1", {}, "Runs"), state),
    h(
      "div.toolbar",
      {},
      search,
      chips,
      h("label", {}, "recipe", selects.recipe),
      h("label", {}, "task", selects.task),
      h("span.room"),
      compare,
    ),
    table,
    empty,
    pages,
  );

  const list = new Roving({
    open: (n) => around.go(`/run/${list.rows[n].dataset.id}`),
    mark: (n) => mark(list.rows[n].dataset.id),
  });
  const rows = new KeptRows(body, list, { said: (row) => [row, marked.has(row.id), folded.has(row.id)], cells });
  around.keys(
    list
      .keys("runs")
      .on("c", "compare what is marked", open_compare)
      .on("ArrowRight", "unfold a study", () => unfold(list.rows[list.at]?.dataset.id, true))
      .on("ArrowLeft", "fold it", () => unfold(list.rows[list.at]?.dataset.id, false))
      .on("]", "next page", () => turn(1))
      .on("[", "page before", () => turn(-1)),
  );
  const refresh = around.guard(ask);
  again(around, refresh, { goesOn: () => answer?.rows.some((row) => row.status === "running") });
  await refresh();

  async function ask() {
    const mine = ++query;
    const asked = await get("/api/runs", {
      search: wish.search,
      recipe: wish.recipe,
      task: wish.task,
      status: wish.status,
      sort: wish.sort,
      up: wish.up,
      offset: wish.from,
      limit: PAGE,
    });
    const opened = await Promise.all(
      wish.open
        .filter((id) => asked.rows.some((row) => row.id === id))
        .map(async (id) => [id, (await get("/api/runs", { within: id, sort: "name", up: true, limit: 500 })).rows]),
    );
    if (mine !== query || !around.here()) return;
    folded.clear();
    for (const [id, inner] of opened) folded.set(id, inner);
    answer = asked;
    draw();
    if (answer.waiting) await ask(); // what was not read in time
  }

  function draw() {
    const { total, all, counts, waiting, places } = answer;
    const narrowed = wish.search || wish.recipe.length || wish.task.length || wish.status.length;
    put(
      state,
      waiting
        ? `reading ${count(all - waiting)} of ${plural(all, "run")}`
        : narrowed
          ? `${count(total)} of ${plural(all, "run")}`
          : plural(total, "run"),
    );
    for (const name of ["recipe", "task"]) options(name, counts[name]);
    put(
      chips,
      ["running", "complete", "stopped", "unreadable"].map((word) => {
        const amount = counts.status.find(([each]) => each === word)?.[1] ?? 0,
          on = wish.status.includes(word);
        return amount || on
          ? h(
              "button.chip",
              {
                type: "button",
                aria: { pressed: String(on) },
                data: { key: `status ${word}` },
                onclick: () =>
                  change({ status: on ? wish.status.filter((w) => w !== word) : [...wish.status, word], from: 0 }),
              },
              `${word} ${count(amount)}`,
            )
          : null;
      }),
    );
    table.hidden = !answer.rows.length;
    empty.hidden = Boolean(answer.rows.length);
    if (!answer.rows.length)
      put(
        empty,
        all
          ? h(
              "p",
              {},
              "No run fits. ",
              h(
                "button",
                {
                  type: "button",
                  onclick: () => {
                    search.value = "";
                    change({ search: "", recipe: [], task: [], status: [], from: 0 });
                  },
                },
                "Show all",
              ),
            )
          : nothing(places),
      );
    rows.arrange(answer.rows.flatMap((row) => [row, ...(folded.get(row.id) ?? [])]));
    for (const th of head.querySelectorAll("th[data-sort]")) {
      const on = th.dataset.sort === wish.sort;
      if (on) th.setAttribute("aria-sort", wish.up ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    }
    const last = Math.ceil(total / PAGE),
      at = wish.from / PAGE + 1;
    put(
      pages,
      last > 1
        ? [
            h("button", { type: "button", disabled: at <= 1, onclick: () => turn(-1) }, "← before"),
            `page ${at} of ${last}`,
            h("button", { type: "button", disabled: at >= last, onclick: () => turn(1) }, "next →"),
          ]
        : null,
    );
    compare.disabled = marked.size < 2;
    put(compare, marked.size ? `Compare ${marked.size}` : "Compare");
  }

  function cells(row, element) {
    element.classList.toggle("inner", Boolean(row.within));
    const toggle = row.inner
      ? h(
          "button.plain.fold",
          {
            type: "button",
            data: { key: "fold" },
            aria: { expanded: String(folded.has(row.id)), label: `Runs of ${row.name}` },
            onclick: () => unfold(row.id, !folded.has(row.id)),
          },
          folded.has(row.id) ? "▾" : "▸",
        )
      : null;
    const fit = row.inner
      ? h(
          "span.quiet",
          {},
          row.inner_fit === row.inner
            ? ` ${plural(row.inner, "run")}`
            : ` ${row.inner_fit} of ${plural(row.inner, "run")} fit`,
        )
      : null;
    const alarms = row.alarms
      ? h(
          "a.alarm-count",
          {
            class: row.worst === "bad" ? "bad" : "wait",
            href: `/run/${row.id}#alarms`,
            data: { key: "alarms" },
            title: plural(row.alarms, "alarm"),
          },
          `⚠ ${row.alarms}`,
        )
      : null;
    return [
      h(
        "td.marks",
        {},
        h("input", {
          type: "checkbox",
          checked: marked.has(row.id),
          data: { key: "mark" },
          aria: { label: `Mark ${row.name}` },
          disabled: row.status === "unreadable",
          onchange: () => mark(row.id),
        }),
      ),
      h(
        "td.name",
        {},
        toggle,
        h("a", { href: `/run/${row.id}`, data: { key: "name" }, title: row.path }, row.name),
        fit,
        alarms,
        row.status === "unreadable" ? h("div.why.bad", {}, row.why) : null,
      ),
      h("td.headline", { title: row.headline?.about ?? null }, row.headline ? headlineWords(row.headline) : null),
      h("td", {}, statusChip(row)),
      h("td.way", {}, row.spark ? sparkline(row.spark.values, row.spark.of) : null),
      h("td", {}, progressBar(row.progress)),
      h("td", {}, row.recipe),
      h("td", {}, row.task),
      h("td.model", {}, row.model),
      h("td.reward", { title: row.reward || null }, row.reward),
      h("td.num.seed", {}, row.seed),
      h("td.date", {}, when(row.created)),
    ];
  }

  function mark(id) {
    if (rows.get(id)?.querySelector("input")?.disabled) return;
    marked.has(id) ? marked.delete(id) : marked.add(id);
    tell(`${marked.size} marked`);
    draw();
  }

  function open_compare() {
    if (marked.size < 2) {
      put(state, "mark two runs or more with x, then press c");
      return;
    }
    around.go(address("/compare", { run: [...marked] }));
  }

  function unfold(id, wanted) {
    const row = answer.rows.find((each) => each.id === id);
    if (!row?.inner) return;
    change({ open: wanted ? [...new Set([...wish.open, id])] : wish.open.filter((each) => each !== id) });
  }

  function turn(by) {
    const from = wish.from + by * PAGE;
    if (from < 0 || from >= answer.total) return;
    change({ from });
    scrollTo({ top: 0 });
  }

  function change(changes) {
    Object.assign(wish, changes);
    around.keepInAddress(
      address("/", { ...wish, from: wish.from || "", sort: wish.sort === "date" && !wish.up ? "" : wish.sort }),
    );
    refresh();
  }

  function select(name) {
    return h("select", {
      aria: { label: `Only the ${name}` },
      onchange: (event) => change({ [name]: event.target.value ? [event.target.value] : [], from: 0 }),
    });
  }

  function options(name, counts) {
    const said = JSON.stringify([counts, wish[name]]);
    if (selects[name].dataset.said === said) return;
    selects[name].dataset.said = said;
    put(
      selects[name],
      h("option", { value: "" }, "all"),
      counts.map(([word, amount]) =>
        h("option", { value: word, selected: wish[name].includes(word) }, `${word} (${amount})`),
      ),
    );
  }

  function header([key, words, more]) {
    if (!key) return h("th", { class: more ?? "" }, words);
    return h(
      "th",
      { class: more ?? "", scope: "col", data: { sort: key } },
      h(
        "button",
        {
          type: "button",
          onclick: () =>
            change({
              sort: key,
              up: wish.sort === key ? !wish.up : !["date", "headline", "progress"].includes(key),
              from: 0,
            }),
        },
        words,
      ),
    );
  }
}

function nothing(places) {
  return [
    h("p", {}, `There is no run in ${places.join(", ")} yet. Train something, and it shows up here as it goes:`),
    copyLine("guerdon train grpo --task successor --model tabular --set lr=0.3 --steps 60"),
  ];
}

function read(query) {
  return {
    search: query.get("search") ?? "",
    recipe: query.getAll("recipe"),
    task: query.getAll("task"),
    status: query.getAll("status"),
    sort: query.get("sort") ?? "date",
    up: query.get("up") === "1",
    from: Number.parseInt(query.get("from") ?? "0", 10) || 0,
    open: query.getAll("open"),
  };
}
