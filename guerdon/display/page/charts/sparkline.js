// A line the size of a word.

import { extent, path, px, scale } from "/page/charts/scales.js";
import { h } from "/page/dom.js";

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
