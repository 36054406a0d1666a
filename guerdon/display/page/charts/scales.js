// From numbers to places in a drawing: scales, their ticks, and the outlines of lines and bands.

export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const size = [1, 2, 5, 10].map((digit) => digit * power).find((step) => (high - low) / step <= wanted + 0.5);
  const all = [];
  for (let at = Math.ceil(low / size - 1e-9); at * size <= high + size * 1e-9; at += 1)
    all.push(Number((at * size).toPrecision(12)));
  return all;
}

export function logTicks(low, high) {
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

export function known(values) {
  return values.filter((v) => v !== null && v !== undefined && Number.isFinite(v));
}

export function extent(lists) {
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

export function scale(from, to, start, end, log = false) {
  const f = log ? Math.log10 : (v) => v;
  const a = f(from),
    b = f(to);
  return (v) => (b === a ? (start + end) / 2 : start + ((f(v) - a) / (b - a)) * (end - start));
}

export const px = (v) => (Math.round(v * 10) / 10).toString();

// stretches of places that all have a value
function stretches(values) {
  const all = [[]];
  values.forEach((v, n) => {
    if (v !== null && v !== undefined) all.at(-1).push(n);
    else if (all.at(-1).length) all.push([]);
  });
  return all.filter((one) => one.length);
}

export function path(xs, ys, x, y) {
  return stretches(ys)
    .map(
      (one) => `M${(one.length > 1 ? one : [one[0], one[0]]).map((n) => `${px(x(xs[n]))},${px(y(ys[n]))}`).join("L")}`,
    )
    .join("");
}

export function outline(xs, low, high, x, y) {
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
