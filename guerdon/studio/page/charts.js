// Charts in SVG, drawn from numbers: lines with bands, shares stacked in columns, dots with their mean. Each is read by pointer or
// by arrow keys, and stands there as a table for whoever wants the numbers. What is not on the screen is drawn when it comes there.

import { h, put } from "/page/dom.js";
import { number, percent } from "/page/numbers.js";

const LEFT = 52,
  RIGHT = 10,
  TOP = 8,
  BOTTOM = 22;
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

// --- numbers and places --------------------------------------------------------------------------------------------------

export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const size = [1, 2, 5, 10].map((digit) => digit * power).find((step) => (high - low) / step <= wanted + 0.5);
  const all = [];
  for (let at = Math.ceil(low / size - 1e-9); at * size <= high + size * 1e-9; at += 1)
    all.push(Number((at * size).toPrecision(12)));
  return all;
}

function logTicks(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    for (const digit of high / low < 100 ? [1, 2, 5] : [1]) {
      const at = digit * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) all.push(at);
    }
  const every = Math.ceil(all.length / 6);
  return all.filter((_, n) => n % every === 0);
}

export function short(value) {
  const size = Math.abs(value);
  const said =
    size >= 1e9
      ? `${+(value / 1e9).toPrecision(4)}G`
      : size >= 1e6
        ? `${+(value / 1e6).toPrecision(4)}M`
        : size >= 1e4
          ? `${+(value / 1e3).toPrecision(4)}k`
          : size !== 0 && size < 1e-3
            ? value.toExponential(1).replace(".0e", "e")
            : `${+value.toPrecision(6)}`;
  return said.replaceAll("-", "−");
}

function known(values) {
  return values.filter((v) => v !== null && v !== undefined && Number.isFinite(v));
}

function extent(lists) {
  let low = Infinity,
    high = -Infinity;
  for (const list of lists)
    for (const v of list ?? [])
      if (v !== null && Number.isFinite(v)) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
  return [low, high];
}

function scale(from, to, start, end, log = false) {
  const f = log ? Math.log10 : (v) => v;
  const a = f(from),
    b = f(to);
  return (v) => (b === a ? (start + end) / 2 : start + ((f(v) - a) / (b - a)) * (end - start));
}

const px = (v) => (Math.round(v * 10) / 10).toString();

// stretches of places that all have a value
function stretches(values) {
  const all = [[]];
  values.forEach((v, n) => {
    if (v !== null && v !== undefined) all.at(-1).push(n);
    else if (all.at(-1).length) all.push([]);
  });
  return all.filter((one) => one.length);
}

function path(xs, ys, x, y) {
  return stretches(ys)
    .map(
      (one) => `M${(one.length > 1 ? one : [one[0], one[0]]).map((n) => `${px(x(xs[n]))},${px(y(ys[n]))}`).join("L")}`,
    )
    .join("");
}

function outline(xs, low, high, x, y) {
  return stretches(low.map((v, n) => (v === null || high[n] === null ? null : v)))
    .map(
      (one) =>
        `M${one.map((n) => `${px(x(xs[n]))},${px(y(high[n]))}`).join("L")}L${one
          .toReversed()
          .map((n) => `${px(x(xs[n]))},${px(y(low[n]))}`)
          .join("L")}Z`,
    )
    .join("");
}

// --- what all charts have ------------------------------------------------------------------------------------------------

// A figure: title, what is read, the drawing, and the numbers as a table. `own` has draw(svg, width, height), stops(): what can
// be read, at(stop): its words, place(stop): where it lies, table(): {head, rows}, open(stop) where the spec says what to open.
function figure(spec, own) {
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

function axes(width, height, x, y, xTicks, yTicks, said) {
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

// --- lines ---------------------------------------------------------------------------------------------------------------

// series: {name, hue, dash, x, y, low, high, faint: {x, y}, dots}; share: numbers are shares; log: a scale of powers.
// Gives {element, update(spec)}: what changed is drawn in place.
export function lineChart(first) {
  let spec = first,
    x = () => 0,
    stops = [];
  const write = (v) => (v === null || v === undefined ? "–" : spec.share ? percent(v) : number(v));
  const shown = () => spec.series.filter((one) => !one.hidden);
  const drawable = (list) => (spec.log ? list?.map((v) => (v > 0 ? v : null)) : list);

  function draw(width, height) {
    const lines = shown().map((one) => ({
      ...one,
      y: drawable(one.y),
      low: drawable(one.low),
      high: drawable(one.high),
      faint: one.faint && { ...one.faint, y: drawable(one.faint.y) },
    }));
    const drawn = lines.filter((one) => known(one.y).length);
    if (!drawn.length)
      return h(
        "text.tick",
        { x: LEFT, y: height / 2 },
        spec.log && shown().length ? "nothing above 0, so no scale of powers" : "no number yet",
      );
    const [left, right] = extent(drawn.flatMap((one) => [one.x, one.faint?.x]));
    let [low, high] = extent(drawn.flatMap((one) => [one.y, one.low, one.high, one.faint?.y]));
    if (spec.share) {
      low = Math.min(low, spec.whole ? 0 : low);
      high = Math.max(high, spec.whole ? 1 : high);
    }
    if (low === high && !spec.log) {
      const room = Math.abs(low) * 0.05 || 0.5;
      low -= room;
      high += room;
    }
    const marks = spec.log ? logTicks(low, high) : ticks(low, high);
    if (!spec.log && marks.length > 1) {
      const step = marks[1] - marks[0];
      if (low < marks[0]) marks.unshift(marks[0] - step);
      if (high > marks.at(-1)) marks.push(marks.at(-1) + step);
      low = marks[0];
      high = marks.at(-1);
    }
    x = scale(left, right, LEFT, width - RIGHT);
    const y = scale(low, high, height - BOTTOM, TOP, spec.log);
    const across = ticks(left, right, width > 500 ? 7 : 4).filter((v) => !spec.whole_x || Number.isInteger(v));
    return [
      axes(
        width,
        height,
        x,
        y,
        across,
        marks.map((v) => +v.toPrecision(12)),
        { x: short, y: (v) => (spec.share ? `${short(+(100 * v).toPrecision(6))} %` : short(v)) },
      ),
      drawn.map((one) =>
        h(
          `g.series.hue-${(one.hue ?? 0) % 8}.dash-${(one.dash ?? 0) % 4}`,
          {},
          one.dots
            ? points(one, y)
            : [
                one.low ? h("path.band", { d: outline(one.x, one.low, one.high, x, y) }) : null,
                one.faint ? h("path.faint", { d: path(one.faint.x, one.faint.y, x, y) }) : null,
                h("path.line", { d: path(one.x, one.y, x, y) }),
              ],
        ),
      ),
    ];
  }

  function points(one, y) {
    return one.x.map((at, n) =>
      one.y[n] === null
        ? null
        : [
            one.low?.[n] === null || one.low?.[n] === undefined
              ? null
              : h("line.whisker", { x1: px(x(at)), x2: px(x(at)), y1: px(y(one.low[n])), y2: px(y(one.high[n])) }),
            h("circle.dot", { cx: px(x(at)), cy: px(y(one.y[n])), r: 3.5 }),
          ],
    );
  }

  // a stop is a place on the axis; of each series what lies nearest to it
  function refresh() {
    stops = [...new Set(shown().flatMap((one) => one.x.filter((_, n) => one.y[n] !== null)))].sort((a, b) => a - b);
  }
  function near(one, at) {
    let best = -1;
    one.x.forEach((v, n) => {
      if (one.y[n] !== null && (best < 0 || Math.abs(v - at) < Math.abs(one.x[best] - at))) best = n;
    });
    return best;
  }
  function reading(one, at) {
    const n = near(one, at);
    if (n < 0) return "–";
    const around =
      one.low && one.low[n] !== null && one.low[n] !== undefined
        ? ` (${write(one.low[n])} to ${write(one.high[n])})`
        : "";
    return `${write(one.y[n])}${around}`;
  }
  const where = (at) => `${spec.xWords ?? "step"} ${number(at)}`;
  const made = figure(() => spec, {
    draw,
    stops: () => stops,
    place: (at) => x(at),
    at: (at) =>
      shown().length === 1
        ? `${where(at)}: ${reading(shown()[0], at)}`
        : `${where(at)}: ${shown()
            .map((one) => `${one.name} ${reading(one, at)}`)
            .join(", ")}`,
    table: () => ({
      head: [spec.xWords ?? "step", ...shown().map((one) => one.name)],
      rows: stops.map((at) => [
        number(at),
        ...shown().map((one) => {
          const n = one.x.indexOf(at);
          return n < 0 ? "" : reading(one, at);
        }),
      ]),
    }),
    open: (at) => {
      const one = shown()[0];
      spec.open(one.step?.[near(one, at)] ?? at);
    },
  });
  refresh();
  return {
    element: made.element,
    update(next) {
      spec = { ...spec, ...next };
      refresh();
      made.draw();
    },
    spec: () => spec,
  };
}

// --- shares, stacked ---------------------------------------------------------------------------------------------------------

// columns: {first, last, kinds: [{kind, hue, depth, share}]}
export function stackChart(first) {
  let spec = first,
    x = () => 0;
  const made = figure(() => spec, {
    draw(width, height) {
      const { first: from, kinds } = spec.columns;
      x = scale(0, from.length, LEFT, width - RIGHT);
      const y = scale(0, 1, height - BOTTOM, TOP);
      const ends = [0, from.length - 1].filter((n, i) => i === 0 || from.length > 1);
      const above = from.map(() => 1);
      return [
        kinds.map((kind) =>
          h(`path.piece.hue-${kind.hue}`, {
            style: { "--depth": `${kind.depth.toFixed(0)}%` },
            d: kind.share
              .map((share, n) => {
                if (!share) return "";
                const top = above[n];
                above[n] -= share;
                return `M${px(x(n))},${px(y(top))}H${px(x(n + 1))}V${px(y(above[n]))}H${px(x(n))}Z`;
              })
              .join(""),
          }),
        ),
        axes(width, height, x, y, [], [0, 0.5, 1], { x: short, y: (v) => `${100 * v} %` }),
        ends.map((n, i) =>
          h(
            "text.tick",
            { x: i ? width - RIGHT : LEFT, y: height - 6, "text-anchor": i ? "end" : "start" },
            `step ${short(i ? spec.columns.last[n] : from[n])}`,
          ),
        ),
      ];
    },
    stops: () => spec.columns.first.map((_, n) => n),
    place: (n) => x(n + 0.5),
    at: (n) =>
      `${where(n)}: ${
        spec.columns.kinds
          .filter((kind) => kind.share[n])
          .map((kind) => `${kind.kind} ${percent(kind.share[n], 0)}`)
          .join(", ") || "nothing"
      }`,
    table: () => ({
      head: ["steps", ...spec.columns.kinds.map((kind) => kind.kind)],
      rows: spec.columns.first.map((_, n) => [
        where(n),
        ...spec.columns.kinds.map((kind) => percent(kind.share[n] ?? null)),
      ]),
    }),
    open: (n) => spec.open(spec.columns.last[n]),
  });
  function where(n) {
    const { first: from, last } = spec.columns;
    return from[n] === last[n] ? `step ${from[n]}` : `steps ${from[n]} to ${last[n]}`;
  }
  return {
    element: made.element,
    update(next) {
      spec = { ...spec, ...next };
      made.draw();
    },
  };
}

// --- dots, a column each -------------------------------------------------------------------------------------------------------

// columns: [{name, hue, dots, mean, low, high, hollow}]; effect: a shade around zero
export function dotChart(first) {
  let spec = first,
    x = () => 0;
  const write = (v) => number(v, 4);
  const made = figure(() => spec, {
    draw(width, height) {
      const effect = spec.effect ?? 0;
      let [low, high] = extent(
        spec.columns.flatMap((one) => [one.dots, [one.low ?? null, one.high ?? null]]).concat([[-effect, effect, 0]]),
      );
      const room = (high - low) * 0.06;
      low -= room;
      high += room;
      x = scale(0, spec.columns.length, LEFT, width - RIGHT);
      const y = scale(low, high, height - BOTTOM, TOP);
      const wide = (width - LEFT - RIGHT) / spec.columns.length;
      return [
        effect
          ? h("rect.shade", {
              x: LEFT,
              width: width - RIGHT - LEFT,
              y: px(y(effect)),
              height: px(y(-effect) - y(effect)),
            })
          : null,
        axes(width, height, x, y, [], ticks(low, high), { x: short, y: short }),
        h("line.zero", { x1: LEFT, x2: width - RIGHT, y1: px(y(0)), y2: px(y(0)) }),
        spec.columns.map((one, n) => {
          const middle = x(n + 0.5),
            apart = Math.min(5, (0.6 * wide) / Math.max(1, one.dots.length));
          return h(
            `g.series.hue-${one.hue ?? 0}`,
            {},
            one.dots.map((v, i) =>
              h(one.hollow ? "circle.hollow" : "circle.seed", {
                cx: px(middle + (i - (one.dots.length - 1) / 2) * apart),
                cy: px(y(v)),
                r: 2.5,
              }),
            ),
            one.mean === undefined
              ? null
              : [
                  h("line.interval", { x1: px(middle), x2: px(middle), y1: px(y(one.low)), y2: px(y(one.high)) }),
                  h("circle.mean", { cx: px(middle), cy: px(y(one.mean)), r: 4.5 }),
                ],
            h("text.tick", { x: px(middle), y: height - 6, "text-anchor": "middle" }, one.name),
          );
        }),
      ];
    },
    stops: () => spec.columns.map((_, n) => n),
    place: (n) => x(n + 0.5),
    at: (n) => {
      const one = spec.columns[n];
      return one.mean === undefined
        ? `${one.name}: ${one.dots.length} seeds`
        : `${one.name}: ${write(one.mean)} (${write(one.low)} to ${write(one.high)}), ${one.dots.length} seeds`;
    },
    table: () => ({
      head: ["seed", ...spec.columns.map((one) => one.name)],
      rows: Array.from({ length: Math.max(...spec.columns.map((one) => one.dots.length)) }, (_, i) => [
        `${i}`,
        ...spec.columns.map((one) => (one.dots[i] === undefined ? "" : write(one.dots[i]))),
      ]),
    }),
  });
  return {
    element: made.element,
    update(next) {
      spec = { ...spec, ...next };
      made.draw();
    },
  };
}

// --- the size of a word --------------------------------------------------------------------------------------------------------

export function sparkline(values, words, width = 96, height = 22) {
  const drawing = h("svg.spark", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    aria: { label: words },
  });
  const [low, high] = extent([values]);
  if (low <= high) {
    const x = scale(0, Math.max(1, values.length - 1), 2, width - 4),
      y = scale(low, high, height - 3, 3);
    const last = values.findLastIndex((v) => v !== null);
    drawing.append(
      h("path.line", {
        d: path(
          values.map((_, n) => n),
          values,
          x,
          y,
        ),
      }),
      h("circle.dot", { cx: px(x(last)), cy: px(y(values[last])), r: 2 }),
    );
  }
  return drawing;
}
