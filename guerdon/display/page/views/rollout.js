// One rollout, by itself.

import { address } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { rolloutCard } from "/page/rollout_card.js";

export async function show(place, around) {
  const { run, step, episode } = around.params;
  around.title(`Rollout ${episode}`);
  const card = h("div");
  put(place, h("h1.visually-hidden", {}, "One rollout"), card);
  const stop = new AbortController();
  around.cleanup(() => stop.abort());
  const segment = around.query.get("segment");
  const colour = around.query.get("colour");
  const coloured = (name) => around.keepInAddress(address(location.pathname, { segment, colour: name }));
  const { keys } = await rolloutCard(
    card,
    { run, step, episode, segment, colour, coloured, signal: stop.signal },
    around,
  );
  if (!around.here()) return;
  around.keys(keys);
  if (segment) place.querySelector(".turn.chosen")?.scrollIntoView({ block: "nearest" });
}
