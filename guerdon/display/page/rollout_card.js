// One rollout as people read it, wherever it is shown: in its own view, beside a list, beside another.

import { address, get, inFile } from "/page/asking.js";
import { h, put, tell } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { labelBar } from "/page/labelling.js";
import { number } from "/page/numbers.js";
import { scoreChips, scoresOf } from "/page/reading/scores.js";
import { Colouring } from "/page/reading/tokens.js";
import { groupPath, rolloutPath, strip } from "/page/reading/tries.js";
import { longText, turnsOf } from "/page/reading/turns.js";
import { waiting } from "/page/reading/waiting.js";

let coloured = null; // what was chosen last, for the next card

// which: {run, step, episode, segment}, and maybe {signal, colour, coloured}: what ends the reading, what tokens are coloured by,
// and who is told when that changes. around: what a view is given. Gives {keys, rollout}: a layer of the card's own keys, and what
// is shown.
export async function rolloutCard(place, which, around) {
  const asked = { run: which.run, step: which.step, episode: which.episode };
  const rollout = await waiting(place, "Reading the rollout …", get("/api/reading/rollout", asked, which.signal));
  const last = rollout.tracks.filter((track) => track.role === rollout.segments[0]?.role).at(-1)?.segment ?? 0; // of who began
  const segment =
    which.segment === null || which.segment === undefined || which.segment === "" ? null : Number(which.segment);
  const sample = { ...asked, segment: segment ?? last };
  const colouring = new Colouring(
    rollout.colours,
    which.colour ?? coloured,
    rollout.segments.some((each) => each.tokens.muted.length),
  );
  colouring.chosen = (name) => {
    coloured = name;
    which.coloured?.(name);
  };
  const labels = inFile() ? { element: null, keys: [] } : labelBar(sample, around);
  const group = h("div.group-place", {}, h("p.quiet", {}, "…"));
  const beside = address("/beside", { task: rollout.task.key, left: `${asked.run}:${asked.step}` });
  const bench = address("/bench", {
    run: asked.run,
    step: asked.step,
    sample: `${asked.step}:${asked.episode}:${sample.segment}`,
  });
  const said = rollout.segments.find((each) => each.place === sample.segment) ?? rollout.segments[0];
  const copies = [
    [
      "the prompt",
      () =>
        whole(
          asked,
          said,
          "prompt",
          rollout.ask.prompt ?? rollout.task.prompt,
          rollout.ask.prompt === null ? rollout.task.prompt_in_all : 0,
        ),
    ],
    ["the completion", () => (said ? whole(asked, said, "text", said.text, said.text_in_all) : "")],
    ["Python", () => rollout.python],
  ];
  put(
    place,
    h(
      "div.rollout-card",
      {},
      h(
        "header.card-head",
        {},
        h(
          "div.names",
          {},
          h(
            "h2.episode",
            {},
            h("a", { href: rolloutPath(asked.run, asked.step, asked.episode, segment) }, `try ${rollout.episode}`),
          ),
          h("span.quiet", {}, ` step ${rollout.step} of `),
          h(
            "a",
            { href: inFile() ? null : `/run/${encodeURIComponent(asked.run)}` },
            short(rollout.run_name),
          ),
        ),
        h("div.chips", {}, rollout.tracks.filter((track) => track.segment === sample.segment).map(scoreChips)),
        inFile() ? null : labels.element,
      ),
      h(
        "nav.card-links",
        { aria: { label: "This rollout" } },
        inFile()
          ? null
          : [
              h("a", { href: groupPath(asked.run, asked.step, rollout.ask_key) }, "group"),
              h("a", { href: beside }, "same prompt elsewhere"),
              h("a", { href: bench }, "bench"),
            ],
        h(
          "span.copies",
          {},
          "copy ",
          copies.map(([words, make]) =>
            h("button.plain.small", { type: "button", onclick: () => copy(words, make) }, words),
          ),
        ),
      ),
      rollout.error
        ? h(
            "div.broke",
            {},
            h("span.bad", {}, "the environment broke: "),
            h("details", {}, h("summary", {}, rollout.error.line), h("pre", {}, rollout.error.whole)),
          )
        : null,
      h(
        "div.card-body",
        {},
        h(
          "div.reading",
          {},
          askedOf(rollout, asked),
          rollout.segments.length ? colouring.element : null,
          turnsOf(rollout, asked, colouring, segment),
          answerOf(rollout),
        ),
        h(
          "aside.numbers",
          {},
          rollout.tracks.length ? [h("h3", {}, "Scores"), scoresOf(rollout, sample.segment)] : null,
          h("h3", {}, "All tries at this ask"),
          group,
          pairsOf(rollout, asked),
          followersOf(rollout, asked),
        ),
      ),
    ),
  );
  let tries = [];
  const step = (by) => {
    const at = tries.findIndex(
      (each) => each.episode === asked.episode && (segment === null || each.segment === segment),
    );
    const next = tries[at + by];
    if (at >= 0 && next) around.go(rolloutPath(asked.run, asked.step, next.episode, next.segment), { replace: true });
    else tell(by > 0 ? "the last try" : "the first try");
  };
  const keys = keysOf(labels.keys, {
    v: ["colour tokens by the next number", () => colouring.next()],
    i: ["into the tokens", () => place.querySelector(".turn.chosen [role=group], .turn [role=group]")?.focus()],
    "]": ["next try of the group", () => step(1)],
    "[": ["the try before", () => step(-1)],
    a: ["all tries at this ask", () => around.go(groupPath(asked.run, asked.step, rollout.ask_key))],
    e: ["the same prompt elsewhere", () => around.go(beside)],
    s: ["score it on the bench", () => around.go(bench)],
    c: ["copy the completion", () => copy(...copies[1])],
  });
  get("/api/reading/group", { run: asked.run, step: asked.step, ask: rollout.ask_key, brief: true }, which.signal)
    .then((all) => {
      const role = all.roles.find((each) => each.role === (said?.role ?? "")) ?? all.roles[0] ?? null;
      tries = (role?.tries ?? []).flatMap((one) => [one, ...one.same]);
      put(
        group,
        role ? null : h("p.quiet", {}, "Nobody acted in any of them."),
        strip(
          { ...all, roles: role ? [role] : [] },
          { ...asked, segment: rollout.tracks.length > 1 ? sample.segment : null },
        ),
        inFile() ? null : h("a", { href: groupPath(asked.run, asked.step, rollout.ask_key) }, "side by side"),
      );
    })
    .catch((error) => {
      if (error.name !== "AbortError") put(group, h("p.bad", {}, error.message));
    });
  return { keys, rollout };
}

// the card's keys; those of labels go first
function keysOf(labels, own) {
  const keys = layer("the rollout");
  for (const [key, words, call] of labels) keys.on(key, words, call);
  for (const [key, [words, call]] of Object.entries(own)) if (!keys.keys.has(key)) keys.on(key, words, call);
  return keys;
}

function short(name) {
  return name.split("/").filter(Boolean).slice(-1)[0] ?? name;
}

function askedOf(rollout, asked) {
  const { task, ask } = rollout;
  const more =
    ask.prompt === null ? (start) => get("/api/reading/text", { ...asked, segment: 0, of: "prompt", start }) : null;
  const messages = rollout.segments[0]?.view.messages;
  const facts = [
    ["kind", task.kind],
    ["task", task.id === task.prompt ? "" : task.key],
    ["meta", task.meta],
    ["note", ask.note],
    [
      "seats",
      ask.seats
        ? Object.entries(ask.seats)
            .map(([role, model]) => `${role}: ${model}`)
            .join(", ")
        : "",
    ],
    ["its own sampling", ask.sampling ? JSON.stringify(ask.sampling) : ""],
  ].filter(([, value]) => value);
  return h(
    "section.asked",
    {},
    h(
      "div.message",
      {},
      h("span.who", {}, ask.prompt === null ? "asked" : "asked, in its own words"),
      messages && ask.prompt === null
        ? h("span.quiet", {}, "the messages below")
        : longText(ask.prompt ?? task.prompt, ask.prompt === null ? task.prompt_in_all : [...ask.prompt].length, {
            more,
          }),
    ),
    ask.prompt !== null && ask.prompt !== task.prompt
      ? h("div.message", {}, h("span.who", {}, "the task's"), longText(task.prompt, task.prompt_in_all))
      : null,
    ask.prefix
      ? h(
          "p.quiet",
          {},
          "started from ",
          h("a", { href: rolloutPath(asked.run, ask.prefix.of.split(".")[0], ask.prefix.of) }, `try ${ask.prefix.of}`),
          `, ${ask.prefix.step} actions into its turn ${ask.prefix.segment}`,
        )
      : null,
    h(
      "details.facts",
      {},
      h("summary", {}, h("span.quiet", {}, task.kind)),
      h(
        "dl.pairs",
        {},
        facts.map(([name, value]) => [h("dt", {}, name), h("dd.mono", {}, value)]),
      ),
    ),
  );
}

function answerOf(rollout) {
  const info = Object.keys(rollout.info).length
    ? h("div.message", {}, h("span.who", {}, "outcome"), h("code", {}, JSON.stringify(rollout.info)))
    : null;
  if (!rollout.task.answer) return info;
  return h(
    "div.answer",
    {},
    h("div.message", {}, h("span.who", {}, "expected"), longText(rollout.task.answer, rollout.task.answer_in_all)),
    info,
  );
}

function pairsOf(rollout, asked) {
  if (!rollout.pairs.length) return null;
  const rows = rollout.pairs.slice(0, 50).map((pair) => {
    const mine = pair.better.episode === asked.episode;
    const both = mine && pair.worse.episode === asked.episode;
    const other = mine ? pair.worse : pair.better;
    const sure = pair.label === 1 ? "" : `, by ${number(pair.label)}`;
    return h(
      "li",
      {},
      both
        ? `turn ${pair.better.segment} is better than turn ${pair.worse.segment}`
        : [
            mine ? h("span.good", {}, "better than ") : h("span.bad", {}, "worse than "),
            h("a", { href: rolloutPath(asked.run, asked.step, other.episode, other.segment) }, `try ${other.episode}`),
          ],
      h("span.quiet", {}, `${pair.margin ? `, margin ${number(pair.margin)}` : ""}${sure}`),
    );
  });
  return [h("h3", {}, "Pairs"), h("ul.pairs-list", {}, rows)];
}

function followersOf(rollout, asked) {
  const link = (episode) => h("a", { href: rolloutPath(asked.run, asked.step, episode) }, `try ${episode}`);
  return [
    rollout.follows.length
      ? [
          h("h3", {}, "Asked about"),
          h(
            "ul.pairs-list",
            {},
            rollout.follows.map((each) => h("li", {}, link(each))),
          ),
        ]
      : null,
    rollout.followers.length
      ? [
          h("h3", {}, "What was asked about it"),
          h(
            "ul.pairs-list",
            {},
            rollout.followers.map((each) =>
              h(
                "li",
                {},
                link(each.episode),
                h("span.quiet", {}, ` ${each.role}: `),
                h("code", {}, each.text),
                each.reward === null ? null : h("span.quiet", {}, ` reward ${number(each.reward)}`),
              ),
            ),
          ),
        ]
      : null,
  ];
}

async function whole(asked, segment, of, begin, all) {
  if ([...begin].length >= all) return begin;
  let text = begin;
  while ([...text].length < all) {
    const part = await get("/api/reading/text", { ...asked, segment: segment.place, of, start: [...text].length });
    if (!part.text) break;
    text += part.text;
  }
  return text;
}

async function copy(words, make) {
  try {
    await navigator.clipboard.writeText(await make());
    tell(`copied ${words}`);
    flash(`copied ${words}`);
  } catch {
    flash("the browser does not let this page copy: select and copy by hand");
  }
}

function flash(words) {
  const said = h("div.flash", { role: "status" }, words);
  document.body.append(said);
  setTimeout(() => said.remove(), 1600);
}
