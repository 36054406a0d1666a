// What views of curves have in common: the tools above them, a section that unfolds, a line's key.

import { h, once, put } from "/page/dom.js";

const MOST = 60; // charts in a section
export const X_WORDS = { steps: "step", tokens: "tokens", seconds: "seconds" };

// What an address says of how curves are drawn, and back.
export function readWish(query) {
  return {
    x: X_WORDS[query.get("x")] ? query.get("x") : "steps",
    smooth: Math.min(0.99, Math.max(0, Number(query.get("smooth")) || 0)),
    log: query.get("log") === "1",
    metric: query.get("metric") ?? "",
  };
}
export function wishInAddress(wish) {
  return { x: wish.x === "steps" ? "" : wish.x, smooth: wish.smooth || "", log: wish.log, metric: wish.metric };
}

// Search, axis, smoothing and scale: `redraw` where the numbers are there already, `ask` where others are wanted.
export function curveTools(wish, redraw, ask, smooths = true) {
  const later = once(150, ask);
  const said = () => (wish.smooth ? wish.smooth.toFixed(2) : "off");
  const search = h("input", {
    type: "search",
    value: wish.metric,
    placeholder: "reward, kl, length",
    data: { search: "" },
    aria: { label: "Search metrics" },
    oninput: once(120, () => {
      wish.metric = search.value;
      redraw();
    }),
  });
  const amount = h("output", {}, said());
  const smooth = h("input", {
    type: "range",
    min: 0,
    max: 0.99,
    step: 0.01,
    value: wish.smooth,
    aria: { label: "Smoothing" },
    oninput: () => {
      wish.smooth = Number(smooth.value);
      put(amount, said());
      later();
    },
  });
  const log = h("input", {
    type: "checkbox",
    checked: wish.log,
    onchange: () => {
      wish.log = log.checked;
      redraw();
    },
  });
  const x = h(
    "select",
    {
      onchange: () => {
        wish.x = x.value;
        later();
      },
    },
    Object.keys(X_WORDS).map((word) => h("option", { value: word, selected: word === wish.x }, word)),
  );
  return h(
    "div.toolbar",
    {},
    search,
    h("label", {}, "over", x),
    smooths ? h("label", {}, "smooth", smooth, amount) : null,
    h("label", {}, log, "log scale"),
  );
}

export function wantedWords(wish) {
  return wish.metric.toLowerCase().split(/\s+/).filter(Boolean);
}

// The groups with those of their names that have all words, but one that is drawn elsewhere.
export function fittingGroups(groups, words, but = "") {
  const fits = (text) => words.every((word) => text.toLowerCase().includes(word));
  return groups
    .map((group) => ({
      ...group,
      names: group.names.filter((name, n) => name !== but && fits(`${name} ${group.titles[n]}`)),
    }))
    .filter((group) => group.names.length);
}

// Of a section that is unfolded the names whose numbers are there; others are asked for, as many as anybody looks at.
export function wantedNow(section, names, there, also, ask) {
  const some = names.slice(0, MOST);
  const late = section.element.open ? some.filter((name) => !there[name]) : [];
  const fresh = late.filter((name) => !also.has(name));
  if (also.size > 4 * MOST) also.clear();
  for (const name of fresh) also.add(name);
  put(
    section.said,
    late.length ? "reading…" : names.length > MOST ? `The first ${MOST} are drawn: search for others.` : "",
  );
  if (fresh.length) ask();
  return some.filter((name) => there[name]);
}

// Charts under a heading, drawn when it is unfolded.
export function curveSection(title, lead, open, unfolded) {
  const made = {
    grid: h("div.grid", {}),
    flat: h("p.quiet.flat", {}),
    count: h("span.quiet", {}),
    said: h("p.quiet", { role: "status" }),
  };
  made.element = h(
    "details.curves",
    { open },
    h("summary", {}, h("h3", {}, title), made.count),
    lead ? h("p.quiet", {}, lead) : null,
    made.said,
    made.grid,
    made.flat,
  );
  made.element.addEventListener("toggle", () => {
    if (made.element.open) unfolded();
  });
  return made;
}

// children in this order, those that stand there already untouched
export function keepInOrder(place, wanted) {
  for (const child of [...place.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((element, n) => {
    if (place.children[n] !== element) place.insertBefore(element, place.children[n] ?? null);
  });
}

export function lineKey(hue, dash) {
  return h(
    `svg.key.hue-${hue}`,
    { width: 30, height: 10, aria: { hidden: "true" } },
    h(`path.line.dash-${dash}`, { d: "M1,5L29,5" }),
  );
}
