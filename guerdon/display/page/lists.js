// A list that is gone through by keyboard: one row is current, j/k and arrows move, Enter opens, x marks. And a table's body
// that is kept in step with rows of data: rows that are there already stay the same elements.

import { h, put } from "/page/dom.js";
import { layer } from "/page/keys.js";

// rows are elements; the current one has tabindex 0 and the focus, the others -1
export class Roving {
  constructor({ open = () => {}, mark = null, moved = () => {}, nearEnd = () => {} } = {}) {
    Object.assign(this, { open, mark, moved, nearEnd, rows: [], at: -1, heard: new WeakSet() });
  }

  set(rows) {
    const stays = rows.indexOf(this.rows[this.at]); // the current row stays it, wherever it moved to
    this.rows = rows;
    this.at = stays >= 0 ? stays : Math.min(this.at, rows.length - 1);
    rows.forEach((row, n) => {
      row.tabIndex = n === Math.max(0, this.at) ? 0 : -1;
      row.classList.toggle("current", n === this.at);
      if (this.heard.has(row)) return;
      this.heard.add(row);
      row.addEventListener("focusin", (event) => {
        if (event.target === row) this.choose(this.rows.indexOf(row), false);
      });
    });
  }

  choose(n, focus = true) {
    if (!this.rows.length) return;
    n = Math.max(0, Math.min(this.rows.length - 1, n));
    const same = n === this.at;
    this.rows[this.at]?.classList.remove("current");
    if (this.rows[this.at]) this.rows[this.at].tabIndex = -1;
    this.at = n;
    const row = this.rows[n];
    row.classList.add("current");
    row.tabIndex = 0;
    if (focus) {
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
    if (!same) this.moved(n);
    if (n >= this.rows.length - 5) this.nearEnd();
  }

  keys(name) {
    const made = layer(name)
      .on(["j", "ArrowDown"], "next", () => this.choose(this.at + 1))
      .on(["k", "ArrowUp"], "the one before", () => this.choose(this.at - 1))
      .on(["Home"], "first", () => this.choose(0))
      .on(["End"], "last that is shown", () => this.choose(this.rows.length - 1))
      .on(["Enter", "o"], "open", () => this.at >= 0 && this.open(this.at));
    if (this.mark) made.on(["x"], "mark", () => this.at >= 0 && this.mark(this.at));
    return made;
  }
}

// Neither focus nor scroll is lost when rows are drawn anew. said(row): all that its cells are made of; cells(row, element): them.
export class KeptRows {
  constructor(body, list, { said, cells }) {
    Object.assign(this, { body, list, said, cells, kept: new Map() }); // id: {element, said}
  }

  get(id) {
    return this.kept.get(id)?.element;
  }

  arrange(rows) {
    const elements = rows.map((row) => this.drawn(row));
    for (const [id, { element }] of this.kept)
      if (!elements.includes(element)) {
        element.remove();
        this.kept.delete(id);
      }
    elements.forEach((element, n) => {
      if (this.body.children[n] !== element) this.body.insertBefore(element, this.body.children[n] ?? null);
    });
    this.list.set(elements);
  }

  drawn(row) {
    const one = this.kept.get(row.id) ?? { element: this.made(row.id), said: "" },
      said = JSON.stringify(this.said(row));
    if (one.said !== said) {
      const key = one.element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      put(one.element, this.cells(row, one.element));
      if (key) one.element.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
      one.said = said;
    }
    this.kept.set(row.id, one);
    return one.element;
  }

  made(id) {
    const element = h("tr", { data: { id } });
    const at = () => this.list.rows.indexOf(element);
    element.addEventListener("click", (event) => {
      if (!event.target.closest("a, button, input, label")) this.list.choose(at());
    });
    element.addEventListener("dblclick", () => this.list.open(at()));
    return element;
  }
}
