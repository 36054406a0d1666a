// The filters beside the list: what there is of each kind, and how numbers spread, of the rollouts that are let through.

import { h, put } from "/page/dom.js";
import { histogram } from "/page/rollouts/histogram.js";
import { count } from "/page/numbers.js";

const WORDS = {
  kind: "Kind",
  end: "How it ended",
  role: "Role",
  learned: "Learned from",
  reason: "No number, because",
  label: "Labelled",
};
const FEW = 8; // values of a facet that are shown at first

export class Filters {
  constructor(asked, changed) {
    Object.assign(this, { asked, changed, known: {}, wide: new Set(), element: h("div.filters", {}) });
    this.held = null; // what is to be shown once the pointer is let go: nothing may move under it
    this.element.addEventListener("pointerdown", () => {
      this.held ??= [];
      addEventListener("pointerup", () => setTimeout(() => this.letGo()), { once: true });
      addEventListener("pointercancel", () => this.letGo(), { once: true });
    });
  }

  letGo() {
    const wanted = this.held;
    this.held = null;
    if (wanted?.length) this.show(...wanted);
  }

  // Values that were seen once stay, so that a second one can be chosen beside the first.
  show(facets, runs) {
    if (this.held) {
      this.held = [facets, runs];
      return;
    }
    const focus = this.element.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    put(
      this.element,
      ["reward", "advantage", "length"]
        .filter(
          (name) => facets.histograms[name] || this.asked.range(name) || runs.some((run) => run.columns.includes(name)),
        )
        .map((name) =>
          this.part(
            name[0].toUpperCase() + name.slice(1),
            histogram(name, facets.histograms[name], this.asked.range(name), (range) =>
              this.apply(() => this.asked.setRange(name, range)),
            ),
          ),
        ),
      ["kind", "end", "role", "learned", "label", "reason"].map((name) =>
        this.values(name, this.pairs(name, facets[name])),
      ),
      this.part("Steps", this.field("step", "12, or 3..9")),
      this.part("Task", this.field("task", "its id")),
      this.part("Another column", this.column(runs)),
    );
    if (focus) this.element.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  apply(change) {
    change();
    this.changed();
  }

  part(title, ...content) {
    return h("section.facet", {}, h("h3", {}, title), content);
  }

  pairs(name, facet) {
    if (name === "reason")
      return facet.map(([column, reason, many]) => [`${column}:${reason}`, `${column}: ${reason}`, many]);
    if (name === "learned")
      return facet.map(([value, many]) => [value ? "yes" : "no", value ? "yes" : "no, left out", many]);
    return (facet ?? []).map(([value, many]) => [value, value, many]);
  }

  values(name, pairs) {
    const known = (this.known[name] ??= new Map());
    for (const [value, words] of pairs) known.set(value, words);
    for (const value of this.asked.all(name))
      if (!known.has(value)) known.set(value, value.replace(/:([^:]*)$/, name === "reason" ? ": $1" : ":$1"));
    if (known.size < 2 && name !== "reason" && name !== "label" && !this.asked.all(name).length) return null; // one value of all tells nothing
    if (!known.size) return null;
    const many = new Map(pairs.map(([value, , n]) => [value, n]));
    const every = [...known].sort(
      ([a], [b]) =>
        this.asked.has(name, b) - this.asked.has(name, a) ||
        (many.get(b) ?? 0) - (many.get(a) ?? 0) ||
        (a < b ? -1 : 1),
    );
    const shown = this.wide.has(name) ? every : every.slice(0, FEW);
    const most = Math.max(1, ...many.values());
    return this.part(
      WORDS[name],
      h(
        "ul.values",
        {},
        shown.map(([value, words]) =>
          h(
            "li",
            {},
            h(
              "button",
              {
                type: "button",
                aria: { pressed: String(this.asked.has(name, value)) },
                data: { focus: `${name} ${value}` },
                onclick: () => this.apply(() => this.asked.toggle(name, value)),
              },
              h("span.share", { style: { width: `${(100 * (many.get(value) ?? 0)) / most}%` } }),
              h("span.name", {}, words),
              h("span.many", {}, count(many.get(value) ?? 0)),
            ),
          ),
        ),
      ),
      every.length > FEW
        ? h(
            "button.plain.small",
            {
              type: "button",
              data: { focus: `more ${name}` },
              onclick: () => {
                this.wide.has(name) ? this.wide.delete(name) : this.wide.add(name);
                this.changed(false);
              },
            },
            this.wide.has(name) ? "fewer" : `${every.length - FEW} more`,
          )
        : null,
    );
  }

  field(name, placeholder) {
    return h("input.wide", {
      type: "text",
      value: this.asked.one(name),
      placeholder,
      autocomplete: "off",
      aria: { label: name === "step" ? "Steps" : "Task" },
      data: { focus: name },
      onchange: (event) => this.apply(() => this.asked.set(name, event.target.value.trim())),
    });
  }

  column(runs) {
    const names = [...new Set(runs.flatMap((run) => run.columns))].filter(
      (name) => !["reward", "advantage"].includes(name),
    );
    const select = h(
      "select",
      { aria: { label: "Column" } },
      ["level", "segment", "attempt", "paid", ...names].map((name) =>
        h("option", { value: name, selected: name === (names[0] ?? "level") }, name),
      ),
    );
    const range = h("input", {
      type: "text",
      size: 8,
      placeholder: ">0.5, 1..2",
      autocomplete: "off",
      aria: { label: "What it must be" },
      data: { focus: "column" },
      onchange: (event) => {
        if (event.target.value.trim()) this.apply(() => this.asked.setRange(select.value, event.target.value.trim()));
      },
    });
    return h("div.range", {}, select, range);
  }
}
