// Lines over a common axis, with bands, or dots with whiskers.

import { BOTTOM, LEFT, RIGHT, TOP, axes, figure } from "/page/charts/figure.js";
import { extent, known, logTicks, outline, path, px, scale, short, ticks } from "/page/charts/scales.js";
import { h } from "/page/dom.js";
import { number, percent } from "/page/numbers.js";

// marks: places on the axis that are marked, such as alarms. series: {name, hue, dash, x, y, low, high, faint: {x, y}, dots}; share: numbers are shares; log: a scale of powers.
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
      (spec.marks ?? [])
        .filter((at) => at >= left && at <= right)
        .map((at) => h("line.mark", { x1: px(x(at)), x2: px(x(at)), y1: TOP, y2: height - BOTTOM })),
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
