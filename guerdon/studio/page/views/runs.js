// All runs: a list that is searched, filtered and compared.

import { get } from "/page/asking.js";
import { h, put } from "/page/dom.js";

export async function show(place, { title }) {
  title("Runs");
  put(place, h("h1", {}, "Runs"), h("pre", {}, JSON.stringify(await get("/api/about"))));
}
