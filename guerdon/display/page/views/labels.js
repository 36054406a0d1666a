// Labelling: a queue of samples that is gone through by keyboard alone, one at a time or two tries at one prompt.

import { address, get, lastRun, post } from "/page/asking.js";
import { h, put, tell } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { VERDICTS, labelBar, same } from "/page/labelling.js";
import { chooseRun } from "/page/labels/choosing.js";
import { showControls } from "/page/labels/controls.js";
import { showProgress } from "/page/labels/progress.js";
import { showSide } from "/page/labels/side.js";
import { count } from "/page/numbers.js";
import { rolloutCard } from "/page/rollout_card.js";

export async function show(place, around) {
  const run = around.query.get("run") ?? "";
  const last = around.query.has("run") ? "" : await lastRun();
  if (!around.here()) return;
  if (last) return around.go(address("/labels", { run: last }), { replace: true });
  if (!run) return chooseRun(place, around);
  const view = new Labelling(place, around, run);
  await view.begin();
}

class Labelling {
  constructor(place, around, run) {
    Object.assign(this, { place, around, run, queue: [], pairs: [], at: 0, turn: 0, looked: 0 });
    this.order = around.query.get("order") ?? "high";
    this.two = around.query.get("mode") === "pairs";
    this.every = around.query.get("labelled") === "1";
    this.blind = around.query.get("blind") === "1"; // what was paid is not shown: a label that follows the reward says nothing about it
    this.card = h("div.label-card", {});
    this.stage = h("div.label-stage", { role: "region", aria: { label: "What is labelled now" } });
    this.progress = h("p.label-progress", { role: "status" });
    this.side = h("div.label-side", {});
    this.controls = h("div.toolbar", {});
  }

  async begin() {
    const { around } = this;
    this.overview = await get("/api/labels", { run: this.run });
    around.title(`Labels of ${this.overview.name}`);
    put(
      this.place,
      h("h1", {}, "Labels ", h("a.quiet.label-run", { href: `/run/${this.run}` }, this.overview.name)),
      h("p.quiet", {}, h("a", { href: "/labels?run=" }, "other runs")),
      this.controls,
      this.progress,
      h("div.label-split", {}, this.stage, this.side),
    );
    this.drawControls();
    this.drawSide();
    const heard = (event) => this.heard(event.detail);
    document.addEventListener("labelled", heard);
    around.cleanup(() => document.removeEventListener("labelled", heard));
    around.live(
      around.guard(async (ids) => {
        if (!ids || ids.includes(this.run)) await this.refresh();
      }),
    );
    this.keys = layer("labels");
    around.keys(this.keys);
    await this.load();
  }

  // --- which ---------------------------------------------------------------------------------------------------------

  async load() {
    const { run } = this;
    if (this.two) {
      const told = await get("/api/labels/pairs", { run });
      Object.assign(this, { pairs: told.pairs, told });
    } else {
      const told = await get("/api/labels/queue", { run, order: this.order, labelled: this.every });
      Object.assign(this, { queue: told.samples, told });
    }
    this.at = 0;
    const wanted = this.around.query.get("sample");
    if (wanted && !this.two) {
      const [step, episode, segment] = wanted.split(":");
      this.goTo({ step: Number(step), episode, segment: Number(segment) });
      this.around.query.delete("sample");
    }
    await this.draw();
  }

  goTo(sample) {
    const there = this.queue.findIndex((each) => same(each, sample));
    if (there >= 0) this.at = there;
    else {
      this.queue.splice(this.at, 0, sample);
    }
  }

  get list() {
    return this.two ? this.pairs : this.queue;
  }

  async move(by) {
    const next = this.at + by;
    if (next < 0) return;
    if (next >= this.list.length && this.told.there > this.list.length) {
      await this.load();
      return;
    }
    this.at = Math.min(next, this.list.length);
    await this.draw();
  }

  // --- what happens --------------------------------------------------------------------------------------------------

  heard({ sample, kind, counts }) {
    if (sample.run !== this.run) return;
    if (counts) this.overview.counts = counts;
    const current = this.list[this.at];
    const verdict = VERDICTS.some(([name]) => name === kind);
    if (!this.two && verdict && current && same(current, sample)) {
      current.kind = kind;
      this.around.guard(() => this.move(1))();
    }
    this.drawProgress();
    this.later();
  }

  // Something was labelled: what was asked about labels before is out of date, however late its answer comes.
  later() {
    this.looked += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(
      this.around.guard(() => this.refresh()),
      250,
    );
  }

  async refresh() {
    const mine = ++this.looked;
    const overview = await get("/api/labels", { run: this.run });
    if (mine !== this.looked || !this.around.here()) return;
    this.overview = overview;
    this.drawProgress();
    this.drawSide();
  }

  undo = () =>
    this.around.guard(async () => {
      const { taken, counts } = await post("/api/labels/undo", { run: this.run });
      this.overview.counts = counts;
      this.later();
      tell(taken ? `${taken.kind} taken back` : "there is no label to take back");
      if (taken && !this.two) {
        this.goTo(taken);
        await this.draw();
      }
      if (taken && this.two) {
        await this.load();
      }
      this.drawProgress();
    })();

  takeBack = (label) =>
    this.around.guard(async () => {
      const { taken, counts } = await post("/api/labels/undo", {
        run: this.run,
        sample: placeOf(label),
        kind: label.kind,
      });
      this.overview.counts = counts;
      tell(taken ? `${taken.kind} taken back` : "it was taken back already");
      document.dispatchEvent(new CustomEvent("labels-changed"));
      await this.refresh();
    })();

  prefer(kind, one, other) {
    return this.around.guard(async () => {
      const { counts } = await post("/api/labels", { run: this.run, kind, ...placeOf(one), other: placeOf(other) });
      this.overview.counts = counts;
      this.pairs.splice(this.at, 1);
      this.told.there -= 1;
      tell(kind === "level" ? "neither is better" : `${one.episode} is better`);
      this.drawProgress();
      this.later();
      await this.move(0);
    })();
  }

  // --- what is shown -------------------------------------------------------------------------------------------------

  address() {
    return address("/labels", {
      run: this.run,
      order: this.order === "high" ? "" : this.order,
      mode: this.two ? "pairs" : "",
      labelled: this.every,
      blind: this.blind,
    });
  }

  change(how) {
    Object.assign(this, how);
    this.around.keepInAddress(this.address());
    this.drawControls();
    this.around.guard(() => this.load())();
  }

  drawControls() {
    const { two, order, every, blind } = this;
    showControls(
      this.controls,
      { two, order, every, blind, orders: this.overview.orders },
      { change: (how) => this.change(how), hide: (blind) => this.hide(blind) },
    );
  }

  drawProgress() {
    const { told, queue, every, two } = this;
    showProgress(this.progress, this.overview.counts, { told, queue, every, two });
  }

  drawSide() {
    showSide(this.side, this.overview, this.run, this.takeBack);
  }

  hide(blind) {
    this.blind = blind;
    this.around.keepInAddress(this.address());
    this.drawControls();
    this.around.guard(() => this.draw())();
  }

  async draw() {
    this.drawProgress();
    const mine = ++this.turn;
    for (const key of [...this.keys.keys.keys()]) this.keys.keys.delete(key);
    this.keys
      .on(["j", "ArrowDown"], "next, without a label", () => this.around.guard(() => this.move(1))())
      .on(["k", "ArrowUp"], "the one before", () => this.around.guard(() => this.move(-1))())
      .on("p", "one at a time, or two", () => this.change({ two: !this.two }))
      .on("s", "with or without scores", () => this.hide(!this.blind))
      .on("u", "take back the last label", this.undo);
    this.stage.inert = true; // nothing is labelled before it is seen
    this.stage.classList.toggle("label-blind", this.blind);
    const current = this.list[this.at];
    if (!current) put(this.stage, this.drawEnd());
    else if (this.two) await this.drawPair(current, mine);
    else await this.drawOne(current, mine);
    if (mine === this.turn) this.stage.inert = false;
  }

  drawEnd() {
    const odd = this.order === "odd" && !this.two && !this.told.there;
    return h(
      "p.empty",
      {},
      !this.told.kept
        ? ["This run stores nothing that it sampled: train with ", h("code", {}, "--rollouts-every 1"), "."]
        : odd
          ? "Reward and truth agree on all that is not labelled, or one of them is not known. Choose another order to continue."
          : [
              "Nothing is left here",
              this.two
                ? ": every pair has been compared."
                : ": all of these texts are labelled. Choose another order, or look at labelled ones too.",
            ],
    );
  }

  async drawOne(sample, mine) {
    const which = { run: this.run, ...placeOf(sample) };
    const { keys } = await this.fill(this.card, which, mine);
    if (mine !== this.turn || !this.around.here()) return;
    const bar = labelBar(which, this.around);
    for (const [key, words, call] of bar.keys) if (key !== "u") this.keys.on(key, words, call);
    const undo = h(
      "button",
      { type: "button", title: "take back the last label", aria: { keyshortcuts: "u" }, onclick: this.undo },
      "undo ",
      h("kbd", { aria: { hidden: "true" } }, "u"),
    );
    bar.element.querySelector(".label-undo").replaceWith(undo);
    const again =
      sample.same > 1
        ? h("span.chip", { title: "the same text to the same prompt" }, `said ${count(sample.same)} times`)
        : null;
    put(
      this.stage,
      h(
        "div.label-head",
        {},
        bar.element,
        h("span.quiet", {}, `${count(this.at + 1)} of ${count(this.told.there)} `, again),
      ),
      this.card,
    );
    for (const key of ["v", "i", "c"])
      if (keys?.keys.has(key) && !this.keys.keys.has(key)) this.keys.keys.set(key, keys.keys.get(key)); // of the card
  }

  async drawPair({ left, right }, mine) {
    const sides = [left, right].map((sample) => h("div.label-card", {}));
    await Promise.all(
      [left, right].map((sample, n) => this.fill(sides[n], { run: this.run, ...placeOf(sample) }, mine)),
    );
    if (mine !== this.turn || !this.around.here()) return;
    const choice = (key, words, call) => {
      this.keys.on(key, words, call);
      return h(
        "button",
        { type: "button", aria: { keyshortcuts: [key].flat().join(" ") }, onclick: call },
        words,
        " ",
        [key]
          .flat()
          .map((k) =>
            h(
              "kbd",
              { aria: { hidden: "true" } },
              k.replace("Arrow", "") === "Left" ? "←" : k === "ArrowRight" ? "→" : k,
            ),
          ),
      );
    };
    put(
      this.stage,
      h(
        "div.label-head.labels-bar",
        { role: "group", aria: { label: "Which is better?" } },
        choice(["ArrowLeft", "1"], "left is better", () => this.prefer("better", left, right)),
        choice(["0", "="], "neither", () => this.prefer("level", left, right)),
        choice(["ArrowRight", "2"], "right is better", () => this.prefer("better", right, left)),
        h("span.quiet", {}, `${count(this.at + 1)} of ${count(this.told.there)}`),
      ),
      h("div.label-two", {}, sides),
    );
  }

  async fill(card, which, mine) {
    const inner = h("div", {});
    const made = await rolloutCard(inner, this.blind ? { ...which, colour: "nothing" } : which, {
      ...this.around,
      keys: () => {},
    });
    if (mine === this.turn && this.around.here()) put(card, inner);
    return made;
  }
}

function placeOf({ step, episode, segment }) {
  return { step, episode, segment };
}
