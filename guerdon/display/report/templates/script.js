// Read-outs when a chart is pointed at, or stepped through by arrow keys.
// They show the numbers of the data block beside them, written as `shown_numbers.show` writes them.
const curves = JSON.parse(document.getElementById("curves").textContent);
const digits = d => ({minimumFractionDigits: d, maximumFractionDigits: d});
const show = v => { const a = Math.abs(v);
  let s = a >= 1e6 || (a > 0 && a < 1e-3) ? v.toExponential(2).replace("+", "") :
    Number.isInteger(v) || a >= 1e3 ? v.toLocaleString("en", digits(0)) :
    v.toLocaleString("en", digits(a >= 100 ? 1 : a >= 10 ? 2 : a >= .1 ? 3 : 4));
  return s.replaceAll("-", "\u2212"); };
const part = (kind, text) => { const e = document.createElement("span"); e.className = kind; e.textContent = text; return e; };
for (const svg of document.querySelectorAll("svg[data-curve]")) {
  const c = curves[svg.dataset.curve], low = +svg.dataset.low, high = +svg.dataset.high;
  const now = svg.parentNode.querySelector("output"), rest = [...now.childNodes];
  const cross = svg.querySelector(".cross"), spot = svg.querySelector(".spot");
  const valued = c.step.map((_, i) => i).filter(i => c.value[i] !== null), wide = svg.dataset.last;
  const first = wide ? 0 : c.step[0], last = wide ? +wide : c.step.at(-1);
  const said_as = "share" in svg.dataset ? v => (100 * v).toFixed(1) + " %" : show;
  const [LEFT, RIGHT, TOP, BOTTOM] = svg.dataset.frame.split(" ").map(Number);
  const x = s => last > first ? LEFT + (s - first) / (last - first) * (RIGHT - LEFT) : (LEFT + RIGHT) / 2;
  const y = v => high > low ? BOTTOM + (v - low) / (high - low) * (TOP - BOTTOM) : (TOP + BOTTOM) / 2;
  let at = valued.length - 1;
  const point = n => { at = n; const i = valued[n], px = x(c.step[i]);
    cross.setAttribute("x1", px); cross.setAttribute("x2", px);
    spot.setAttribute("cx", px); spot.setAttribute("cy", y(c.value[i])); svg.classList.add("live");
    const said = [part("value", said_as(c.value[i]))];
    if (c.std && c.std[i] !== null && !wide) said.push(part("quiet", " \u00b1 " + show(c.std[i])));
    now.replaceChildren(...said, part("quiet", " at step " + c.step[i].toLocaleString("en"))); };
  const leave = () => { svg.classList.remove("live"); now.replaceChildren(...rest); };
  svg.addEventListener("pointermove", e => { const box = svg.getBoundingClientRect();
    const px = (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const far = n => Math.abs(x(c.step[valued[n]]) - px);
    point(valued.reduce((best, _, n) => far(n) < far(best) ? n : best, 0)); });
  svg.addEventListener("pointerleave", leave); svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => { const move = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (move) { e.preventDefault(); point(Math.min(valued.length - 1, Math.max(0, at + move))); } });
}
for (const svg of document.querySelectorAll("svg[data-draws]")) {
  const columns = JSON.parse(svg.dataset.draws), [LEFT, RIGHT] = svg.dataset.frame.split(" ").map(Number);
  const figure = svg.closest("figure"), cross = svg.querySelector(".cross"), wide = (RIGHT - LEFT) / columns.length;
  const cells = [...figure.querySelectorAll(".now")], rest = cells.map(e => [...e.childNodes]);
  let at = columns.length - 1;
  const point = c => { at = Math.min(columns.length - 1, Math.max(0, c)); const [first, last, ...shares] = columns[at];
    cross.setAttribute("x", LEFT + at * wide); svg.classList.add("live");
    const steps = last > first ? "steps " + show(first) + " to " + show(last) : "step " + show(first);
    const said = [steps, ...shares.map(s => s === null ? "none" : (100 * s).toFixed(1) + " %")];
    cells.forEach((e, i) => e.replaceChildren(said[i])); };
  const leave = () => { svg.classList.remove("live"); cells.forEach((e, i) => e.replaceChildren(...rest[i])); };
  svg.addEventListener("pointermove", e => { const box = svg.getBoundingClientRect();
    point(Math.floor(((e.clientX - box.left) / box.width * svg.viewBox.baseVal.width - LEFT) / wide)); });
  svg.addEventListener("pointerleave", leave); svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => { const move = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (move) { e.preventDefault(); point(at + move); } });
  for (const row of figure.querySelectorAll("tr[data-kind]")) {
    const band = svg.querySelector(`path[data-kind="${row.dataset.kind}"]`);
    const pick = on => { figure.classList.toggle("picked", on); band.classList.toggle("on", on); };
    row.addEventListener("pointerenter", () => pick(true)); row.addEventListener("pointerleave", () => pick(false)); }
}
