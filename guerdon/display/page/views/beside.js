// The same prompt in two runs, or at two steps of one: both groups, and a difference of two tries word by word.

import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { count, number, percent, plural, signed } from "/page/numbers.js";
import { rolloutPath, strip, tryTable } from "/page/reading/tries.js";
import { askedOf } from "/page/reading/turns.js";
import { waiting } from "/page/reading/waiting.js";

const SIDES = ["left", "right"];

export async function show(place, around) {
  around.title("The same prompt, side by side");
  const task = around.query.get("task") ?? "";
  if (!task) {
    put(
      place,
      h("h1", {}, "Side by side"),
      h(
        "p.empty",
        {},
        "Open a rollout and follow “same prompt elsewhere” (key e): its task is then shown here in two runs, or at two steps. ",
        h("a", { href: "/rollouts" }, "All rollouts"),
      ),
    );
    return;
  }
  const { runs } = await waiting(place, "Looking for runs …", get("/api/reading/runs"));
  const state = {
    task,
    runs,
    left: named(around.query.get("left")),
    right: named(around.query.get("right")),
    chosen: { left: around.query.get("l"), right: around.query.get("r") },
  };
  await waiting(place, "Looking where the task was asked …", complete(state));
  if (!around.here()) return;
  const view = new Beside(place, state, around);
  await view.draw();
  around.keys(view.keys());
  around.live(around.guard((runs) => view.grown(runs)));
}

// "RUN:STEP"; a run alone has no step yet
function named(words) {
  if (!words) return null;
  const at = words.lastIndexOf(":");
  return at < 0 ? { run: words, step: null } : { run: words.slice(0, at), step: Number(words.slice(at + 1)) };
}

async function stepsOf(state, run) {
  return (await get("/api/reading/where", { run, task: state.task })).steps;
}

// What the address does not say: the left is the first run that asks the task, the right its latest other step, or another run.
async function complete(state) {
  if (!state.left) {
    for (const { id } of state.runs.slice(0, 40)) {
      const steps = await stepsOf(state, id);
      if (steps.length) {
        state.left = { run: id, step: steps[0].step };
        break;
      }
    }
    if (!state.left) return;
  }
  const steps = await stepsOf(state, state.left.run);
  if (state.left.step === null) state.left.step = steps[0]?.step ?? null;
  if (state.right && state.right.step !== null) return;
  if (state.right) {
    state.right.step = (await stepsOf(state, state.right.run)).at(-1)?.step ?? null;
    return;
  }
  const other = steps.filter((each) => each.step !== state.left.step).at(-1);
  if (other) {
    state.right = { run: state.left.run, step: other.step };
    return;
  }
  for (const { id } of state.runs.filter((each) => each.id !== state.left.run).slice(0, 40)) {
    const there = await stepsOf(state, id);
    if (there.length) {
      state.right = { run: id, step: there.at(-1).step };
      return;
    }
  }
}

class Beside {
  constructor(place, state, around) {
    Object.assign(this, { place, state, around, groups: {}, columns: {}, turn: 0 });
  }

  async draw() {
    const { state } = this;
    this.prompt = h("section.asked");
    this.verdict = h("div.scroll");
    this.difference = h("section.difference");
    for (const side of SIDES) this.columns[side] = h("section.side.card", { aria: { label: side } });
    put(
      this.place,
      h(
        "div.beside-view",
        {},
        h("header.card-head", {}, h("div.names", {}, h("h1", {}, "Side by side"))),
        this.prompt,
        this.verdict,
        h(
          "div.sides",
          {},
          SIDES.map((side) => this.columns[side]),
        ),
        this.difference,
      ),
    );
    await Promise.all(SIDES.map((side) => this.side(side)));
    if (!state.right)
      this.columns.right.append(
        h("p.quiet", {}, "The task was asked nowhere else: choose another run, or wait for a later step."),
      );
    await this.compare();
  }

  async side(side) {
    const { state, around } = this;
    const at = state[side];
    const steps = at ? await stepsOf(state, at.run) : [];
    const run = h(
      "select",
      {
        aria: { label: `${side} run` },
        onchange: around.guard(async () => {
          state[side] = { run: run.value, step: (await stepsOf(state, run.value)).at(-1)?.step ?? null };
          state.chosen[side] = null;
          await this.again(side);
        }),
      },
      at ? null : h("option", { value: "" }, "choose a run"),
      state.runs.map((each) => h("option", { value: each.id, selected: at?.run === each.id }, each.name)),
    );
    const step = h(
      "select",
      {
        aria: { label: `${side} step` },
        onchange: around.guard(async () => {
          state[side] = { run: at.run, step: Number(step.value) };
          state.chosen[side] = null;
          await this.again(side);
        }),
      },
      steps.map((each) => h("option", { value: each.step, selected: each.step === at?.step }, inWords(each))),
    );
    const head = h("div.toolbar", {}, run, steps.length ? step : null);
    this.groups[side] = null;
    if (!at || at.step === null || !steps.length) {
      put(this.columns[side], head, h("p.empty", {}, at ? "This run never asks the task." : ""));
      return;
    }
    let group;
    try {
      group = await get("/api/reading/tries", { run: at.run, step: at.step, task: state.task });
    } catch (error) {
      put(this.columns[side], head, h("p.bad", {}, error.message));
      return;
    }
    this.groups[side] = group;
    const [role] = group.roles;
    put(this.prompt, askedOf(group.task));
    if (!role) {
      put(this.columns[side], head, h("p.empty", {}, "Nobody acted."));
      return;
    }
    if (!role.tries.some((one) => key(one) === state.chosen[side])) state.chosen[side] = key(role.tries[0]);
    const mark = (one) =>
      h("input", {
        type: "radio",
        name: `try-${side}`,
        checked: key(one) === state.chosen[side],
        aria: { label: `compare try ${one.episode}` },
        onchange: around.guard(async () => {
          state.chosen[side] = key(one);
          await this.compare();
        }),
      });
    put(
      this.columns[side],
      head,
      strip({ ...group, roles: [role] }, { run: at.run, episode: null, segment: null }),
      tryTable(group, role, at.run, { mark, compact: true }).element,
      group.roles.length > 1
        ? h("p.quiet", {}, `only ${role.role} is shown, of ${plural(group.roles.length, "role")}`)
        : null,
    );
  }

  async again(side) {
    await this.side(side);
    await this.compare();
    this.columns[side].querySelector("select")?.focus();
  }

  // a run that is being written may ask it again: later steps are offered as they come
  async grown(runs) {
    for (const side of SIDES) {
      const at = this.state[side];
      const step = this.columns[side].querySelectorAll("select")[1];
      if (!at || !step || (runs && !runs.includes(at.run))) continue;
      const known = new Set([...step.options].map((option) => Number(option.value)));
      for (const each of await stepsOf(this.state, at.run))
        if (!known.has(each.step)) step.append(h("option", { value: each.step }, inWords(each)));
    }
  }

  role(side) {
    return this.groups[side]?.roles[0] ?? null;
  }

  async compare() {
    const { state } = this;
    const mine = ++this.turn; // a later choice may be answered first
    const [left, right] = SIDES.map((side) => this.role(side));
    this.around.keepInAddress(
      address("/beside", {
        task: state.task,
        left: state.left && spelled(state.left),
        right: state.right && spelled(state.right),
        l: state.chosen.left,
        r: state.chosen.right,
      }),
    );
    put(this.verdict, left && right ? verdict(left, right) : null);
    if (!left || !right || !state.chosen.left || !state.chosen.right) {
      put(this.difference);
      return;
    }
    const which = Object.fromEntries(
      SIDES.map((side) => [side, `${state[side].run}:${state[side].step}:${state.chosen[side]}`]),
    );
    let told;
    try {
      told = await get("/api/reading/difference", which);
    } catch (error) {
      told = error;
    }
    if (!this.around.here() || mine !== this.turn) return;
    if (told instanceof Error) {
      put(this.difference, h("p.bad", {}, told.message));
      return;
    }
    const changed = told.stretches.some(([kind]) => kind !== "same");
    const link = (side) => {
      const [episode, segment] = state.chosen[side].split(":");
      return h(
        "a",
        { href: rolloutPath(state[side].run, state[side].step, episode, Number(segment)) },
        `try ${episode}`,
      );
    };
    put(
      this.difference,
      h("h2", {}, "From ", link("left"), " on the left to ", link("right"), " on the right"),
      told.is_rough ? h("p.quiet", {}, "They differ too much for a word-by-word comparison.") : null,
      told.is_cut ? h("p.quiet", {}, "Only their first 20,000 words are compared.") : null,
      changed
        ? h(
            "div.said-text.diff",
            { dir: "auto" },
            told.stretches.map(([kind, text]) =>
              kind === "same" ? text : h(kind === "left" ? "del" : "ins", {}, text),
            ),
          )
        : h("p", {}, "They say the same, word for word."),
    );
  }

  move(side, by) {
    const tries = this.role(side)?.tries ?? [];
    const at = tries.findIndex((one) => key(one) === this.state.chosen[side]);
    const next = tries[at + by];
    if (!next) return;
    const radio = this.columns[side].querySelectorAll("input[type=radio]")[at + by];
    radio.checked = true;
    radio.focus();
    this.state.chosen[side] = key(next);
    this.compare().catch((error) => this.around.fault(error));
  }

  keys() {
    return layer("side by side")
      .on(["j"], "next try on the left", () => this.move("left", 1))
      .on(["k"], "the one before, left", () => this.move("left", -1))
      .on(["J"], "next try on the right", () => this.move("right", 1))
      .on(["K"], "the one before, right", () => this.move("right", -1))
      .on("x", "swap the sides", () => {
        const { state } = this;
        const url = {
          task: state.task,
          left: state.right && spelled(state.right),
          right: state.left && spelled(state.left),
          l: state.chosen.right,
          r: state.chosen.left,
        };
        this.around.go(address("/beside", url), { replace: true });
      });
  }
}

function inWords(each) {
  return `step ${each.step} (${plural(each.tries, "try", "tries")})`;
}
function key(one) {
  return `${one.episode}:${one.segment}`;
}
function spelled({ run, step }) {
  return `${run}:${step ?? ""}`;
}

function verdict(left, right) {
  const row = (name, of, show, difference) => {
    const [a, b] = [left, right].map((role) => role[of]?.mean ?? null);
    if (a === null && b === null) return null;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td.num", {}, a === null ? "–" : show(a)),
      h("td.num", {}, b === null ? "–" : show(b)),
      h("td.num", {}, a === null || b === null ? "–" : difference(b - a)),
    );
  };
  return h(
    "table.both-means",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, ""),
        h("th.num", { scope: "col" }, "left"),
        h("th.num", { scope: "col" }, "right"),
        h("th.num", { scope: "col" }, "difference"),
      ),
    ),
    h(
      "tbody",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "row" }, "tries"),
        h("td.num", {}, count(left.in_all)),
        h("td.num", {}, count(right.in_all)),
        h("td", {}),
      ),
      row(
        "right",
        "correct",
        (v) => percent(v),
        (v) => `${signed(100 * v, 1)} points`,
      ),
      row("mean reward", "reward", number, signed),
      row(
        "mean length",
        "length",
        (v) => number(v, 1),
        (v) => signed(v, 1),
      ),
    ),
  );
}
