// Rollouts of one run or of several: searched, filtered, sorted, read one after the other.

import { address, get, lastRun } from "/page/asking.js";
import { h, once, put, tell } from "/page/dom.js";
import { Roving } from "/page/lists.js";
import { CardPane } from "/page/rollouts/card_pane.js";
import { chooseRuns } from "/page/rollouts/choosing.js";
import { columnsDialog } from "/page/rollouts/columns_dialog.js";
import { Filters } from "/page/rollouts/filters.js";
import { showPager } from "/page/rollouts/pager.js";
import { columnsOf, head, isNumber, rowOf } from "/page/rollouts/rows.js";
import { searchBox, searchHelp } from "/page/rollouts/search_box.js";
import { Asked, keyOf, shortName } from "/page/rollouts/state.js";
import { damagedFiles, filesRead, filterChips, runChips, summaryWords } from "/page/rollouts/summary.js";

const AGAIN = 400,
  MOST = 2000; // milliseconds until it is asked again while files are being read, longer and longer
const LARGE = 250000; // rollouts of which rows are shown before their filters are counted

export async function show(place, around) {
  if (!around.query.getAll("run").filter(Boolean).length) {
    const last = around.query.has("run") ? "" : await lastRun();
    if (!around.here()) return;
    if (last) return around.go(`/rollouts?${new URLSearchParams([["run", last], ...around.query])}`, { replace: true });
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
      steps: null,
      wish: null, // what somebody asked for and has not been answered
    });
    this.filters = new Filters(this.asked, (ask = true) => (ask ? this.changed() : this.showFilters(this.facets)));
    this.list = new Roving({ open: (n) => this.open(n), moved: () => this.follow() });
    this.showCard = once(90, () => this.beside.show(this.rows[this.list.at]));
  }

  async begin() {
    const keys = this.list
      .keys("rollouts")
      .on(["j", "ArrowDown"], "next", () => this.move(1))
      .on(["k", "ArrowUp"], "the one before", () => this.move(-1))
      .on([">", "PageDown"], "next page", () => this.turnPage("next"))
      .on(["<", "PageUp"], "the page before", () => this.turnPage("previous"))
      .on(["["], "the step before", () => this.toStep(-1))
      .on(["]"], "next step", () => this.toStep(1))
      .on(["g g"], "its whole group", () => this.group())
      .on(["f"], "filters", () => this.toFilters())
      .on(["w"], "which columns", () => this.columns())
      .on(["d"], "drop all filters", () => this.dropAll());
    this.beside = new CardPane(this.around, keys);
    this.build();
    this.around.live((runs) => {
      if (!runs || runs.some((id) => this.asked.has("run", id))) {
        this.steps = null;
        this.load({ quietly: true });
      }
    });
    this.around.cleanup(() => {
      clearTimeout(this.timer);
      this.stop?.abort();
      this.beside.leave();
    });
    await this.load({ then: () => this.rows.length && this.list.choose(0) });
  }

  build() {
    this.summary = h("p.summary", { role: "status", aria: { live: "polite" } }, "Reading…");
    this.progress = h("div.progress", { hidden: true });
    this.faults = h("div.faults", {});
    this.search = searchBox(
      this.asked.one("text"),
      (words) => this.searched(words),
      () => {
        if (this.rows.length) this.list.choose(Math.max(0, this.list.at));
      },
    );
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
        searchHelp(),
        h("button", { type: "button", onclick: () => this.columns() }, "Columns"),
        (this.save = h("a.button", { href: "#", target: "_self", download: "rollouts.jsonl" }, "Save as JSONL")),
      ),
      this.chips,
      h(
        "div.three",
        {},
        this.drawer,
        h("section.middle", { aria: { label: "List" } }, this.news, this.table, this.pager),
        this.beside.element,
      ),
    );
  }

  searched(words) {
    if (words !== this.asked.one("text")) {
      this.asked.set("text", words);
      this.changed();
    }
  }

  changed() {
    this.around.keepInAddress(this.asked.address);
    return this.load({});
  }

  // Ask for the page of rows that the address means. Quietly: what came by itself must not take away what somebody looks at, nor
  // what somebody just asked for.
  async load({ quietly = false, then = null }) {
    if (quietly && this.wish) ({ quietly, then } = this.wish);
    if (!quietly) this.wish = { quietly, then };
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
      this.wish = null;
      this.take(answer, quietly);
      then?.();
      if (!isLarge) return;
      const { facets } = await get("/api/rollouts", { ...query, size: 1, facets: true }, signal);
      if (mine === this.turn && this.around.here()) this.showFilters(facets);
    } catch (error) {
      if (error.name === "AbortError" || mine !== this.turn || !this.around.here()) return;
      this.wish = null;
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
    const { runs } = answer;
    put(this.summary, summaryWords(answer, isDone));
    this.progress.hidden = isDone;
    put(this.progress, isDone ? null : filesRead(runs));
    put(this.faults, damagedFiles(runs));
    put(
      this.names,
      runChips(runs, (id) => {
        this.asked.toggle("run", id);
        this.changed();
      }),
    );
    this.around.title(`Rollouts of ${runs.map((run) => shortName(run.name)).join(", ")}`);
    put(
      this.chips,
      filterChips(
        this.asked.filters,
        (name, value) => this.drop(name, value),
        () => this.dropAll(),
      ),
    );
    this.save.setAttribute("href", address("/api/rollouts/rows.jsonl", this.asked.query));
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
      this.beside.clear();
    }
    showPager(this.pager, answer, (which) => this.turnPage(which), this.table);
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

  columns() {
    if (this.answer)
      columnsDialog(
        this.asked,
        () => this.answer.runs,
        () => this.changed(),
      );
  }
}
