// All tries at an ask: a strip that fits in a card, and rows to read and go through.

import { inFile } from "/page/asking.js";
import { h } from "/page/dom.js";
import { count, number, percent, plural, signed } from "/page/numbers.js";

const BARS = 96; // that are drawn in a strip, at most

// Where a rollout is shown; null in a file that does not hold it.
export function rolloutPath(run, step, episode, segment = null) {
  if (inFile()) return inFile().addressOf(step, episode);
  return `/rollout/${encodeURIComponent(run)}/${step}/${encodeURIComponent(episode)}${segment ? `?segment=${segment}` : ""}`;
}
export function groupPath(run, step, ask) {
  return inFile()
    ? null
    : `/group/${encodeURIComponent(run)}/${step}/${encodeURIComponent(ask)}`;
}

// every try a column as high as its number, the one that is shown marked; by keyboard one moves by `[` and `]`, or in the table
export function strip(group, here) {
  return group.roles.map((role) => {
    const name = role.advantage ? "advantage" : role.measure;
    const each = role.tries
      .flatMap((one) => [one, ...one.same.map((other) => ({ ...one, ...other, same: [] }))])
      .sort((a, b) => worth(b, name) - worth(a, name));
    const most = Math.max(...each.map((one) => Math.abs(one[name] ?? 0)), 1e-9);
    const mine = (one) => one.episode === here.episode && (here.segment === null || one.segment === here.segment);
    const shown =
      each.length <= BARS
        ? each
        : each.filter(
            (one, n) =>
              mine(one) || Math.floor((n * BARS) / each.length) !== Math.floor(((n - 1) * BARS) / each.length),
          );
    const bars = shown.map((one) => {
      const value = typeof one[name] === "number" ? one[name] : null;
      const words = `try ${one.episode}: ${value === null ? "no number" : `${name} ${signed(value)}`}${one.correct === 1 ? ", right" : one.correct === 0 ? ", wrong" : ""}`;
      return h(
        "a.bar-try",
        {
          href: rolloutPath(here.run, group.step, one.episode, one.segment),
          title: words,
          aria: { label: words, current: mine(one) ? "true" : null },
          tabindex: -1,
        },
        h("span", {
          class: value === null ? "none" : value > 0 ? "up" : value < 0 ? "down" : "nil",
          style: value === null ? {} : { height: `${Math.max(2, (22 * Math.abs(value)) / most)}px` },
        }),
      );
    });
    return h(
      "div.strip-role",
      {},
      group.roles.length > 1 ? h("div.quiet", {}, role.role) : null,
      h("div.try-strip", {}, bars),
      shown.length < each.length
        ? h("div.quiet", {}, `${count(shown.length)} of ${count(each.length)} are drawn`)
        : null,
      facts(role, group.tries),
    );
  });
}

function worth(one, name) {
  return typeof one[name] === "number" ? one[name] : -Infinity;
}

function facts(role, tries) {
  const said = [
    role.in_all === tries
      ? plural(tries, "try", "tries")
      : `${plural(role.in_all, "track")} of ${plural(tries, "try", "tries")}`,
  ];
  if (role.correct) said.push(`${percent(role.correct.mean, 0)} right`);
  if (role.reward) said.push(`reward ${number(role.reward.mean)} ± ${number(role.reward.spread)}`);
  return h(
    "p.group-facts",
    {},
    said.join(" · "),
    role.signal.words ? h("span", { class: role.signal.is_there ? "quiet" : "wait" }, ` ${role.signal.words}.`) : null,
  );
}

// rows of a table; gives {element, rows} with the elements that can be moved among
export function tryTable(group, role, run, { mark = null, link = rolloutPath, compact = false } = {}) {
  const most = Math.max(
    ...role.tries.map((one) => Math.abs(typeof one.advantage === "number" ? one.advantage : 0)),
    1e-9,
  );
  const has = {
    correct: role.tries.some((one) => one.correct !== null || one.reasons.correct),
    reward: role.tries.some((one) => one.reward !== null || one.reasons.reward),
    advantage: role.advantage !== null,
  };
  const parts = compact ? [] : role.parts;
  const rows = role.tries.map((one) =>
    h(
      "tr",
      { data: { episode: one.episode } },
      mark ? h("td", {}, mark(one)) : null,
      h(
        "td",
        {},
        h("a", { href: link(run, group.step, one.episode, one.segment) }, one.episode),
        role.in_all === group.tries ? null : h("span.quiet", {}, ` #${one.segment}`),
      ),
      has.correct
        ? h(
            "td",
            {},
            one.correct === null
              ? reason(one, "correct")
              : one.correct === 1
                ? h("span.good", {}, "right")
                : one.correct === 0
                  ? h("span.bad", {}, "wrong")
                  : number(one.correct),
          )
        : null,
      has.reward ? h("td.num", {}, one.reward === null ? reason(one, "reward") : number(one.reward)) : null,
      parts.map((name) => h("td.num.quiet", {}, one.parts[name] === undefined ? "–" : number(one.parts[name]))),
      has.advantage ? h("td.num", {}, advantageBar(one.advantage, most)) : null,
      h("td.num.of-length", {}, count(one.length)),
      h(
        "td.first-lines",
        {},
        one.error ? h("div.bad", {}, one.error) : null,
        h("div.clamp", { dir: "auto" }, one.text || h("span.quiet", {}, "nothing")),
        one.same.length
          ? h(
              "span.times",
              { title: one.same.map((other) => other.episode).join(", ") },
              `${one.same.length + 1} times the same text${one.same.some((other) => other.reward !== one.reward) ? ", with different rewards" : ""} `,
            )
          : null,
        one.end === "done" ? null : h("span.quiet", {}, one.end_words),
        one.learned ? null : h("span.wait", {}, " left out by a stage"),
      ),
    ),
  );
  const head = h(
    "tr",
    {},
    mark ? h("th", { scope: "col" }, h("span.visually-hidden", {}, "chosen")) : null,
    h("th", { scope: "col" }, "try"),
    has.correct ? h("th", { scope: "col" }, "correct") : null,
    has.reward ? h("th.num", { scope: "col" }, "reward") : null,
    parts.map((name) => h("th.num", { scope: "col" }, name.slice("reward.".length))),
    has.advantage ? h("th.num", { scope: "col" }, "advantage") : null,
    h("th.num.of-length", { scope: "col" }, "tokens"),
    h("th", { scope: "col" }, "last output"),
  );
  return { element: h("div.scroll", {}, h("table.tries", {}, h("thead", {}, head), h("tbody", {}, rows))), rows };
}

function reason(one, name) {
  return h(
    "span",
    { class: ["failed", "timed out"].includes(one.reasons[name]) ? "bad" : "quiet" },
    one.reasons[name] ?? "–",
  );
}

function advantageBar(value, most) {
  if (typeof value !== "number") return h("span.quiet", {}, "–");
  const width = `${(46 * Math.abs(value)) / most}px`;
  return h(
    "span.advantage",
    {},
    h("span.axis", {}, h("span", { class: value > 0 ? "up" : "down", style: { width } })),
    h("span", {}, signed(value)),
  );
}
