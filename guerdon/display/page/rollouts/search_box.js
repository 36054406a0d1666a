// The box for words, and how to search with it.

import { h, once } from "/page/dom.js";

const SEARCH = [
  ["carry two", "both words, in the prompt or the completion; large and small letters are alike"],
  ['"carry the two"', "these words as they stand"],
  ["-wait", "without this word"],
  ["re:\\d+ \\+ \\d+", 'a regular expression; with spaces: re:"a +b"'],
];

// `searched(words)` is called while somebody types, `entered()` when they press enter.
export function searchBox(words, searched, entered) {
  const input = h("input.search", {
    type: "search",
    value: words,
    placeholder: 'Words, "a phrase", -without, re:pattern',
    autocomplete: "off",
    spellcheck: "false",
    aria: { label: "Search prompts and completions", describedby: "search-words" },
    data: { search: "" },
    oninput: once(250, () => searched(input.value.trim())),
    onkeydown: (event) => {
      if (event.key === "Enter") {
        searched(input.value.trim());
        entered();
      }
    },
  });
  return input;
}

export function searchHelp() {
  return h(
    "details.words",
    {},
    h("summary", {}, "How to search"),
    h(
      "div.card",
      { id: "search-words" },
      SEARCH.map(([said, words]) => [h("code", {}, said), h("span", {}, words)]),
    ),
  );
}
