// What all charts have. Each is read by pointer or by arrow keys, and stands there as a table for whoever wants the numbers. What
// is not on the screen is drawn when it comes there.

import { px } from "/page/charts/scales.js";
import { h, put } from "/page/dom.js";

// around the drawing, for the ticks
export const LEFT = 52;
export const RIGHT = 10;
export const TOP = 8;
export const BOTTOM = 22;

const drawers = new WeakMap();
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) drawers.get(target)?.();
});
const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      target.dataset.seen = isIntersecting ? "1" : "";
      if (isIntersecting) drawers.get(target)?.();
    }
  },
  { rootMargin: "400px" },
);

// A figure: title, what is read, the drawing, and the numbers as a table. `own` has draw(width, height), stops(): what can
// be read, at(stop): its words, place(stop): where it lies, table(): {head, rows}, open(stop) where the spec says what to open.
export function figure(spec, own) {
  let at = -1,
    asTable = false,
    drawnWidth = 0;
  const read = h("span.read", { aria: { hidden: "true" } });
  const title = h("span.chart-title", {}),
    svg = h("svg", { aria: { hidden: "true" } });
  const cross = h("line.cross", { y1: TOP });
  const plot = h("div.plot", { tabindex: "0", role: "slider", aria: { roledescription: "chart" } }, svg);
  const numbers = h(
    "button.plain.small",
    {
      type: "button",
      aria: { pressed: "false" },
      title: "The numbers as a table",
      onclick: () => {
        asTable = !asTable;
        numbers.setAttribute("aria-pressed", asTable);
        draw();
      },
    },
    "numbers",
  );
  const table = h("div.scroll.chart-table", { hidden: true, tabindex: "0", role: "region" });
  const element = h("figure.chart", {}, h("figcaption", {}, title, numbers, read), plot, table);
  const height = () => spec().height ?? 150;

  function draw() {
    const { label, words = label, quiet = "" } = spec();
    put(title, words, quiet ? h("span.quiet", {}, ` ${quiet}`) : null);
    plot.hidden = asTable;
    table.hidden = !asTable;
    plot.classList.toggle("opens", Boolean(spec().open));
    plot.setAttribute("aria-label", label);
    table.setAttribute("aria-label", `${label}: numbers`);
    if (asTable) {
      drawTable();
      return;
    }
    if (plot.dataset.seen !== "1" || !plot.clientWidth) return;
    drawnWidth = plot.clientWidth;
    svg.setAttribute("width", drawnWidth);
    svg.setAttribute("height", height());
    put(svg, own.draw(drawnWidth, height()), cross);
    cross.setAttribute("y2", height() - BOTTOM);
    show();
  }

  function drawTable() {
    const { head, rows } = own.table();
    put(
      table,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((each) => h("th.num", { scope: "col" }, each)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell) => h("td.num", {}, cell)),
            ),
          ),
        ),
      ),
    );
  }

  function show() {
    const stops = own.stops();
    const last = stops.length - 1;
    plot.setAttribute("aria-valuemin", 0);
    plot.setAttribute("aria-valuemax", Math.max(0, last));
    const shown = at < 0 ? last : Math.min(at, last);
    const words = shown < 0 ? "nothing yet" : own.at(stops[shown]);
    plot.setAttribute("aria-valuenow", Math.max(0, shown));
    plot.setAttribute("aria-valuetext", words);
    put(read, at < 0 ? (spec().latest ?? words) : words);
    read.classList.toggle("live", at >= 0);
    cross.style.setProperty("visibility", at < 0 || last < 0 ? "hidden" : "visible");
    if (at >= 0 && last >= 0) {
      const x = px(own.place(stops[shown]));
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
    }
    spec().moved?.(at < 0 || last < 0 ? null : stops[shown]);
  }

  function nearest(event) {
    const x = event.clientX - plot.getBoundingClientRect().left;
    const stops = own.stops();
    let best = -1,
      gap = Infinity;
    stops.forEach((stop, n) => {
      const far = Math.abs(own.place(stop) - x);
      if (far < gap) {
        gap = far;
        best = n;
      }
    });
    return best;
  }

  plot.addEventListener("pointermove", (event) => {
    const n = nearest(event);
    if (n !== at) {
      at = n;
      show();
    }
  });
  plot.addEventListener("pointerleave", () => {
    if (document.activeElement !== plot) {
      at = -1;
      show();
    }
  });
  plot.addEventListener("blur", () => {
    at = -1;
    show();
  });
  plot.addEventListener("click", (event) => {
    const n = nearest(event);
    if (n >= 0 && spec().open) own.open(own.stops()[n]);
  });
  plot.addEventListener("keydown", (event) => {
    const last = own.stops().length - 1,
      far = event.shiftKey ? 10 : 1,
      from = at < 0 ? last : at;
    const to = { ArrowLeft: at < 0 ? last : from - far, ArrowRight: from + far, Home: 0, End: last }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) at = Math.max(0, Math.min(last, to));
    else if (event.key === "Escape" && at >= 0) at = -1;
    else if (event.key === "Enter" && spec().open && last >= 0) {
      own.open(own.stops()[at < 0 ? last : at]);
      event.preventDefault();
      event.stopPropagation();
      return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
    show();
  });
  drawers.set(plot, () => draw());
  sizes.observe(plot);
  seen.observe(plot);
  return { element, draw };
}

export function axes(width, height, x, y, xTicks, yTicks, said) {
  return [
    yTicks.map((v) => [
      h("line.grid", { x1: LEFT, x2: width - RIGHT, y1: px(y(v)), y2: px(y(v)) }),
      h("text.tick", { x: LEFT - 7, y: px(y(v) + 3.5), "text-anchor": "end" }, said.y(v)),
    ]),
    xTicks.map((v, n) =>
      h(
        "text.tick",
        {
          x: px(x(v)),
          y: height - 6,
          "text-anchor": n === 0 ? "start" : n === xTicks.length - 1 && x(v) > width - 60 ? "end" : "middle",
        },
        said.x(v),
      ),
    ),
    h("line.axis", { x1: LEFT, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM }),
  ];
}
