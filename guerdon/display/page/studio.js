// The page: its views by their paths, and what stands around them.

import { h, put, tell } from "/page/dom.js";
import { everywhere, hold, showKeys } from "/page/keys.js";
import { listening, onChange } from "/page/live.js";
import { beginTheme, nextTheme } from "/page/theme.js";

// path pattern: the module that shows it; the first that fits
const VIEWS = [
  ["/", "runs"],
  ["/run/:run", "run"],
  ["/compare", "compare"], // ?run=ID&run=ID
  ["/evidence", "evidence"],
  ["/evidence/:name", "evidence"],
  ["/rollouts", "rollouts"], // ?run=ID&...filters
  ["/rollout/:run/:step/:episode", "rollout"], // ?segment=N
  ["/group/:run/:step/:ask", "group"],
  ["/beside", "beside"], // ?task=FAMILY/ID&left=RUN:STEP&right=RUN:STEP
  ["/bench", "bench"], // ?run=ID&step=N&sample=STEP:EPISODE:SEGMENT
  ["/labels", "labels"], // ?run=ID
  ["/audits", "audits"],
  ["/audits/compare", "audit_pair"], // ?audit=ID&audit=ID
  ["/audits/:audit", "audit"],
];
const BAR = [
  ["/", "Runs", "g r"],
  ["/rollouts", "Rollouts", "g o"],
  ["/bench", "Bench", "g b"],
  ["/labels", "Labels", "g l"],
  ["/audits", "Audits", "g a"],
  ["/evidence", "Evidence", "g e"],
];

const WITHIN = { "/run": "/", "/compare": "/", "/rollout": "/rollouts", "/group": "/rollouts", "/beside": "/rollouts" };

const place = document.getElementById("view");
let leave = () => {};
let turn = 0;

export function go(url, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", url);
  show();
}

// The address says what is shown; filters change it without showing everything again.
export function keepInAddress(url) {
  history.replaceState(null, "", url);
}

export function fault(error) {
  const line = document.getElementById("fault");
  const words = error ? (error.name === "AbortError" ? "" : error.message || String(error)) : "";
  line.textContent =
    words === "Failed to fetch" ? "the studio does not answer: is `guerdon view` still running?" : words;
  line.hidden = !words;
}

async function show() {
  const mine = ++turn;
  const { pathname, searchParams } = new URL(location.href);
  const [module, params] = find(pathname);
  const first = `/${pathname.split("/")[1]}`;
  const within = WITHIN[first] ?? first; // which of the bar's views it belongs to
  leave();
  leave = () => {};
  fault(null);
  for (const link of document.querySelectorAll("#views a"))
    if (link.getAttribute("href") === within) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  try {
    const [view] = await Promise.all([import(`/page/views/${module}.js`), listening()]);
    if (mine !== turn) return;
    put(place);
    place.className = `view ${module}`;
    const held = [];
    const early = new Set(); // what changed before the view listened, for it may have asked already
    const stop = onChange((ids) => (ids ?? [null]).forEach((id) => early.add(id)));
    held.push(stop);
    const around = {
      params,
      query: searchParams,
      go,
      fault,
      keepInAddress,
      keys: (layer) => held.push(hold(layer)),
      live: (call) => {
        held.push(onChange(call));
        stop();
        if (early.size) call(early.has(null) ? null : [...early]);
      },
      title: (words) => {
        document.title = `${words} · guerdon`;
        tell(words);
      },
      guard:
        (call) =>
        async (...given) => {
          try {
            return await call(...given);
          } catch (error) {
            if (mine === turn) fault(error);
            return undefined;
          }
        },
      here: () => mine === turn,
      cleanup: (call) => held.push(call),
    };
    leave = () => held.forEach((call) => call());
    await view.show(place, around);
    if (mine === turn && !place.contains(document.activeElement)) place.focus({ preventScroll: true });
  } catch (error) {
    if (mine === turn) fault(error);
  }
}

function find(path) {
  for (const [pattern, module] of VIEWS) {
    const names = [];
    const fits = new RegExp(
      `^${pattern.replace(/:(\w+)/g, (_, name) => {
        names.push(name);
        return "([^/]+)";
      })}/?$`,
    ).exec(path);
    if (fits) return [module, Object.fromEntries(names.map((name, n) => [name, decodeURIComponent(fits[n + 1])]))];
  }
  return ["nothing", {}];
}

// --- what stands around -----------------------------------------------------------------------------------------------

function begin() {
  beginTheme();
  put(
    document.getElementById("views"),
    BAR.map(([href, words]) => h("a", { href }, words)),
  );
  for (const [href, words, keys] of BAR) everywhere(keys, words.toLowerCase(), () => go(href));
  document.getElementById("help").addEventListener("click", showKeys);
  everywhere("?", "these keys", showKeys);
  everywhere("/", "search", () => document.querySelector("[data-search]")?.focus());
  everywhere("Escape", "leave a field", () => document.activeElement?.blur?.());
  everywhere("t", "light or dark", nextTheme);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='/']");
    if (
      !link ||
      link.target ||
      event.defaultPrevented ||
      event.button ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey
    )
      return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  addEventListener("popstate", show);
  show();
}

begin();
