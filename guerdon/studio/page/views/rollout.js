// One rollout, by itself.

import { rolloutCard } from "/page/rollout_card.js";

export async function show(place, around) {
  const { run, step, episode } = around.params;
  around.title(`Rollout ${episode}`);
  const stop = new AbortController();
  around.cleanup(() => stop.abort());
  const { keys } = await rolloutCard(place, { run, step, episode, segment: around.query.get("segment"), signal: stop.signal }, around);
  if (around.here()) around.keys(keys);
}
