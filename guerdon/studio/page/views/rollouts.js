// Rollouts of one run or of several: searched, filtered, sorted, read one after the other.

import { address, get } from "/page/asking.js";
import { h, once, put, tell } from "/page/dom.js";
import { hold, openDialog } from "/page/keys.js";
import { Roving } from "/page/lists.js";
import { count, number, plural } from "/page/numbers.js";
import { rolloutCard } from "/page/rollout_card.js";
import { chooseRuns } from "/page/rollouts/choosing.js";
import { Filters } from "/page/rollouts/filters.js";
import { USUAL, columnsOf, head, isNumber, rowOf } from "/page/rollouts/rows.js";
import { Asked, keyOf, shortName } from "/page/rollouts/state.js";

const AGAIN = 400,
  MOST = 2000; // milliseconds until it is asked again while files are being read, longer and longer
const LARGE = 250000; // rollouts of which rows are shown before their filters are counted
const LATE = 300; // and after which a card is shown that is still being read
const WORDS = { text: "says", where: "", reason: "no number:", learned: "learned from", ask: "group", label: "label" };

export async function show(place, around) {
  if (!around.query.getAll("run").filter(Boolean).length) {
    around.title("Rollouts");
    return chooseRuns(place, around);
  }
  const view = new RolloutsView(place, around);
  await view.begin();
}

class RolloutsView {
  constructor(place, around) {
    Object.assign(this, {
      place,
      around,
      asked: new Asked(around.query),
      answer: null,
      rows: [],
      timer: 0,
      turn: 0,
      wait: AGAIN,
      stop: null,
      shown: "",
      letGo: () => {},
      steps: null,
    });
    this.filters = new Filters(this.asked, (ask = true) => (ask ? this.changed() : this.showFilters(this.facets)));
    this.list = new Roving({ open: (n) => this.open(n), moved: () => this.follow() });
    this.showCard = once(90, () => this.card());
  }

  async begin() {
    this.build();
    this.keys = this.list
      .keys("rollouts")
      .on(["j", "ArrowDown"], "next", () => this.move(1))
      .on(["k", "ArrowUp"], "the one before", () => this.move(-1))
      .on([">", "PageDown"], "next page", () => this.turnPage("next"))
      .on(["<", "PageUp"], "the page before", () => this.turnPage("previous"))
      .on(["["], "the step before", () => this.toStep(-1))
      .on(["]"], "next step", () => this.toStep(1))
      .on(["g g"], "its whole group", () => this.group())
      .on(["f"], "filters", () => this.toFilters())
      .on(["w"], "which columns", () => this.chooseColumns())
      .on(["d"], "drop all filters", () => this.dropAll());
    this.holdKeys(null);
    this.around.live((runs) => {
      if (!runs || runs.some((id) => this.asked.has("run", id))) {
        this.steps = null;
        this.load({ quietly: true });
      }
    });
    this.around.cleanup(() => {
      clearTimeout(this.timer);
      this.stop?.abort();
      this.reading?.abort();
      this.letGo();
    });
    await this.load({});
    if (this.rows.length) this.list.choose(0);
  }

  build() {
    this.summary = h("p.summary", { role: "status", aria: { live: "polite" } }, "Reading…");
    this.progress = h("div.progress", { hidden: true });
    this.faults = h("div.faults", {});
    this.search = h("input.search", {
      type: "search",
      value: this.asked.one("text"),
      placeholder: 'Words, "a phrase", -without, re:pattern',
      autocomplete: "off",
      spellcheck: "false",
      aria: { label: "Search prompts and completions", describedby: "search-words" },
      data: { search: "" },
      oninput: once(250, () => this.searched()),
      onkeydown: (event) => {
        if (event.key === "Enter") {
          this.searched();
          if (this.rows.length) this.list.choose(Math.max(0, this.list.at));
        }
      },
    });
    this.chips = h("div.chips.active", { role: "group", aria: { label: "Filters that are on" } });
    this.headRow = h("thead", {});
    this.body = h("tbody", {});
    this.news = h(
      "button.news",
      { type: "button", hidden: true, onclick: () => this.load({}) },
      "There are new rollouts: show them",
    );
    this.pager = h("nav.pager", { aria: { label: "Pages" } });
    this.empty = h("p.empty", { hidden: true });
    this.table = h(
      "div.list.scroll",
      { tabindex: -1 },
      h("table", { aria: { label: "Rollouts" } }, this.headRow, this.body),
      this.empty,
    );
    this.pane = h("aside.pane", { aria: { label: "The rollout that is chosen" } });
    this.drawer = h("details.drawer", { open: innerWidth > 1240 }, h("summary", {}, "Filters"), this.filters.element);
    this.names = h("span.names", {});
    put(
      this.place,
      h("div.head", {}, h("h1", {}, "Rollouts"), this.names),
      this.summary,
      this.progress,
      this.faults,
      h(
        "div.toolbar",
        {},
        this.search,
        h(
          "details.words",
          {},
          h("summary", {}, "How to search"),
          h(
            "div.card",
            { id: "search-words" },
            SEARCH.map(([said, words]) => [h("code", {}, said), h("span", {}, words)]),
          ),
        ),
        h("button", { type: "button", onclick: () => this.chooseColumns() }, "Columns"),
        (this.save = h("a.button", { href: "#", target: "_self", download: "rollouts.jsonl" }, "Save as JSONL")),
      ),
      this.chips,
      h(
        "div.three",
        {},
        this.drawer,
        h("section.middle", { aria: { label: "List" } }, this.news, this.table, this.pager),
        this.pane,
      ),
    );
  }

  searched() {
    const words = this.search.value.trim();
    if (words !== this.asked.one("text")) {
      this.asked.set("text", words);
      this.changed();
    }
  }

  changed() {
    this.around.keepInAddress(this.asked.address);
    return this.load({});
  }

  // Ask for the page of rows that the address means. Quietly: what came by itself must not take away what somebody looks at.
  async load({ quietly = false, then = null }) {
    const mine = ++this.turn;
    clearTimeout(this.timer);
    this.stop?.abort();
    this.stop = new AbortController();
    try {
      const columns = this.answer ? columnsOf(this.asked, this.answer.runs) : this.asked.all("show");
      const query = { ...this.asked.query, column: columns },
        signal = this.stop.signal;
      const isLarge = (this.answer?.all ?? 0) > LARGE;
      const answer = await get("/api/rollouts", { ...query, facets: !isLarge }, signal);
      if (mine !== this.turn || !this.around.here()) return;
      this.around.fault(null);
      this.take(answer, quietly);
      then?.();
      if (!isLarge) return;
      const { facets } = await get("/api/rollouts", { ...query, size: 1, facets: true }, signal);
      if (mine === this.turn && this.around.here()) this.showFilters(facets);
    } catch (error) {
      if (error.name === "AbortError" || mine !== this.turn || !this.around.here()) return;
      this.around.fault(error);
    }
  }

  take(answer, quietly) {
    const before = this.rows.map(keyOf),
      after = answer.rows.map(keyOf),
      first = this.answer === null;
    const grew = before.every((key, n) => key === after[n]);
    const busy = quietly && before.length && !grew && (this.list.at > 0 || this.table.scrollTop > 0);
    const isDone = answer.runs.every((run) => run.indexed.done);
    this.answer = busy
      ? {
          ...answer,
          rows: this.answer.rows,
          next: this.answer.next,
          previous: this.answer.previous,
          from: this.answer.from,
        }
      : answer;
    this.tellAll(answer, isDone);
    if (answer.facets) this.showFilters(answer.facets);
    this.news.hidden = !busy;
    if (!busy) this.fill(answer, first);
    if (!isDone) this.timer = setTimeout(() => this.load({ quietly: true }), this.wait);
    this.wait = isDone ? AGAIN : Math.min(MOST, 1.5 * this.wait);
  }

  showFilters(facets) {
    this.facets = facets;
    this.filters.show(facets, this.answer.runs);
  }

  tellAll(answer, isDone) {
    const { total, all, steps, mean_reward: mean, runs } = answer;
    const many = total === all ? plural(all, "rollout") : `${count(total)} of ${plural(all, "rollout")}`;
    const parts = [
      `${many}${isDone ? "" : " so far"}`,
      steps && (steps[0] === steps[1] ? `step ${count(steps[0])}` : `steps ${count(steps[0])} to ${count(steps[1])}`),
      mean !== null && `mean reward ${number(mean)}`,
    ];
    put(this.summary, parts.filter(Boolean).join(", "));
    const [files, of] = ["files", "of"].map((name) => runs.reduce((sum, run) => sum + run.indexed[name], 0));
    this.progress.hidden = isDone;
    put(
      this.progress,
      isDone
        ? null
        : [
            h("progress", { max: of, value: files, aria: { label: "Files that are read" } }),
            h("span.quiet", {}, `${count(files)} of ${plural(of, "file")} read, newest first`),
          ],
    );
    const damaged = runs.reduce((sum, run) => sum + run.damaged, 0);
    put(
      this.faults,
      damaged
        ? h(
            "details",
            {},
            h("summary.bad", {}, `${plural(damaged, "file")} could not be read`),
            h(
              "ul",
              {},
              runs.flatMap((run) => run.faults).map((fault) => h("li", {}, fault)),
            ),
          )
        : null,
    );
    put(
      this.names,
      runs.map((run, n) =>
        h(
          "span.chip",
          { class: runs.length > 1 ? `hue-${n % 8}` : "" },
          h("a", { href: `/run/${run.id}`, title: run.name }, shortName(run.name)),
          runs.length > 1
            ? h(
                "button.plain",
                {
                  type: "button",
                  aria: { label: `Leave out ${run.name}` },
                  onclick: () => {
                    this.asked.toggle("run", run.id);
                    this.changed();
                  },
                },
                "×",
              )
            : null,
        ),
      ),
      h("a.quiet", { href: "/rollouts" }, "other runs"),
    );
    this.around.title(`Rollouts of ${runs.map((run) => shortName(run.name)).join(", ")}`);
    put(
      this.chips,
      this.asked.filters.map(([name, value]) =>
        h(
          "span.chip",
          {},
          this.chip(name, value),
          h(
            "button.plain",
            {
              type: "button",
              aria: { label: `Drop the filter ${name} ${value}` },
              onclick: () => this.drop(name, value),
            },
            "×",
          ),
        ),
      ),
      this.asked.filters.length > 1
        ? h("button.plain.small", { type: "button", onclick: () => this.dropAll() }, "Drop all")
        : null,
    );
    this.save.setAttribute("href", address("/api/rollouts/rows.jsonl", this.asked.query));
  }

  chip(name, value) {
    return `${WORDS[name] ?? name} ${name === "where" ? value.replace(/:([^:]*)$/, " $1").replace("..", " to ") : value}`.trim();
  }

  drop(name, value) {
    this.asked.set(name, ...this.asked.all(name).filter((each) => each !== value));
    if (name === "text") this.search.value = "";
    this.changed();
    this.search.focus();
  }

  dropAll() {
    this.asked.clear();
    this.search.value = "";
    this.changed();
  }

  fill(answer, first) {
    const focused = this.body.contains(document.activeElement),
      sorted = this.headRow.contains(document.activeElement) ? document.activeElement.dataset.sort : null;
    const chosen = this.rows[this.list.at] && keyOf(this.rows[this.list.at]),
      top = this.table.scrollTop;
    const columns = columnsOf(this.asked, answer.runs);
    const scale = Math.max(
      ...answer.rows.map((row) => Math.abs(Number(row.values.advantage)) || 0).filter(Number.isFinite),
      0,
    );
    this.rows = answer.rows;
    this.table.firstChild.className = this.asked.all("show").length ? "" : "usual"; // narrow, it leaves out some by itself
    put(
      this.headRow,
      head(
        columns,
        this.asked,
        (by) => {
          this.asked.set("sort", by === "-step" ? "" : by);
          this.changed();
        },
        (name) => isNumber(name, answer.rows[0]),
      ),
    );
    put(
      this.body,
      answer.rows.map((row, n) => {
        const made = rowOf(row, columns, answer.runs, scale);
        made.addEventListener("click", () => this.list.choose(n));
        made.addEventListener("dblclick", () => this.open(n));
        return made;
      }),
    );
    this.list.at = this.rows.findIndex((row) => keyOf(row) === chosen);
    this.list.set([...this.body.rows]);
    this.table.scrollTop = top;
    if (focused) this.list.choose(Math.max(0, this.list.at));
    else if (!first && this.list.at < 0 && this.rows.length) {
      this.list.at = 0;
      this.list.set([...this.body.rows]);
      this.follow();
    }
    if (sorted) this.headRow.querySelector(`[data-sort="${CSS.escape(sorted)}"]`)?.focus({ preventScroll: true });
    this.empty.hidden = answer.rows.length > 0;
    put(
      this.empty,
      answer.runs.every((run) => run.indexed.done)
        ? answer.all
          ? "No rollout is like this: drop a filter, or search for less."
          : "This run has kept no rollouts."
        : "None so far; files are still being read.",
    );
    if (!answer.rows.length) {
      put(this.pane);
      this.shown = "";
    }
    this.page(answer);
  }

  page({ rows, from, total, next, previous }) {
    const focused = this.pager.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    put(
      this.pager,
      h(
        "button",
        { type: "button", disabled: !previous, data: { focus: "previous" }, onclick: () => this.turnPage("previous") },
        "← Before",
      ),
      h("span.quiet", {}, rows.length ? `${count(from + 1)} to ${count(from + rows.length)} of ${count(total)}` : ""),
      h(
        "button",
        { type: "button", disabled: !next, data: { focus: "next" }, onclick: () => this.turnPage("next") },
        "Next →",
      ),
    );
    this.pager.hidden = !previous && !next;
    if (focused)
      (this.pager.querySelector(`[data-focus=${focused}]:enabled`) ?? this.table).focus({ preventScroll: true });
  }

  move(by) {
    const to = this.list.at + by;
    if (to >= this.rows.length && this.answer?.next) return this.turnPage("next", 0);
    if (to < 0 && this.answer?.previous && this.list.at >= 0) return this.turnPage("previous", Infinity);
    return this.list.choose(to);
  }

  turnPage(which, at = 0) {
    const place = this.answer?.[which];
    if (!place) return;
    this.asked.set("after", which === "next" ? place : "");
    this.asked.set("before", which === "next" ? "" : place);
    this.around.keepInAddress(this.asked.address);
    this.load({
      then: () => {
        this.table.scrollTop = 0;
        this.list.choose(Math.min(at, this.rows.length - 1));
      },
    });
  }

  async toStep(by) {
    await this.around.guard(async () => {
      this.steps ??= (await get("/api/rollouts/steps", { run: this.asked.all("run") })).steps;
      const now = this.rows[this.list.at]?.step ?? Number(this.asked.one("step"));
      const to = by > 0 ? this.steps.find((step) => step > now) : this.steps.findLast((step) => step < now);
      if (to === undefined) return tell(by > 0 ? "there is no later step" : "there is no earlier step");
      this.asked.set("step", to);
      this.around.keepInAddress(this.asked.address);
      await this.load({
        then: () => {
          this.table.scrollTop = 0;
          if (this.rows.length) this.list.choose(0);
        },
      });
    })();
  }

  toFilters() {
    this.drawer.open = true;
    this.drawer.querySelector("input, button")?.focus();
  }

  group() {
    const row = this.rows[this.list.at];
    if (row) this.around.go(`/group/${row.run}/${row.step}/${encodeURIComponent(row.ask)}`);
  }
  open(n) {
    const row = this.rows[n];
    this.around.go(
      address(`/rollout/${row.run}/${row.step}/${encodeURIComponent(row.episode)}`, { segment: row.segment }),
    );
  }

  follow() {
    this.showCard();
  }

  // The keys of the list go before those of the card beside it.
  holdKeys(card) {
    this.letGo();
    const held = [card, this.keys].filter(Boolean).map(hold);
    this.letGo = () => held.forEach((call) => call());
  }

  async card() {
    const row = this.rows[this.list.at],
      key = row && keyOf(row);
    if (!row || !this.around.here() || key === this.shown) return;
    this.shown = key;
    this.reading?.abort();
    this.reading = new AbortController();
    const { signal } = this.reading,
      inner = h("div.card", {});
    const late = setTimeout(() => {
      if (!signal.aborted) put(this.pane, inner);
    }, LATE); // it says itself what it waits for
    try {
      const { keys } = await rolloutCard(
        inner,
        { run: row.run, step: row.step, episode: row.episode, segment: row.segment, signal },
        this.around,
      );
      if (signal.aborted || !this.around.here()) return;
      this.holdKeys(keys);
      put(this.pane, inner);
      this.pane.scrollTop = 0;
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted && this.around.here())
        put(this.pane, h("p.bad", { role: "alert" }, error.message));
    } finally {
      clearTimeout(late);
    }
  }

  chooseColumns() {
    if (!this.answer) return;
    const every = [...new Set(this.answer.runs.flatMap((run) => [...run.plain, ...run.columns]))];
    const order = (names) => [
      ...USUAL.filter((name) => names.includes(name)),
      ...names.filter((name) => !USUAL.includes(name)),
    ];
    const shown = columnsOf(this.asked, this.answer.runs);
    const boxes = order(every).map((name) =>
      h(
        "label.box",
        {},
        h("input", { type: "checkbox", value: name, checked: shown.includes(name), onchange: () => apply() }),
        name,
      ),
    );
    const apply = () => {
      const names = boxes
        .map((box) => box.querySelector("input"))
        .filter((input) => input.checked)
        .map((input) => input.value);
      const usual = columnsOf(new Asked(new URLSearchParams()), this.answer.runs).filter((name) => name !== "run");
      this.asked.set("show", ...(names.join("\n") === usual.join("\n") ? [] : names));
      this.changed();
    };
    openDialog("Columns of the list", h("div.columns", {}, boxes));
  }
}

const SEARCH = [
  ["carry two", "both words, in the prompt or the completion; large and small letters are alike"],
  ['"carry the two"', "these words as they stand"],
  ["-wait", "without this word"],
  ["re:\\d+ \\+ \\d+", 'a regular expression; with spaces: re:"a +b"'],
];
