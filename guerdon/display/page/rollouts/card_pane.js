// The rollout that is chosen in the list, read beside it.

import { h, put } from "/page/dom.js";
import { hold } from "/page/keys.js";
import { rolloutCard } from "/page/rollout_card.js";
import { keyOf } from "/page/rollouts/state.js";

const LATE = 300; // milliseconds after which a card is shown that is still being read

export class CardPane {
  constructor(around, listKeys) {
    Object.assign(this, { around, listKeys, shown: "", reading: null, letGo: () => {} });
    this.element = h("aside.pane", { aria: { label: "The rollout that is chosen" } });
    this.holdKeys(null);
  }

  // The keys of the list go before those of the card beside it.
  holdKeys(card) {
    this.letGo();
    const held = [card, this.listKeys].filter(Boolean).map(hold);
    this.letGo = () => held.forEach((call) => call());
  }

  async show(row) {
    const key = row && keyOf(row);
    if (!row || !this.around.here() || key === this.shown) return;
    this.shown = key;
    this.reading?.abort();
    this.reading = new AbortController();
    const { signal } = this.reading,
      inner = h("div.card", {});
    const late = setTimeout(() => {
      if (!signal.aborted) put(this.element, inner);
    }, LATE); // it says itself what it waits for
    try {
      const { keys } = await rolloutCard(
        inner,
        { run: row.run, step: row.step, episode: row.episode, segment: row.segment, signal },
        this.around,
      );
      if (signal.aborted || !this.around.here()) return;
      this.holdKeys(keys);
      put(this.element, inner);
      this.element.scrollTop = 0;
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted && this.around.here())
        put(this.element, h("p.bad", { role: "alert" }, error.message));
    } finally {
      clearTimeout(late);
    }
  }

  clear() {
    put(this.element);
    this.shown = "";
  }

  leave() {
    this.reading?.abort();
    this.letGo();
  }
}
