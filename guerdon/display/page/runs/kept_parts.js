// Parts of a page that is asked for again and again: what did not change stands untouched, what was unfolded or has the focus stays so.

import { lineChart } from "/page/charts/line_chart.js";
import { h, put } from "/page/dom.js";

// Sections by name, and part(name, said, make): makes a section's content anew only when what it says has changed.
// Gives also saidIn(name): what it says now, as text.
export function keptParts(prefix, names) {
  const rooms = Object.fromEntries(names.map((name) => [name, h(`section.${prefix}-${name}`, {})]));
  const texts = new Map();
  function part(name, said, make) {
    const text = JSON.stringify(said);
    if (texts.get(name) === text) return;
    texts.set(name, text);
    const key = rooms[name].contains(document.activeElement) ? document.activeElement.dataset.key : null;
    put(rooms[name], make(said));
    if (key) rooms[name].querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
  return { rooms, part, saidIn: (name) => texts.get(name) };
}

// Gives fold(key, words, content): details that stay unfolded when they are made again.
export function keptFolds() {
  const open = new Set();
  return (key, words, content) => {
    const made = h("details", { open: open.has(key) }, h("summary", { data: { key } }, words), content);
    made.addEventListener("toggle", () => (made.open ? open.add(key) : open.delete(key)));
    return made;
  };
}

// Gives chartOf(key, spec): the card with that chart of lines, drawn in place when it is there already.
export function keptCharts() {
  const charts = new Map();
  return (key, next) => {
    if (charts.has(key)) charts.get(key).update(next);
    else {
      const made = lineChart(next);
      made.card = h("div.card", {}, made.element);
      charts.set(key, made);
    }
    return charts.get(key).card;
  };
}
