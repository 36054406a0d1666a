// Shares, stacked in columns.

import { BOTTOM, LEFT, RIGHT, TOP, axes, figure } from "/page/charts/figure.js";
import { px, scale, short } from "/page/charts/scales.js";
import { h } from "/page/dom.js";
import { percent } from "/page/numbers.js";

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
