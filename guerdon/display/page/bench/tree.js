// The formula as a tree: what each part says about each text, and its weight, to be typed or moved by a slider.

import { LETTERS, took } from "/page/bench/words.js";
import { copyable } from "/page/copying.js";
import { h, put } from "/page/dom.js";
import { number, signed } from "/page/numbers.js";

// `weigh(key, by)` is called with another weight, `reset()` when all are to be as they were. Drawn once a reward is open.
export class FormulaTree {
  constructor(state, { weigh, reset }) {
    Object.assign(this, { state, weigh, reset, drawn: "" });
    this.element = h("div.bench-tree", {});
  }

  draw() {
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const typing = focused !== null && focused !== undefined;
    if (typing && this.drawn === this.shape()) {
      this.fill();
      return;
    } // who holds a slider keeps it
    this.drawn = this.shape();
    const columns = this.state.rows.map((_, n) => h("th.num", { scope: "col" }, LETTERS[n]));
    const body = [];
    const walk = (node, depth) => {
      body.push(this.partRow(node, depth));
      for (const part of node.parts) walk(part, depth + 1);
    };
    walk(this.state.about.tree, 0);
    this.python = h("code", { tabindex: 0 });
    put(
      this.element,
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
    this.fill();
    if (typing) this.element.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  shape() {
    return `${this.state.rows.length} ${this.state.about.version} ${this.state.about.formula}`;
  }

  partRow(node, depth) {
    const cells = this.state.rows.map((_, n) => h("td.num.bench-cell", { data: { path: node.path, row: n } }));
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
    if (node.schedule && this.state.weights[key] === undefined)
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
              this.state.weights[key] = 1;
              this.drawn = "";
              this.draw();
              this.weigh(key, 1);
            },
          },
          "fix",
        ),
      );
    const own = this.state.about.weights[key] ?? 1;
    const now = this.state.weights[key] ?? own;
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

  fill() {
    const same = this.state.before && this.state.before.rows.length === this.state.scored?.rows.length;
    for (const cell of this.element.querySelectorAll(".bench-cell")) {
      const { path, row } = cell.dataset;
      const told = this.state.scored?.rows[row]?.[path];
      if (!told) {
        put(cell, h("span.quiet", {}, "·"));
        continue;
      }
      const was = same ? this.state.before.rows[row]?.[path] : null;
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
    this.python.textContent = this.state.scored?.python ?? this.state.about.python;
    put(this.element.querySelector(".bench-said"), whatWasSaid(this.state));
  }
}

// What the parts said about what they gave: reasons, errors, details.
function whatWasSaid(state) {
  if (!state.scored) return h("p.quiet", {}, state.live ? "" : "Press Score, or Ctrl-Enter in a text.");
  const said = state.scored.rows.flatMap((row, n) =>
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
          h("dt", {}, state.rows.length > 1 ? `${LETTERS[n]} · ` : "", path.replaceAll("/", " › ")),
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
    h("p.quiet.bench-time", {}, `${state.scored.formula} · scored in ${took(state.scored.seconds)}`),
  ];
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
