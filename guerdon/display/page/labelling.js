// Labels, wherever a rollout is shown: buttons that say which it has, and the keys that give them.

import { get, post } from "/page/asking.js";
import { h, put, tell } from "/page/dom.js";
import { hold, layer, openDialog } from "/page/keys.js";

export const VERDICTS = [
  ["right", "y", "right"],
  ["wrong", "n", "wrong"],
  ["hack", "h", "a hack: rewarded for unintended behaviour"],
];

let first = null; // the sample that `b` was pressed on, until it is pressed on another

// sample: {run, step, episode, segment}. Gives {element, keys}: what is shown, and an array of [key, words, call] for a layer.
// Whoever wants to know hears "labelled" on the document: {sample, kind, taken, counts}.
export function labelBar(sample, around) {
  const place = { step: Number(sample.step), episode: sample.episode, segment: Number(sample.segment ?? 0) };
  const run = sample.run;
  let state = { kind: null, note: "", pairs: [] };
  let busy = false,
    turn = 0;
  const buttons = new Map(VERDICTS.map(([kind, key, words]) => [kind, button(kind, key, words, () => give(kind))]));
  const note = button("note", "m", "write a note", () => writeNote());
  const better = button("better", "b", "better of two: this one and the one you press it on next", () => compare());
  const undo = button("undo", "u", "take back the last label of this sample", () => takeBack());
  const words = h("span.label-words", {});
  const element = h(
    "div.labels-bar",
    { role: "group", aria: { label: "Labels" } },
    [...buttons.values()],
    note,
    better,
    undo,
    words,
  );

  function draw() {
    for (const [kind, one] of buttons) one.setAttribute("aria-pressed", String(state.kind === kind));
    note.setAttribute("aria-pressed", String(Boolean(state.note)));
    better.setAttribute("aria-pressed", String(isFirst()));
    undo.disabled = !state.kind && !state.note && !state.pairs.length;
    put(
      words,
      state.note ? h("q.label-quote", {}, state.note) : null,
      state.pairs.map((pair) => h("span.chip", {}, inWords(pair))),
      isFirst() ? h("span.wait", {}, "now press b on another try at this prompt") : null,
    );
  }

  function inWords(pair) {
    const mine = same(pair, place);
    const other = mine ? pair.other : pair;
    return `${pair.kind === "level" ? "level with" : mine ? "better than" : "worse than"} ${other.episode}${other.segment ? `:${other.segment}` : ""}`;
  }

  const isFirst = () => Boolean(first && first.run === run && same(first.place, place));

  // One change at a time: a key that is pressed again before the answer is here was meant for what comes next.
  const alone = (call) =>
    around.guard(async (...given) => {
      if (busy) return;
      busy = true;
      turn += 1;
      try {
        await call(...given);
      } finally {
        busy = false;
      }
    });

  const give = alone(async (kind) => {
    if (state.kind === kind) await undoOf(kind);
    else took(await post("/api/labels", { run, kind, ...place }), kind, null);
  });

  const takeBack = alone((kind) => undoOf(kind));

  async function undoOf(kind = "") {
    const answer = await post("/api/labels/undo", { run, sample: place, kind });
    took(answer, null, answer.taken);
  }

  function took(answer, kind, taken) {
    heard(answer);
    tell(kind ? `labelled ${kind}` : taken ? `${taken.kind} taken back` : "there is no label to take back");
    document.dispatchEvent(
      new CustomEvent("labelled", { detail: { sample: { run, ...place }, state, kind, taken, counts: answer.counts } }),
    );
  }

  function heard(now) {
    state = { kind: now.kind ?? null, note: now.note ?? "", pairs: now.pairs ?? [] };
    draw();
  }

  function writeNote() {
    const text = h("textarea", { rows: 5, maxlength: 20000, aria: { label: "Note" } });
    text.value = state.note;
    const save = around.guard(async () => {
      const written = text.value.trim();
      if (written) took(await post("/api/labels", { run, kind: "note", note: written, ...place }), "note", null);
      else if (state.note) await takeBack("note");
      dialog.close();
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        save();
      }
    });
    const dialog = openDialog(`Note on ${place.episode}`, [
      text,
      h(
        "p.toolbar",
        {},
        h("button.main", { type: "button", onclick: save }, "Keep the note"),
        h("span.quiet", {}, "Ctrl-Enter keeps it, Esc drops it"),
      ),
    ]);
    text.focus();
  }

  const compare = around.guard(async () => {
    if (isFirst()) {
      first = null;
      draw();
      return;
    }
    if (!first || first.run !== run) {
      remember();
      return;
    }
    const held = first;
    const choose = around.guard(async (kind, one, other) => {
      dialog.close();
      took(await post("/api/labels", { run, kind, ...one, other }), kind, null);
      if (!same(one, place)) await load();
    });
    const ways = [
      ["1", `${held.place.episode}, which you marked first`, () => choose("better", held.place, place)],
      ["2", `${place.episode}, this one`, () => choose("better", place, held.place)],
      ["0", "neither", () => choose("level", held.place, place)],
    ];
    const dialog = openDialog(
      "Which is better?",
      ways.map(([key, says, call]) =>
        h("p", {}, h("button", { type: "button", onclick: call }, h("kbd", {}, key), ` ${says}`)),
      ),
      () => {
        letGo();
        first = null;
        held.draw();
        draw();
      },
    );
    const keys = layer("Which is better?");
    for (const [key, says, call] of ways) keys.on(key, says, call);
    const letGo = hold(keys);
  });

  function remember() {
    first = { run, place, draw };
    draw();
    tell("marked: now press b on another try at this prompt");
  }

  const load = around.guard(async () => {
    const mine = turn;
    const now = await get("/api/labels/of", { run, ...place });
    if (mine === turn) heard(now);
  });
  let shown = false;
  const listen = (event) => {
    if (shown && !element.isConnected) {
      document.removeEventListener("labelled", listen);
      return;
    }
    shown ||= element.isConnected;
    const { sample: other, state: now } = event.detail;
    if (other.run === run && same(other, place) && now !== state) heard(now);
  };
  document.addEventListener("labelled", listen);
  around.cleanup(() => {
    document.removeEventListener("labelled", listen);
    if (isFirst()) first.draw = () => {};
  });
  draw();
  load();
  const keys = [
    ...VERDICTS.map(([kind, key, says]) => [key, says, () => give(kind)]),
    ["m", "a note", writeNote],
    ["b", "better of two", compare],
    ["u", "take back", () => takeBack()],
  ];
  return { element, keys };
}

export const same = (one, other) =>
  one.step === other.step && one.episode === other.episode && one.segment === other.segment;

function button(name, key, words, call) {
  return h(
    `button.label-${name}`,
    { type: "button", title: words, aria: { keyshortcuts: key }, onclick: call },
    name,
    " ",
    h("kbd", { aria: { hidden: "true" } }, key),
  );
}
