// The bench: a reward, texts, and what every part of it says about them as one types; other weights, and whom they would flip.

import { get, lastRun, post } from "/page/asking.js";
import { showChoices } from "/page/bench/choosing.js";
import { showFlips } from "/page/bench/flips.js";
import { BenchState, MOST_TEXTS } from "/page/bench/state.js";
import { showInputs, showWholes } from "/page/bench/texts.js";
import { FormulaTree } from "/page/bench/tree.js";
import { h, once, put } from "/page/dom.js";
import { layer } from "/page/keys.js";

export async function show(place, around) {
  const bench = new Bench(place, around);
  await bench.begin();
}

class Bench {
  constructor(place, around) {
    Object.assign(this, { place, around, busy: false, again: false, replaying: false, replayAgain: false });
    this.state = new BenchState(around.query);
    this.choices = h("div.toolbar", {});
    this.notice = h("p.bench-notice", { role: "status" });
    this.inputs = h("div.bench-inputs", {});
    this.tree = new FormulaTree(this.state, {
      weigh: (key, by) => this.weigh(key, by),
      reset: () => this.reset(),
    });
    this.flips = h("section.bench-flips", {});
    this.soon = once(220, () => this.score());
    this.replaySoon = once(90, () => this.replay());
  }

  async begin() {
    const { around, state } = this;
    around.title("Bench");
    put(
      this.place,
      h("h1", {}, "Bench"),
      this.choices,
      this.notice,
      h("div.bench-split", {}, this.inputs, this.tree.element),
      this.flips,
    );
    around.keys(
      layer("bench")
        .on("e", "edit the first text", () => this.inputs.querySelector("textarea.bench-text")?.focus())
        .on("a", "another text beside it", () => this.add())
        .on("w", "weights", () => this.tree.element.querySelector("input.bench-weight")?.focus())
        .on("r", "weights as they were", () => this.reset())
        .on("s", "compare with the stored step", () => this.flips.querySelector("button.main")?.click())
        .on("l", "load a sample", () => this.choices.querySelector("select.bench-sample")?.focus()),
    );
    const text = around.query.getAll("text");
    const given = around.query.get("sample");
    state.runs = (await get("/api/labels/runs")).runs;
    if (![...around.query.keys()].length) state.run = await lastRun();
    if (state.run) await this.loadSamples();
    if (given) {
      const [step, episode, segment] = given.split(":");
      await this.pick({ step: Number(step), episode, segment: Number(segment) }, false);
    } else if (state.samples.length && !text.length) await this.pick(state.samples[0], false);
    if (text.length) state.rows = text.map((completion) => ({ completion, origin: state.rows[0]?.origin ?? null }));
    if (!state.rows.length) state.rows = [{ completion: "", origin: null }];
    this.drawChoices();
    if (state.run || state.reward) await this.open();
    else this.drawNothing();
    const timer = setInterval(
      around.guard(() => this.look()),
      1000,
    );
    around.cleanup(() => clearInterval(timer));
  }

  // --- what is on it -------------------------------------------------------------------------------------------------

  async loadSamples() {
    const { state } = this;
    try {
      const told = await get("/api/bench/samples", { run: state.run, step: state.step });
      Object.assign(state, { samples: told.samples, step: String(told.step), steps: told.steps, own: told.reward });
    } catch (error) {
      if (error.status !== 404) throw error;
      Object.assign(state, { samples: [], steps: [], own: null });
      this.around.fault(error);
    }
  }

  async pick(place, rescore = true) {
    const { state } = this;
    const origin = { step: place.step, episode: place.episode, segment: place.segment };
    state.sample = await get("/api/bench/sample", { run: state.run, ...origin });
    state.sample.place = origin;
    state.fields = { prompt: state.sample.prompt, answer: state.sample.answer ?? "" };
    state.rows = [{ completion: state.sample.completion, origin }];
    Object.assign(state, { scored: null, before: null });
    if (rescore) {
      this.drawInputs();
      this.remember();
      await this.score();
    }
  }

  async useReward(reward) {
    Object.assign(this.state, { reward, scored: null, before: null, replayed: null, watched: false });
    if (this.state.run || this.state.reward) await this.open();
    else this.drawNothing();
  }

  async turnToStep(step) {
    Object.assign(this.state, { step, replayed: null });
    await this.loadSamples();
    this.drawChoices();
    this.drawFlips();
    this.remember();
    if (this.state.watched) await this.replay();
  }

  async chooseProblem(task, number) {
    Object.assign(this.state, { task, number });
    if (task) await this.pose();
    else this.remember();
  }

  // The problem that was chosen, in place of the fields.
  async pose() {
    const { state } = this;
    if (!state.about) {
      this.remember();
      return;
    }
    const posed = await post("/api/bench/problem", { ...state.body, task: state.task, number: state.number });
    state.fields = {
      prompt: posed.prompt,
      answer: posed.answer,
      level: String(posed.level),
      meta: JSON.stringify(posed.meta),
    };
    this.drawInputs();
    this.remember();
    if (state.live) await this.score();
  }

  async open() {
    const { state } = this;
    put(this.notice, h("span.quiet", {}, "Opening the reward …"));
    try {
      state.about = await post("/api/bench/open", state.body);
    } catch (error) {
      state.about = null;
      put(this.notice, h("span.bad", {}, error.message));
      this.drawInputs();
      put(this.tree.element);
      put(this.flips);
      return;
    }
    if (!this.around.here()) return;
    this.mark = state.about.mark;
    state.live = !state.about.costly;
    const known = new Set(Object.keys(state.about.weights));
    state.weights = Object.fromEntries(Object.entries(state.weights).filter(([key]) => known.has(key)));
    put(this.notice);
    this.drawInputs();
    this.drawFlips();
    if (state.task && !state.run) {
      await this.pose();
      if (!state.live) this.drawTree();
      return;
    }
    this.remember();
    if (state.live) await this.score();
    else this.drawTree();
  }

  // A reward whose file was saved is opened anew.
  async look() {
    const { state } = this;
    if (document.hidden || !this.around.here() || (!state.run && !state.reward)) return;
    const { mark } = await post("/api/bench/mark", state.body);
    if (this.mark && mark !== this.mark) {
      this.mark = mark;
      const watched = state.watched;
      await this.open();
      if (state.about) this.changed();
      if (state.about && watched) await this.replay();
    }
  }

  changed() {
    put(
      this.notice,
      h("span.wait", {}, `${this.state.file} changed: ${this.state.live ? "rescored" : "reopened"}`),
    );
  }

  // --- questions -----------------------------------------------------------------------------------------------------

  // One question at a time: what changed meanwhile is asked when the answer is here.
  async score() {
    const { state } = this;
    if (!state.about) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    this.tree.element.classList.add("bench-waits");
    try {
      const rows = state.rows.map(({ completion, origin }) => ({
        completion,
        origin: origin ?? state.sample?.place ?? null,
      }));
      const told = await post("/api/bench/score", {
        ...state.body,
        rows,
        fields: state.given(),
        step: Number(state.step ?? 0),
        weights: state.weights,
      });
      if (!this.around.here()) return;
      this.around.fault(null);
      state.before = state.scored;
      state.scored = told;
      this.mark = told.mark;
      if (told.changed.length) this.changed();
      this.drawTree();
    } catch (error) {
      this.around.fault(error);
    } finally {
      this.busy = false;
      this.tree.element.classList.remove("bench-waits");
      if (this.again) {
        this.again = false;
        this.score();
      }
    }
  }

  async replay() {
    const { state } = this;
    if (this.replaying) {
      this.replayAgain = true;
      return;
    }
    this.replaying = true;
    try {
      const told = await post("/api/bench/replay", { ...state.body, step: Number(state.step), weights: state.weights });
      if (!this.around.here()) return;
      this.around.fault(null);
      state.replayed = told;
      state.watched = true;
      this.drawFlips();
    } catch (error) {
      this.around.fault(error);
      this.drawFlips();
    } finally {
      this.replaying = false;
      if (this.replayAgain) {
        this.replayAgain = false;
        this.replay();
      }
    }
  }

  // --- what was changed ----------------------------------------------------------------------------------------------

  remember() {
    this.around.keepInAddress(this.state.address());
  }

  typed() {
    this.remember();
    if (this.state.live) this.soon();
  }

  add() {
    const { state } = this;
    if (state.rows.length >= MOST_TEXTS) return;
    const last = state.rows.at(-1);
    state.rows.push({ completion: last?.completion ?? "", origin: last?.origin ?? null });
    this.drawInputs();
    this.inputs.querySelectorAll("textarea.bench-text")[state.rows.length - 1]?.focus();
    this.typed();
  }

  drop(n) {
    this.state.rows.splice(n, 1);
    this.state.before = null;
    this.drawInputs();
    this.inputs.querySelectorAll("textarea.bench-text")[Math.max(0, n - 1)]?.focus();
    this.typed();
  }

  allTries = () =>
    this.around.guard(async () => {
      const tries = this.state.sample.tries.slice(0, MOST_TEXTS);
      const told = await Promise.all(
        tries.map((each) =>
          get("/api/bench/sample", {
            run: this.state.run,
            step: each.step,
            episode: each.episode,
            segment: each.segment,
          }),
        ),
      );
      this.state.rows = told.map((each) => ({
        completion: each.completion,
        origin: { step: each.step, episode: each.episode, segment: each.segment },
      }));
      this.state.before = null;
      this.drawInputs();
      this.typed();
      if (!this.state.live) await this.score();
    })();

  scoreAsTyped(live) {
    this.state.live = live;
    this.drawInputs();
    if (live) this.score();
  }

  weigh(key, by) {
    const { state } = this;
    if (!Number.isFinite(by)) return;
    if (by === state.about.weights[key]) delete state.weights[key];
    else state.weights[key] = by;
    this.remember();
    if (state.live) this.soon();
    if (state.watched) this.replaySoon();
  }

  reset() {
    const { state } = this;
    if (!state.about) return;
    state.weights = {};
    this.remember();
    this.drawTree();
    if (state.live) this.score();
    if (state.watched) this.replay();
  }

  // --- what is shown -------------------------------------------------------------------------------------------------

  drawNothing() {
    put(this.inputs);
    put(this.tree.element);
    put(this.flips);
    put(
      this.notice,
      h(
        "span.quiet",
        {},
        "Choose a run to try its reward on what it sampled, or name a reward: ",
        h("code", {}, "FILE.py:NAME"),
        ", or one on the shelf such as ",
        h("code", {}, "exact"),
        ".",
      ),
    );
  }

  drawChoices() {
    showChoices(this.choices, this.state, this.around, {
      useReward: (reward) => this.useReward(reward),
      turnToStep: (step) => this.turnToStep(step),
      pick: (sample) => this.pick(sample),
      chooseProblem: (task, number) => this.chooseProblem(task, number),
    });
  }

  drawInputs() {
    showInputs(this.inputs, this.state, {
      typed: () => this.typed(),
      score: () => this.score(),
      add: () => this.add(),
      drop: (n) => this.drop(n),
      allTries: this.allTries,
      scoreAsTyped: (live) => this.scoreAsTyped(live),
    });
  }

  drawTree() {
    if (!this.state.about) return;
    this.tree.draw();
    showWholes(this.inputs, this.state);
  }

  drawFlips() {
    showFlips(this.flips, this.state, this.around, () => this.replay());
  }
}
