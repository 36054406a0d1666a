// Tokens where they stand in their text, coloured by a number of theirs; pointing at one or moving to it reads its numbers.

import { get } from "/page/asking.js";
import { h, put, tell, visible } from "/page/dom.js";
import { openDialog } from "/page/keys.js";
import { count, number, signed } from "/page/numbers.js";

const TABLE = 300; // rows of the table of tokens at once
const ABOVE = 2000; // characters of a text from which cells stand above it, not below

// One for a card: which number colours its tokens, the legend, the line that reads a token.
export class Colouring {
  constructor(colours, chosen, marked) {
    Object.assign(this, { colours, marked });
    this.at =
      chosen === "nothing"
        ? colours.length
        : Math.max(
            0,
            colours.findIndex((each) => each.name === chosen),
          );
    this.boxes = [];
    this.line = h(
      "p.token-line.mono",
      {},
      h("span.quiet", {}, "point at a token, or move through a text by ← and →, to read its numbers"),
    );
    this.legend = h("span.legend");
    this.select = h(
      "select",
      { aria: { label: "Colour tokens by" }, onchange: () => this.choose(this.select.selectedIndex) },
      colours.map((each, n) => h("option", { value: n }, each.words)),
      h("option", { value: colours.length }, "nothing"),
    );
    this.select.selectedIndex = this.at;
    this.element = h(
      "div.colour-bar",
      {},
      colours.length ? h("label.field", {}, "colour", this.select) : h("span.quiet", {}, "no numbers for each token"),
      this.legend,
      h("button.plain.small", { type: "button", onclick: () => this.table() }, "as a table"),
      this.line,
    );
    this.drawLegend();
  }

  get by() {
    return this.colours[this.at];
  }

  add(box) {
    this.boxes.push(box);
    box.paint(this.by);
  }

  next() {
    this.choose((this.at + 1) % (this.colours.length + 1));
    tell(this.by ? `coloured by ${this.by.words}` : "not coloured");
  }

  choose(at) {
    this.at = at;
    this.select.selectedIndex = at;
    for (const box of this.boxes) box.paint(this.by);
    this.drawLegend();
    this.chosen?.(this.by?.name ?? "nothing");
  }

  drawLegend() {
    const by = this.by;
    if (!by) {
      put(this.legend);
      return;
    }
    const most = Math.max(Math.abs(by.low), Math.abs(by.high));
    const ends = by.signed
      ? [signed(-most), signed(most)]
      : by.high <= 0
        ? [number(by.low), "0"]
        : ["0", number(by.high)];
    const side = by.signed ? "two-sided" : by.high <= 0 ? "falling" : "rising";
    put(
      this.legend,
      h("span.quiet", {}, ends[0]),
      h(`span.ramp.${side}`, {
        role: "img",
        aria: { label: `from ${ends[0]} to ${ends[1]}` },
        title: by.name.includes("advantage")
          ? "the largest in this step's batch"
          : "99 in 100 of this step's batch lie within",
      }),
      h("span.quiet", {}, ends[1]),
      h(
        "span.quiet.marks",
        {},
        by.signed ? [h("span.t.down.sample", { style: { "--a": "0.5" } }, "below 0"), " "] : null,
        this.marked ? h("span.t.muted.sample", {}, "not learned from") : null,
      ),
    );
  }

  read(words, aloud) {
    this.line.textContent = visible(words);
    if (aloud) tell(words);
  }

  table() {
    const rows = this.boxes.flatMap((box) => box.rows());
    const names = this.colours.map((each) => each.words);
    const body = h("tbody");
    let shown = 0;
    const more = h("button", { type: "button", onclick: () => grow() });
    const grow = () => {
      body.append(
        ...rows.slice(shown, shown + TABLE).map((row) =>
          h(
            "tr",
            {},
            h("td.num", {}, row.at),
            h("td", {}, row.role),
            h("td.mono", {}, JSON.stringify(row.text)),
            h("td.num", {}, row.id),
            row.numbers.map((each) => h("td.num", {}, each)),
            h("td", {}, row.marks),
          ),
        ),
      );
      shown = Math.min(rows.length, shown + TABLE);
      more.hidden = shown >= rows.length;
      more.textContent = `${count(shown)} of ${count(rows.length)}: show more`;
    };
    grow();
    const dialog = openDialog("Tokens and their numbers", [
      h(
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
              h("th.num", {}, "token"),
              h("th", {}, "role"),
              h("th", {}, "says"),
              h("th.num", {}, "id"),
              names.map((name) => h("th.num", {}, name)),
              h("th", {}, ""),
            ),
          ),
          body,
        ),
      ),
      more,
    ]);
    dialog.classList.add("token-sheet");
  }
}

// What a segment said. which: {run, step, episode}; gives an element.
export function saidBy(segment, which, colouring) {
  const box = new TokenBox(segment, which, colouring);
  colouring.add(box);
  return box.element;
}

class TokenBox {
  constructor(segment, which, colouring) {
    Object.assign(this, { segment, which, colouring, spans: [], now: -1 });
    this.tokens = {
      ...segment.tokens,
      ids: [],
      pieces: segment.tokens.pieces ? [] : null,
      silent: {},
      beyond: {},
      numbers: {},
      muted: new Set(),
    };
    const { in_all: all } = segment.tokens;
    const unit = segment.tokens.pieces || segment.text_in_all ? "tokens" : "actions";
    const words = `${segment.role} said ${count(segment.text_in_all)} characters in ${count(all)} ${unit}; arrow keys read each`;
    this.text = h("div.said-text", { dir: "auto" });
    this.strip = segment.tokens.pieces ? this.text : h("div.strip");
    if (all) Object.assign(this.strip, { tabIndex: 0 }) && this.strip.setAttribute("role", "group");
    if (all) this.strip.setAttribute("aria-label", words);
    this.more = h("button.plain.small", { type: "button", onclick: () => this.grow() });
    this.moreText = h("button.plain.small", { type: "button", hidden: true, onclick: () => this.growText() });
    const beside = this.strip === this.text ? null : this.strip;
    this.text.hidden = Boolean(beside) && !segment.text_in_all && all > 0;
    this.element = h(
      "div.spoken",
      {},
      segment.text_in_all > ABOVE ? [beside, this.text] : [this.text, beside],
      h("div.more", {}, this.moreText, this.more),
    );
    if (this.strip !== this.text) this.addText(segment.text, segment.text_in_all);
    this.add(segment.tokens);
    this.strip.addEventListener("pointerover", (event) => {
      const at = event.target.closest?.("[data-n]");
      if (at) this.read(Number(at.dataset.n), false);
    });
    this.strip.addEventListener("click", (event) => {
      const at = event.target.closest?.("[data-n]");
      if (at && getSelection().isCollapsed) this.go(Number(at.dataset.n), false);
    });
    this.strip.addEventListener("keydown", (event) => this.key(event));
    this.strip.addEventListener("blur", () => this.spans[this.now]?.node.classList.remove("at"));
  }

  addText(text, all) {
    if (!this.shown) this.shown = 0;
    this.text.append(visible(text));
    this.shown += [...text].length;
    if (!all && !this.segment.tokens.in_all) put(this.text, h("span.quiet", {}, "nothing"));
    this.moreText.hidden = this.shown >= all;
    this.moreText.textContent = `${count(this.shown)} of ${count(all)} characters: show more`;
  }

  async growText() {
    try {
      const part = await get("/api/reading/text", {
        ...this.which,
        segment: this.segment.place,
        of: "text",
        start: this.shown,
      });
      this.addText(part.text, part.in_all);
    } catch (error) {
      this.moreText.textContent = error.message;
    }
  }

  add(part) {
    const base = this.tokens.ids.length;
    this.tokens.ids.push(...part.ids);
    if (this.tokens.pieces && part.pieces) this.tokens.pieces.push(...part.pieces);
    for (const [name, values] of Object.entries(part.numbers))
      this.tokens.numbers[name] = Array.isArray(values) ? [...(this.tokens.numbers[name] ?? []), ...values] : values;
    for (const at of part.muted) this.tokens.muted.add(base + at);
    for (const kind of ["silent", "beyond"])
      for (const [at, name] of Object.entries(part[kind])) this.tokens[kind][base + Number(at)] = name;
    const fresh = [];
    for (let at = base; at < this.tokens.ids.length; at++) {
      if (this.tokens.pieces && this.tokens.pieces[at] === null && this.spans.length) {
        this.spans[this.spans.length - 1].to = at + 1;
        continue;
      }
      const node = this.drawn(at, this.spans.length);
      this.spans.push({ from: at, to: at + 1, node });
      fresh.push(node);
    }
    this.strip.append(...fresh);
    const { in_all: all } = this.segment.tokens;
    const there = this.tokens.ids.length;
    this.more.hidden = there >= all;
    this.more.textContent = there
      ? `${count(there)} of ${count(all)} tokens: show more`
      : `${count(all)} tokens: colour them`;
    if (!there && all && this.strip === this.text && !this.text.textContent)
      this.text.append(visible(this.segment.text));
    this.paint(this.colouring.by, this.spans.length - fresh.length);
  }

  async grow() {
    this.more.disabled = true;
    try {
      const part = await get("/api/reading/tokens", {
        ...this.which,
        segment: this.segment.place,
        start: this.tokens.ids.length,
      });
      if (!this.tokens.ids.length && part.pieces) {
        this.tokens.pieces = [];
        put(this.text);
        put(this.strip);
      }
      this.add(part);
    } catch (error) {
      this.more.textContent = error.message;
    }
    this.more.disabled = false;
  }

  drawn(at, n) {
    const { pieces, silent, beyond, ids, muted } = this.tokens;
    const given = at < this.segment.given;
    const marks = [given ? "given" : "", muted.has(at) && !given ? "muted" : ""].filter(Boolean).join(" ");
    if (!pieces) {
      const action = [ids[at]]
        .flat()
        .map((v) => (this.segment.tokens.is_number ? number(v) : String(v)))
        .join(" ");
      const says = this.segment.text_in_all ? "" : action;
      return h("span.t.cell", { data: { n }, class: marks }, says);
    }
    if (silent[at] !== undefined) return h("span.t.silent", { data: { n }, class: marks }, "∎");
    const said = pieces[at] ?? "";
    return h(
      "span.t",
      { data: { n }, class: `${marks}${/^\s*\n\s*$/.test(said) ? " newline" : ""}` },
      said,
      beyond[at] ? h("s.quiet", {}, beyond[at]) : null,
    );
  }

  value(span, name) {
    const all = this.tokens.numbers[name];
    if (all === undefined) return null;
    if (!Array.isArray(all)) return typeof all === "number" ? all : null;
    const there = all.slice(span.from, span.to).filter((v) => typeof v === "number");
    return there.length ? there.reduce((sum, v) => sum + v, 0) / there.length : null;
  }

  paint(by, from = 0) {
    for (const span of this.spans.slice(from)) {
      const value = by ? this.value(span, by.name) : null;
      const list = span.node.classList;
      list.remove("up", "down", "seq", "none");
      span.node.style.removeProperty("--a");
      if (!by) continue;
      if (value === null) {
        list.add("none");
        continue;
      }
      const most = by.signed ? Math.max(Math.abs(by.low), Math.abs(by.high)) : by.high <= 0 ? -by.low : by.high;
      const depth = most ? Math.min(1, Math.abs(value) / most) : 0;
      if (depth < 0.005) continue;
      list.add(by.signed ? (value > 0 ? "up" : "down") : "seq");
      span.node.style.setProperty("--a", (by.signed ? 0.1 + 0.62 * depth : 0.04 + 0.68 * depth).toFixed(3));
    }
  }

  said(span) {
    return this.tokens.pieces?.[span.from] ?? "";
  }

  marks(span) {
    const said = [];
    if (this.tokens.silent[span.from] !== undefined) said.push(this.tokens.silent[span.from]);
    if (span.from < this.segment.given) said.push("put in its mouth");
    else if (this.tokens.muted.has(span.from)) said.push("not learned from");
    if (this.tokens.beyond[span.from]) said.push("cut off at a stop string");
    return said.join(", ");
  }

  words(n) {
    const span = this.spans[n];
    const id = this.tokens.ids.slice(span.from, span.to).join("+");
    const numbers = this.colouring.colours.map((each) => {
      const v = this.value(span, each.name);
      return `${each.words} ${v === null ? "none" : (each.signed ? signed : number)(v, 4)}`;
    });
    const said =
      this.tokens.pieces && this.tokens.silent[span.from] === undefined ? [JSON.stringify(this.said(span))] : [];
    return [
      `${span.from + 1} of ${count(this.segment.tokens.in_all)}`,
      ...said,
      this.marks(span),
      ...numbers,
      `id ${id}`,
    ]
      .filter(Boolean)
      .join("  ·  ");
  }

  read(n, aloud) {
    this.colouring.read(this.words(n), aloud);
  }

  go(n, aloud = true) {
    if (!this.spans.length) return;
    this.spans[this.now]?.node.classList.remove("at");
    this.now = Math.max(0, Math.min(this.spans.length - 1, n));
    const { node } = this.spans[this.now];
    node.classList.add("at");
    node.scrollIntoView({ block: "nearest" });
    this.read(this.now, aloud);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowRight: this.now + 1, ArrowLeft: this.now - 1, Home: 0, End: this.spans.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(to);
  }

  rows() {
    return this.spans.map((span) => ({
      at: span.from + 1,
      role: this.segment.role,
      text: this.said(span),
      id: this.tokens.ids.slice(span.from, span.to).join("+"),
      marks: this.marks(span),
      numbers: this.colouring.colours.map((each) => {
        const v = this.value(span, each.name);
        return v === null ? "–" : number(v, 4);
      }),
    }));
  }
}
