// A small histogram in which a range is chosen: by dragging over it, by a click on a bar, or by the two fields below it.

import { h } from "/page/dom.js";
import { count, number } from "/page/numbers.js";

const WIDE = 240,
  HIGH = 44;

// spread: {low, high, bins, count}; range: what is chosen now, "A..B"; choose(range) is called with another, "" for all
export function histogram(name, spread, range, choose) {
  const [from, to] = ends(range);
  const fields = h(
    "div.range",
    {},
    field(`${name} from`, from, (value) => choose(join(value, to))),
    h("span.quiet", { aria: { hidden: "true" } }, "to"),
    field(`${name} to`, to, (value) => choose(join(from, value))),
    range
      ? h("button.plain", { type: "button", aria: { label: `All of ${name}` }, onclick: () => choose("") }, "×")
      : null,
  );
  if (!spread) return h("div.histogram", {}, h("p.quiet.small", {}, "none of these has one"), range ? fields : null);
  if (spread.low === spread.high)
    return h("div.histogram", {}, h("p.quiet.small", {}, `all ${number(spread.low)}`), fields);
  const said = `${name}: ${count(spread.count)} from ${number(spread.low)} to ${number(spread.high)}`;
  return h(
    "div.histogram",
    {},
    bars(name, spread, said, choose),
    h("div.ends.quiet", {}, h("span", {}, number(spread.low)), h("span", {}, number(spread.high))),
    fields,
  );
}

function bars(name, { low, high, bins }, said, choose) {
  const most = Math.max(...bins),
    wide = WIDE / bins.length;
  const edge = (n) => Number((low + (n * (high - low)) / bins.length).toPrecision(4));
  const drawn = bins.map((many, n) => {
    const tall = many ? Math.max(1.5, (HIGH * many) / most) : 0;
    return h(
      "rect",
      {
        x: n * wide + 0.5,
        y: HIGH - tall,
        width: Math.max(1, wide - 1),
        height: tall,
        class: n < bins.length && low < 0 && edge(n + 1) <= 0 ? "below" : "",
      },
      h("title", { drawn: true }, `${number(edge(n))} to ${number(edge(n + 1))}: ${count(many)}`),
    );
  });
  const brush = h("rect", { class: "brush", y: 0, height: HIGH, x: 0, width: 0 });
  const svg = h(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", aria: { label: said } },
    brush,
    drawn,
    h("line", { x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }),
  );
  let begun = -1;
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.max(0, Math.min(bins.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bins.length)));
  };
  const span = (event) => [begun, at(event)].sort((a, b) => a - b);
  const show = ([a, b]) => {
    brush.setAttribute("x", a * wide);
    brush.setAttribute("width", (b - a + 1) * wide);
  };
  svg.classList.add("choosable");
  svg.addEventListener("pointerdown", (event) => {
    begun = at(event);
    svg.setPointerCapture(event.pointerId);
    show(span(event));
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    if (begun >= 0) show(span(event));
  });
  svg.addEventListener("pointercancel", () => {
    begun = -1;
    brush.setAttribute("width", 0);
  });
  svg.addEventListener("pointerup", (event) => {
    if (begun < 0) return;
    const [a, b] = span(event);
    begun = -1;
    choose(join(a === 0 ? "" : edge(a), b === bins.length - 1 ? "" : edge(b + 1))); // what lies at the ends is meant too, however it is rounded
  });
  return svg;
}

function field(label, value, changed) {
  return h("input", {
    type: "text",
    inputmode: "decimal",
    size: 6,
    value,
    placeholder: "any",
    aria: { label },
    autocomplete: "off",
    onchange: (event) => changed(event.target.value.trim()),
  });
}

// "0.5..1" as [from, to]; what is no such range stands in the first field as it is
export function ends(range) {
  const at = range.indexOf("..");
  if (at >= 0) return [range.slice(0, at), range.slice(at + 2)];
  const only = /^(>=|<=)(.*)$/.exec(range);
  return only ? (only[1] === ">=" ? [only[2], ""] : ["", only[2]]) : [range, ""];
}

function join(from, to) {
  if (from === "" && to === "") return "";
  return to === "" && !/^[-+.\d]/.test(from) ? from : `${from}..${to}`; // ">0", "none"
}
