// Who was shown and said what: a chat in order, a search as a tree, a judge below what it judged.

import { get } from "/page/asking.js";
import { h, put, visible } from "/page/dom.js";
import { count, number, percent, plural, signed } from "/page/numbers.js";
import { scoreChips } from "/page/reading/scores.js";
import { saidBy } from "/page/reading/tokens.js";

const FOLD = 600; // characters of what was asked or shown, from which it is folded
const DEEP = 6; // levels of a tree that are set in further

// A text that may be long: folded, and fetched further where only its beginning came.
export function longText(text, all, { more = null, open = false, fold = FOLD } = {}) {
  const body = h("pre.plain-text", { dir: "auto" }, text);
  let shown = [...text].length;
  const button = h("button.plain.small", {
    type: "button",
    hidden: shown >= all,
    onclick: async () => {
      if (!more) return;
      try {
        const part = await more(shown);
        body.append(visible(part.text));
        shown += [...part.text].length;
        say();
      } catch (error) {
        button.textContent = error.message;
      }
    },
  });
  const say = () => {
    const words = `${count(shown)} of ${count(all)} characters`;
    Object.assign(button, {
      hidden: shown >= all,
      disabled: !more,
      textContent: more ? `${words}: show more` : `the first ${words}`,
    });
  };
  say();
  const lines = text.split("\n").length;
  if ((text.length <= fold && lines <= 14) || open) return h("div", {}, body, button);
  const begin = text.slice(0, 140).replace(/\s+/g, " ");
  return h(
    "details.long",
    {},
    h("summary", {}, h("span.begin", {}, begin), h("span.quiet", {}, ` ${count(all)} characters`)),
    body,
    button,
  );
}

export function turnsOf(rollout, which, colouring, chosen) {
  const place = h("div.turns");
  const { segments } = rollout;
  if (!segments.length) return put(place, h("p.empty", {}, "Nobody acted in this episode."));
  const tracks = new Map(rollout.tracks.map((track) => [track.segment, track]));
  const turn = (segment) =>
    turnOf(segment, {
      rollout,
      which,
      colouring,
      track: tracks.get(segment.place),
      several: segments.length > 1,
      chosen: chosen === segment.place && segments.length > 1,
    });
  put(
    place,
    rollout.is_tree
      ? tree(segments, turn, tracks)
      : segments.map((segment) => h("div", { class: hangs(segments, segment) ? "hanging" : "" }, turn(segment))),
  );
  if (rollout.segments_in_all > segments.length)
    place.append(h("p.quiet", {}, `${count(segments.length)} of ${count(rollout.segments_in_all)} turns are shown`));
  return place;
}

function hangs(segments, segment) {
  const above = segments[segment.parent];
  return Boolean(above) && above.role !== segment.role;
}

function tree(segments, turn, tracks) {
  const below = new Map();
  for (const each of segments) below.set(each.parent, [...(below.get(each.parent) ?? []), each]);
  const grow = (segment, depth) => {
    const parts = [];
    for (let at = segment; at;) {
      const kids = below.get(at.place) ?? [];
      parts.push(turn(at));
      if (kids.length === 1 && kids[0].role === at.role) {
        [at] = kids;
        continue;
      }
      if (kids.length)
        parts.push(
          h(
            "div.branches",
            { class: depth >= DEEP ? "deep" : "" },
            kids.map((kid, n) => branch(kid, n, kids.length, depth)),
          ),
        );
      at = null;
    }
    return parts;
  };
  const branch = (kid, n, of, depth) =>
    h("details.branch", { open: true }, h("summary", {}, summary(kid, n, of)), grow(kid, depth + 1));
  const summary = (kid, n, of) => {
    const advantage = tracks.get(kid.place)?.columns.find((each) => each.name === "advantage")?.number;
    return [
      h("b", {}, kid.role),
      of > 1 ? ` branch ${n + 1} of ${of} ` : " below it ",
      h("span.begin", {}, kid.text.slice(0, 90).replace(/\s+/g, " ")),
      typeof advantage === "number" ? h("span.quiet", {}, ` advantage ${signed(advantage)}`) : null,
    ];
  };
  return (below.get(-1) ?? []).map((root) => grow(root, 0));
}

function turnOf(segment, { rollout, which, colouring, track, several, chosen }) {
  const { sampling } = segment;
  const facts = [
    plural(segment.tokens.in_all, segment.text_in_all || segment.tokens.pieces ? "token" : "action"),
    segment.end_words,
  ];
  if (segment.given) facts.push(`${plural(segment.given, "token")} put in its mouth`);
  if (segment.goes_on) facts.push("continues the same turn");
  if (
    several &&
    segment.parent < 0 &&
    rollout.segments.some((each) => each.role === segment.role && each.place < segment.place)
  )
    facts.push("starts a new path");
  const apart =
    several && segment.parent >= 0 && segment.parent !== segment.place - 1
      ? [
          ` after `,
          h(
            "a",
            { href: `#turn-${segment.parent}`, onclick: (event) => jump(event, segment.parent) },
            `#${segment.parent}`,
          ),
        ]
      : null;
  const knobs = [
    `temperature ${number(sampling.temperature)}`,
    `at most ${count(sampling.max_tokens)}`,
    sampling.top_k ? `top-k ${sampling.top_k}` : "",
    sampling.top_p < 1 ? `top-p ${percent(sampling.top_p, 0)}` : "",
    sampling.min_p ? `min-p ${sampling.min_p}` : "",
    sampling.stop?.length ? `stops at ${sampling.stop.map((s) => JSON.stringify(s)).join(", ")}` : "",
  ]
    .filter(Boolean)
    .join(", ");
  return h(
    "article.turn",
    {
      class: `${segment.learned ? "" : "left-out"}${chosen ? " chosen" : ""}`,
      data: { turn: segment.place },
      aria: { label: `${segment.role}, turn ${segment.place}` },
    },
    h(
      "header",
      {},
      h("b.role", {}, segment.role),
      several ? h("span.quiet", {}, ` #${segment.place}`) : null,
      apart,
      h("span.quiet", { title: knobs }, ` ${facts.join(" · ")}`),
      segment.paid !== null ? h("span.chip", {}, `paid ${number(segment.paid)}`) : null,
      segment.learned || (several && track) ? null : h("span.chip.wait", {}, "left out by a stage"),
      several && segment.columns.length
        ? segment.columns.map((each) =>
            each.number === null ? null : h("span.chip", {}, `${each.name} ${number(each.number)}`),
          )
        : null,
      several && track ? scoreChips(track) : null,
    ),
    shown(segment, rollout, which),
    saidBy(segment, which, colouring),
    segment.made !== null ? h("p.made", {}, h("span.quiet", {}, "made "), h("code", {}, segment.made)) : null,
  );
}

function jump(event, place) {
  event.preventDefault();
  event.stopPropagation();
  const there = event.target.closest(".turns")?.querySelector(`[data-turn="${place}"]`);
  there?.scrollIntoView({ block: "nearest" });
  there?.querySelector("[tabindex]")?.focus();
}

function shown(segment, rollout, which) {
  const { view } = segment;
  if (view.messages)
    return h(
      "div.messages",
      {},
      view.messages.map(message),
      view.in_all > view.messages.length ? h("p.quiet", {}, `${count(view.in_all)} messages in all`) : null,
    );
  const asked = rollout.ask.prompt ?? rollout.task.prompt;
  if (!view.text_in_all || (view.text === asked && segment.place === 0)) return null; // it stands above, as what was asked
  const more = (start) => get("/api/reading/text", { ...which, segment: segment.place, of: "view", start });
  return h("div.message", {}, h("span.who", {}, "was shown"), longText(view.text, view.text_in_all, { more }));
}

function message(each) {
  const tool = each.role === "tool" || each.role === "function";
  return h(
    "div.message",
    { class: tool ? "tool" : "" },
    h("span.who", {}, tool ? `result${each.name ? ` of ${each.name}` : ""}` : each.role),
    h(
      "div",
      {},
      each.text ? longText(each.text, each.text_in_all) : null,
      (each.calls ?? []).map((call) =>
        h("div.call", {}, h("span.who", {}, "calls "), h("code", {}, `${call.name}(${call.arguments})`)),
      ),
      each.rest ? h("code.quiet", {}, each.rest) : null,
    ),
  );
}

// What a task asks, and what it expects where it says so.
export function askedOf(task) {
  const said = (who, text) => h("div.message", {}, h("span.who", {}, who), longText(text, [...text].length));
  return [said("asked", task.prompt), task.answer ? said("expected", task.answer) : null];
}
