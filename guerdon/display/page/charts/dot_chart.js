// Dots with their mean, a column each.

import { BOTTOM, LEFT, RIGHT, TOP, axes, figure } from "/page/charts/figure.js";
import { extent, px, scale, short, ticks } from "/page/charts/scales.js";
import { h } from "/page/dom.js";
import { number } from "/page/numbers.js";

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
