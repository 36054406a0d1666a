// How numbers are written: few digits that say what there is to say.

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 0.5 * 10 ** -digits)) return value.toExponential(1).replaceAll("-", "−");
  return value.toFixed(size >= 100 ? 1 : digits).replace("-", "−");
}

export function signed(value, digits = 3) {
  return value > 0 ? `+${number(value, digits)}` : number(value, digits);
}

export function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en").replace("-", "−");
}

export function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(value % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function plural(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}
