import { h, put } from "/page/dom.js";

export function show(place, { title }) {
  title("Nothing here");
  put(place, h("p", {}, "There is nothing at this address. ", h("a", { href: "/" }, "All runs")));
}
