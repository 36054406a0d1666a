// The bench: a reward, texts, and what every part of it says about them as one types; other weights, and whom they would flip.

import { address, get, post } from "/page/asking.js";
import { copyable } from "/page/copying.js";
import { h, once, put } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { count, number, percent, plural, seconds, signed } from "/page/numbers.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MOST = 16; // variants
const LONGEST = 1500; // characters of texts that are kept in the address

export async function show(place, around) {
  const bench = new Bench(place, around);
  await bench.begin();
}

class Bench {
  constructor(place, around) {
    const { query } = around;
    Object.assign(this, {
      place,
      around,
      about: null,
      sample: null,
      scored: null,
      before: null,
      replayed: null,
      live: true,
      watched: false,
      busy: false,
      again: false,
    });
    this.run = query.get("run") ?? "";
    this.reward = query.get("reward") ?? "";
    this.step = query.get("step");
    this.weights = Object.fromEntries(
      query
        .getAll("w")
        .map((each) => [each.slice(0, each.lastIndexOf(":")), Number(each.slice(each.lastIndexOf(":") + 1))])
        .filter(([, by]) => Number.isFinite(by)),
    );
    this.task = query.get("task") ?? "";
    this.number = Number(query.get("problem") ?? 0) || 0;
    this.fields = { prompt: "", answer: "" };
    this.rows = [];
    this.which = h("div.toolbar", {});
    this.notice = h("p.bench-notice", { role: "status" });
    this.inputs = h("div.bench-inputs", {});
    this.tree = h("div.bench-tree", {});
    this.flips = h("section.bench-flips", {});
    this.soon = once(220, () => this.score());
    this.replaySoon = once(90, () => this.replay());
  }

  async begin() {
    const { around } = this;
    around.title("Bench");
    put(
      this.place,
      h("h1", {}, "Bench"),
      this.which,
      this.notice,
      h("div.bench-split", {}, this.inputs, this.tree),
      this.flips,
    );
    around.keys(
      layer("bench")
        .on("e", "edit the first text", () => this.inputs.querySelector("textarea.bench-text")?.focus())
        .on("a", "another text beside it", () => this.add())
        .on("w", "weights", () => this.tree.querySelector("input.bench-weight")?.focus())
        .on("r", "weights as they were", () => this.reset())
        .on("s", "hold the stored step against it", () => this.flips.querySelector("button.main")?.click())
        .on("l", "load a sample", () => this.which.querySelector("select.bench-sample")?.focus()),
    );
    const text = around.query.getAll("text");
    const given = around.query.get("sample");
    this.runs = (await get("/api/labels/runs")).runs;
    if (this.run) await this.loadSamples();
    if (given) {
      const [step, episode, segment] = given.split(":");
      await this.pick({ step: Number(step), episode, segment: Number(segment) }, false);
    } else if (this.samples?.length && !text.length) await this.pick(this.samples[0], false);
    if (text.length) this.rows = text.map((completion) => ({ completion, origin: this.rows[0]?.origin ?? null }));
    if (!this.rows.length) this.rows = [{ completion: "", origin: null }];
    this.drawWhich();
    if (this.run || this.reward) await this.open();
    else this.drawNothing();
    const timer = setInterval(
      around.guard(() => this.look()),
      1000,
    );
    around.cleanup(() => clearInterval(timer));
  }

  get body() {
    return { run: this.run, reward: this.reward };
  }

  // --- what is on it -------------------------------------------------------------------------------------------------

  async loadSamples() {
    try {
      const told = await get("/api/bench/samples", { run: this.run, step: this.step });
      Object.assign(this, { samples: told.samples, step: String(told.step), steps: told.steps, own: told.reward });
    } catch (error) {
      if (error.status !== 404) throw error;
      Object.assign(this, { samples: [], steps: [], own: null });
      this.around.fault(error);
    }
  }

  async pick(place, rescore = true) {
    const origin = { step: place.step, episode: place.episode, segment: place.segment };
    this.sample = await get("/api/bench/sample", { run: this.run, ...origin });
    this.sample.place = origin;
    this.fields = { prompt: this.sample.prompt, answer: this.sample.answer ?? "" };
    this.rows = [{ completion: this.sample.completion, origin }];
    Object.assign(this, { scored: null, before: null });
    if (rescore) {
      this.drawInputs();
      this.remember();
      await this.score();
    }
  }

  async open() {
    put(this.notice, h("span.quiet", {}, "Opening the reward …"));
    try {
      this.about = await post("/api/bench/open", this.body);
    } catch (error) {
      this.about = null;
      put(this.notice, h("span.bad", {}, error.message));
      this.drawInputs();
      put(this.tree);
      put(this.flips);
      return;
    }
    if (!this.around.here()) return;
    this.mark = this.about.mark;
    this.live = !this.about.costly;
    const known = new Set(Object.keys(this.about.weights));
    this.weights = Object.fromEntries(Object.entries(this.weights).filter(([key]) => known.has(key)));
    put(this.notice);
    this.drawInputs();
    this.drawFlips();
    if (this.task && !this.run) {
      await this.pose();
      if (!this.live) this.drawTree();
      return;
    }
    this.remember();
    if (this.live) await this.score();
    else this.drawTree();
  }

  look = async () => {
    if (document.hidden || !this.around.here() || (!this.run && !this.reward)) return;
    const { mark } = await post("/api/bench/mark", this.body);
    if (this.mark && mark !== this.mark) {
      this.mark = mark;
      const watched = this.watched;
      await this.open();
      if (this.about) this.changed();
      if (this.about && watched) await this.replay();
    }
  };

  changed() {
    put(this.notice, h("span.wait", {}, `${this.file} changed: ${this.live ? "scored anew" : "opened anew"}`));
  }

  get file() {
    return (this.reward || this.own || "the reward")
      .replace(/:[^:]*$/, "")
      .split("/")
      .pop();
  }

  // --- questions -----------------------------------------------------------------------------------------------------

  // One question at a time: what changed meanwhile is asked when the answer is here.
  async score() {
    if (!this.about) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    this.tree.classList.add("bench-waits");
    try {
      const rows = this.rows.map(({ completion, origin }) => ({
        completion,
        origin: origin ?? this.sample?.place ?? null,
      }));
      const told = await post("/api/bench/score", {
        ...this.body,
        rows,
        fields: this.given(),
        step: Number(this.step ?? 0),
        weights: this.weights,
      });
      if (!this.around.here()) return;
      this.around.fault(null);
      this.before = this.scored;
      this.scored = told;
      this.mark = told.mark;
      if (told.changed.length) this.changed();
      this.drawTree();
    } catch (error) {
      this.around.fault(error);
    } finally {
      this.busy = false;
      this.tree.classList.remove("bench-waits");
      if (this.again) {
        this.again = false;
        this.score();
      }
    }
  }

  async replay() {
    if (this.replaying) {
      this.replayAgain = true;
      return;
    }
    this.replaying = true;
    try {
      const told = await post("/api/bench/replay", { ...this.body, step: Number(this.step), weights: this.weights });
      if (!this.around.here()) return;
      this.around.fault(null);
      this.replayed = told;
      this.watched = true;
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

  // Fields as the reward gets them: what is not plain text is JSON.
  given() {
    const known = { ...this.fields };
    for (const [name, value] of Object.entries(known)) {
      if (name === "prompt" || name === "answer") continue;
      delete known[name];
      if (value === "") continue;
      let read;
      try {
        read = JSON.parse(value);
      } catch {
        read = value;
      }
      if (name === "meta" && read && typeof read === "object" && !Array.isArray(read)) Object.assign(known, read);
      else known[name] = read;
    }
    return known;
  }

  remember() {
    const texts = this.rows.map((row) => row.completion);
    const plain = this.sample && texts.length === 1 && texts[0] === this.sample.completion;
    const { place } = this.sample ?? {};
    this.around.keepInAddress(
      address("/bench", {
        run: this.run,
        reward: this.reward,
        task: this.run ? "" : this.task,
        problem: this.run || !this.task ? "" : this.number,
        step: this.run ? this.step : "",
        sample: place ? `${place.step}:${place.episode}:${place.segment}` : "",
        w: Object.entries(this.weights).map(([key, by]) => `${key}:${by}`),
        text: plain || texts.join("").length > LONGEST ? [] : texts,
      }),
    );
  }

  // --- what was changed ----------------------------------------------------------------------------------------------

  typed() {
    this.remember();
    if (this.live) this.soon();
  }

  add(row = { completion: this.rows.at(-1)?.completion ?? "", origin: this.rows.at(-1)?.origin ?? null }) {
    if (this.rows.length >= MOST) return;
    this.rows.push({ ...row });
    this.drawInputs();
    this.inputs.querySelectorAll("textarea.bench-text")[this.rows.length - 1]?.focus();
    this.typed();
  }

  drop(n) {
    this.rows.splice(n, 1);
    this.before = null;
    this.drawInputs();
    this.inputs.querySelectorAll("textarea.bench-text")[Math.max(0, n - 1)]?.focus();
    this.typed();
  }

  allTries = () =>
    this.around.guard(async () => {
      const tries = this.sample.tries.slice(0, MOST);
      const told = await Promise.all(
        tries.map((each) =>
          get("/api/bench/sample", { run: this.run, step: each.step, episode: each.episode, segment: each.segment }),
        ),
      );
      this.rows = told.map((each) => ({
        completion: each.completion,
        origin: { step: each.step, episode: each.episode, segment: each.segment },
      }));
      this.before = null;
      this.drawInputs();
      this.typed();
      if (!this.live) await this.score();
    })();

  weigh(key, by) {
    if (!Number.isFinite(by)) return;
    if (by === this.about.weights[key]) delete this.weights[key];
    else this.weights[key] = by;
    this.remember();
    if (this.live) this.soon();
    if (this.watched) this.replaySoon();
  }

  reset() {
    if (!this.about) return;
    this.weights = {};
    this.remember();
    this.drawTree();
    if (this.live) this.score();
    if (this.watched) this.replay();
  }

  // --- what is shown -------------------------------------------------------------------------------------------------

  drawNothing() {
    put(this.inputs);
    put(this.tree);
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

  drawWhich() {
    const guard = this.around.guard;
    const runs = h(
      "select",
      {
        onchange: guard(async (event) => {
          this.around.go(address("/bench", { run: event.target.value, reward: this.reward }));
        }),
      },
      h("option", { value: "" }, "none"),
      this.runs.map((each) => h("option", { value: each.id, selected: each.id === this.run }, each.name)),
    );
    const named = h("input", {
      type: "text",
      value: this.reward,
      size: 26,
      spellcheck: "false",
      autocomplete: "off",
      placeholder: this.run ? (this.own ?? "the run's own") : "FILE.py:NAME, or exact",
    });
    const use = guard(async () => {
      this.reward = named.value.trim();
      Object.assign(this, { scored: null, before: null, replayed: null, watched: false });
      if (this.run || this.reward) await this.open();
      else this.drawNothing();
    });
    named.addEventListener("change", use);
    const steps = this.steps?.length
      ? h(
          "label",
          {},
          "step",
          h(
            "select",
            {
              onchange: guard(async (event) => {
                this.step = event.target.value;
                Object.assign(this, { replayed: null });
                await this.loadSamples();
                this.drawWhich();
                this.drawFlips();
                this.remember();
                if (this.watched) await this.replay();
              }),
            },
            this.steps.map((each) => h("option", { value: each, selected: String(each) === this.step }, each)),
          ),
        )
      : null;
    const isOurs = (each) =>
      Boolean(this.sample) && each.episode === this.sample.place.episode && each.segment === this.sample.place.segment;
    const pick = this.samples?.length
      ? h(
          "label.bench-pick",
          {},
          "sample",
          h(
            "select.bench-sample",
            {
              onchange: guard(async (event) => {
                if (event.target.value !== "") await this.pick(this.samples[Number(event.target.value)]);
              }),
            },
            this.samples.some(isOurs)
              ? null
              : h("option", { value: "", selected: true }, this.sample ? this.sample.place.episode : "none"),
            this.samples.map((each, n) =>
              h(
                "option",
                { value: n, selected: isOurs(each) },
                `${each.episode}  ${number(each.reward, 2)}  ${short(each.completion)}`,
              ),
            ),
          ),
        )
      : null;
    put(
      this.which,
      h("label", {}, "run", runs),
      h("label", {}, "reward", named),
      steps,
      pick,
      this.run ? null : this.problemInputs(),
    );
  }

  // Without a run, texts may be tries at a problem of a task.
  problemInputs() {
    const task = h("input", {
      type: "text",
      value: this.task,
      size: 14,
      spellcheck: "false",
      autocomplete: "off",
      placeholder: "countdown:3",
    });
    const which = h("input.bench-number", { type: "number", min: 0, step: 1, value: this.number });
    const pose = this.around.guard(async () => {
      Object.assign(this, { task: task.value.trim(), number: Math.max(0, Math.floor(Number(which.value)) || 0) });
      if (this.task) await this.pose();
      else this.remember();
    });
    for (const each of [task, which]) each.addEventListener("change", pose);
    return [h("label", {}, "task", task), h("label", {}, "problem", which)];
  }

  async pose() {
    if (!this.about) {
      this.remember();
      return;
    }
    const posed = await post("/api/bench/problem", { ...this.body, task: this.task, number: this.number });
    this.fields = {
      prompt: posed.prompt,
      answer: posed.answer,
      level: String(posed.level),
      meta: JSON.stringify(posed.meta),
    };
    this.drawInputs();
    this.remember();
    if (this.live) await this.score();
  }

  drawInputs() {
    const field = (name, label, rows, optional = false) => {
      const input = h(rows > 1 ? "textarea" : "input", {
        rows: rows > 1 ? rows : null,
        spellcheck: "false",
        oninput: (event) => {
          this.fields[name] = event.target.value;
          this.typed();
        },
      });
      input.value = this.fields[name] ?? "";
      return h(
        "label.bench-field",
        {},
        h("span", {}, label, optional ? h("span.quiet", {}, " (may be empty)") : null),
        input,
      );
    };
    const wants = (this.about?.wants ?? []).map(({ name, optional }) => {
      if (this.fields.meta !== undefined && this.fields[name] === undefined) return null; // it stands in there
      if (this.fields[name] === undefined) {
        const there = this.sample?.meta?.[name] ?? (name === "level" ? this.sample?.level : undefined);
        this.fields[name] = there === undefined ? "" : JSON.stringify(there);
      }
      return field(name, name, 1, optional);
    });
    const meta =
      this.fields.meta !== undefined
        ? field("meta", "what else the task holds, as JSON", 2)
        : this.about?.takes_meta && this.sample?.meta
          ? [
              h(
                "details.bench-meta",
                {},
                h("summary", {}, "what else the task holds"),
                h("pre", {}, JSON.stringify(this.sample.meta, null, 1)),
              ),
            ]
          : [];
    const texts = this.rows.map((row, n) => {
      const input = h("textarea.bench-text", {
        rows: Math.min(14, Math.max(4, row.completion.split("\n").length + 1)),
        spellcheck: "false",
        aria: { label: `Text ${LETTERS[n]}` },
        oninput: (event) => {
          row.completion = event.target.value;
          this.typed();
        },
      });
      input.value = row.completion;
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          this.score();
        }
      });
      const from = row.origin
        ? h(
            "a.quiet",
            {
              href: address(`/rollout/${this.run}/${row.origin.step}/${encodeURIComponent(row.origin.episode)}`, {
                segment: row.origin.segment || "",
              }),
            },
            row.origin.episode,
          )
        : h("span.quiet", {}, "typed");
      return h(
        "div.bench-row",
        {},
        h(
          "div.bench-row-head",
          {},
          h("strong.bench-letter", {}, LETTERS[n]),
          from,
          h("span.bench-whole", { data: { row: n } }),
          this.rows.length > 1
            ? h(
                "button.plain",
                { type: "button", aria: { label: `Remove text ${LETTERS[n]}` }, onclick: () => this.drop(n) },
                "×",
              )
            : null,
        ),
        input,
      );
    });
    const more = h(
      "div.toolbar",
      {},
      h(
        "button",
        { type: "button", onclick: () => this.add(), disabled: this.rows.length >= MOST },
        "add a variant ",
        h("kbd", { aria: { hidden: "true" } }, "a"),
      ),
      this.sample?.tries?.length > 1
        ? h(
            "button",
            { type: "button", onclick: this.allTries },
            `all ${count(Math.min(MOST, this.sample.tries.length))} texts of this group`,
          )
        : null,
      this.about && !this.live ? h("button.main", { type: "button", onclick: () => this.score() }, "Score") : null,
      this.about
        ? h(
            "label",
            {},
            h("input", {
              type: "checkbox",
              checked: this.live,
              onchange: (event) => {
                this.live = event.target.checked;
                this.drawInputs();
                if (this.live) this.score();
              },
            }),
            "score as I type",
          )
        : null,
    );
    put(this.inputs, field("prompt", "prompt", 3), field("answer", "answer", 1), wants, meta, texts, more);
    this.drawWholes();
  }

  drawWholes() {
    const values = (this.scored?.rows ?? []).map((row) => row[""].value);
    const ranked = values.filter((v) => v !== null).sort((a, b) => b - a);
    for (const spot of this.inputs.querySelectorAll(".bench-whole")) {
      const n = Number(spot.dataset.row);
      const told = this.scored?.rows[n]?.[""];
      if (!told) {
        put(spot);
        continue;
      }
      const rank =
        this.rows.length > 1 && told.value !== null
          ? h("span.quiet", {}, ` rank ${ranked.indexOf(told.value) + 1} of ${values.length}`)
          : null;
      put(spot, told.value === null ? h("span.bad", {}, told.reason) : h("strong", {}, number(told.value, 4)), rank);
    }
  }

  drawTree() {
    if (!this.about) return;
    const focused = this.tree.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const typing = focused !== null && focused !== undefined;
    if (typing && this.drawn === this.shape()) {
      this.fillTree();
      return;
    } // who holds a slider keeps it
    this.drawn = this.shape();
    const columns = this.rows.map((_, n) => h("th.num", { scope: "col" }, LETTERS[n]));
    const body = [];
    const walk = (node, depth) => {
      body.push(this.treeRow(node, depth));
      for (const part of node.parts) walk(part, depth + 1);
    };
    walk(this.about.tree, 0);
    this.python = h("code", { tabindex: 0 });
    put(
      this.tree,
      h(
        "div.scroll",
        {},
        h(
          "table.bench-parts",
          {},
          h("caption.visually-hidden", {}, "What each part of the reward says about each text"),
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "part"), h("th", { scope: "col" }, "weight"), columns)),
          h("tbody", {}, body),
        ),
      ),
      h(
        "div.copy-line",
        {},
        this.python,
        copyable(() => this.python.textContent, "Copy as Python"),
        h("button.plain.copy", { type: "button", onclick: () => this.reset() }, "reset weights"),
      ),
      h("div.bench-said", {}),
    );
    this.fillTree();
    if (typing) this.tree.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  shape() {
    return `${this.rows.length} ${this.about.version} ${this.about.formula}`;
  }

  treeRow(node, depth) {
    const cells = this.rows.map((_, n) => h("td.num.bench-cell", { data: { path: node.path, row: n } }));
    const name = h(
      "th.bench-name",
      { scope: "row", style: { "padding-left": `${depth * 16}px` } },
      h(depth ? "span" : "strong", { title: node.formula }, node.name),
      node.doc ? h("span.bench-doc", {}, node.doc) : null,
    );
    return h("tr", {}, name, h("td.bench-by", {}, this.weightInputs(node)), cells);
  }

  weightInputs(node) {
    const key = node.weight_key;
    if (key === null) return null;
    if (node.schedule && this.weights[key] === undefined)
      return h(
        "span.quiet",
        { title: node.schedule },
        "schedule ",
        h(
          "button.plain",
          {
            type: "button",
            data: { key },
            onclick: () => {
              this.weights[key] = 1;
              this.drawn = "";
              this.drawTree();
              this.weigh(key, 1);
            },
          },
          "fix",
        ),
      );
    const own = this.about.weights[key] ?? 1;
    const now = this.weights[key] ?? own;
    const far = Math.max(1, Math.abs(own) * 4, Math.abs(now) * 2);
    const typed = h("input.bench-weight", {
      type: "number",
      step: "any",
      value: now,
      data: { key },
      aria: { label: `Weight of ${node.name}` },
    });
    const slider = h("input.bench-slider", {
      type: "range",
      min: -far,
      max: far,
      step: far / 200,
      value: now,
      data: { key: `${key} slider` },
      aria: { label: `Weight of ${node.name}, by a slider` },
    });
    typed.addEventListener("input", () => {
      if (typed.value !== "") {
        slider.value = typed.value;
        this.weigh(key, Number(typed.value));
      }
    });
    slider.addEventListener("input", () => {
      const by = Number(Number(slider.value).toPrecision(4));
      typed.value = by;
      this.weigh(key, by);
    });
    return [typed, slider];
  }

  fillTree() {
    const same = this.before && this.before.rows.length === this.scored?.rows.length;
    for (const cell of this.tree.querySelectorAll(".bench-cell")) {
      const { path, row } = cell.dataset;
      const told = this.scored?.rows[row]?.[path];
      if (!told) {
        put(cell, h("span.quiet", {}, "·"));
        continue;
      }
      const was = same ? this.before.rows[row]?.[path] : null;
      put(
        cell,
        value(told),
        was ? moved(was, told) : null,
        told.contribution !== null && told.weight !== 1
          ? h("span.bench-share", { title: "weight times value: what it adds to the sum" }, signed(told.contribution))
          : null,
      );
      cell.classList.toggle("bench-changed", Boolean(was && was.value !== told.value));
    }
    this.python.textContent = this.scored?.python ?? this.about.python;
    put(this.tree.querySelector(".bench-said"), this.drawSaid());
    this.drawWholes();
  }

  // What the parts said about what they gave: reasons, errors, details.
  drawSaid() {
    if (!this.scored) return h("p.quiet", {}, this.live ? "" : "Press Score, or Ctrl-Enter in a text.");
    const said = this.scored.rows.flatMap((row, n) =>
      Object.entries(row)
        .filter(
          ([path, told]) =>
            path !== "" && (told.why || told.error || Object.keys(told.detail).length || told.steps.length),
        )
        .map(([path, told]) => {
          const detail = Object.keys(told.detail).length
            ? h("pre.quiet", {}, JSON.stringify(told.detail, null, 1))
            : null;
          const trace =
            told.trace && told.trace.trim() !== told.error
              ? h("details", {}, h("summary", {}, "where"), h("pre", {}, told.trace))
              : null;
          return [
            h("dt", {}, this.rows.length > 1 ? `${LETTERS[n]} · ` : "", path.replaceAll("/", " › ")),
            h(
              "dd",
              {},
              told.why ? h("span", {}, told.why) : null,
              told.error ? h("span.bad", {}, `${told.reason}: ${told.error}`) : null,
              told.steps.length
                ? h(
                    "div.quiet",
                    {},
                    `in steps: ${told.steps
                      .slice(0, 40)
                      .map((each) => number(each))
                      .join(", ")}`,
                  )
                : null,
              trace,
              detail,
            ),
          ];
        }),
    );
    return [
      said.length ? h("dl.pairs", {}, said) : null,
      h("p.quiet.bench-time", {}, `${this.scored.formula} · scored in ${took(this.scored.seconds)}`),
    ];
  }

  drawFlips() {
    if (!this.run || !this.steps?.length || !this.about) {
      put(this.flips);
      return;
    }
    const head = h("h2", {}, `Step ${this.step} under these weights`);
    if (!this.replayed || String(this.replayed.step) !== this.step) {
      put(
        this.flips,
        head,
        h(
          "p.quiet",
          {},
          "Which of the stored samples would have been pushed the other way? Every part is asked once about each of them; after that, weights answer at once.",
        ),
        h(
          "button.main",
          {
            type: "button",
            onclick: this.around.guard(async (event) => {
              event.target.disabled = true;
              put(event.target, "asking …");
              await this.replay();
            }),
          },
          `Hold step ${this.step} against it `,
          h("kbd", { aria: { hidden: "true" } }, "s"),
        ),
      );
      return;
    }
    const { total, samples, there, notes, other, credit, credit_from: from, column } = this.replayed;
    const stat = (words, said, tone = "") =>
      h("div.bench-stat", {}, h(`strong${tone}`, {}, said), h("span.quiet", {}, words));
    const table = samples.length
      ? h(
          "div.scroll",
          {},
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["what", "sample", "reward", "advantage", "first line"].map((words, n) =>
                  h(n === 2 || n === 3 ? "th.num" : "th", { scope: "col" }, words),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              samples
                .slice(0, 100)
                .map((each) =>
                  h(
                    "tr",
                    {},
                    h("td", {}, each.kind === "flip" ? h("span.chip.bad", {}, "flips") : h("span.chip", {}, each.kind)),
                    h(
                      "td",
                      {},
                      h(
                        "a",
                        {
                          href: address(
                            `/rollout/${this.run}/${this.replayed.step}/${encodeURIComponent(each.episode)}`,
                            { segment: each.segment || "" },
                          ),
                        },
                        each.episode,
                      ),
                    ),
                    h("td.num", {}, `${number(each.old_reward)} → ${number(each.new_reward)}`),
                    h("td.num", {}, `${signed(each.old_advantage, 2)} → ${signed(each.new_advantage, 2)}`),
                    h("td.bench-first", {}, each.completion),
                  ),
                ),
            ),
          ),
        )
      : h("p.quiet", {}, "Every advantage keeps its sign.");
    put(
      this.flips,
      head,
      h(
        "div.bench-stats",
        { role: "status" },
        stat(`of ${count(total.compared)} change sides`, count(total.flips), total.flips ? ".bad" : ""),
        stat("from zero", count(total.zero_to_nonzero)),
        stat("to zero", count(total.nonzero_to_zero)),
        stat("correlation of rewards", number(total.pearson)),
        stat("of their ranks", number(total.spearman)),
        stat("mean reward", `${number(total.old_mean)} → ${number(total.new_mean)}`),
      ),
      total.failed + total.timed_out
        ? h(
            "p.bad",
            {},
            `${plural(total.failed + total.timed_out, "sample")} got no score (${percent((total.failed + total.timed_out) / total.samples)})`,
          )
        : null,
      [
        ...notes,
        other
          ? `this credit gives ${plural(other, "sample")} another advantage than the stored one under the old reward`
          : "",
      ]
        .filter(Boolean)
        .map((note) => h("p.wait", {}, note)),
      table,
      there > 100 ? h("p.quiet", {}, `and ${count(there - 100)} more`) : null,
      h("p.quiet.bench-time", {}, `${column} by ${credit}, ${from} · ${took(this.replayed.seconds)}`),
    );
  }
}

function value(told) {
  return told.value === null
    ? h("span", { class: told.reason === "not applicable" ? "quiet" : "bad", title: told.error }, told.reason)
    : h("span", {}, number(told.value));
}

function moved(was, now) {
  if (was.value === now.value || was.value === null) return null;
  const up = now.value !== null && now.value > was.value;
  return h(
    "span.bench-was",
    {},
    now.value === null ? "" : up ? "▲ " : "▼ ",
    h("span.visually-hidden", {}, "was "),
    number(was.value),
  );
}

function short(text) {
  const first = text.replace(/\s+/g, " ").trim();
  return first.length > 40 ? `${first.slice(0, 40)}…` : first;
}

function took(time) {
  return time < 1 ? `${count(1000 * time)} ms` : seconds(time);
}
