// Elements made of plain text: what a run says is never taken for markup. There is no other way to make elements here.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set("svg g path line polyline polygon rect circle text tspan title desc defs clipPath".split(" "));

// h("a.quiet", {href, onclick, aria: {label}, data: {id}, style: {width}}, child, [children], "text", null)
export function h(what, props, ...children) {
  const [tag, ...classes] = what.split(".");
  const drawn = DRAWN.has(tag) && (tag !== "title" || props?.drawn);
  const made = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag || "div");
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(props ?? {})) set(made, name, value, drawn);
  made.append(...nodes(children));
  return made;
}

function set(made, name, value, drawn) {
  if (value === null || value === undefined || value === false || name === "drawn") return;
  if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
  else if (name === "class") made.setAttribute("class", [made.getAttribute("class"), value].filter(Boolean).join(" "));
  else if (name === "style") for (const [key, set] of Object.entries(value)) made.style.setProperty(key, set);
  else if (name === "aria" || name === "data")
    for (const [key, said] of Object.entries(value)) {
      if (said !== null && said !== undefined) made.setAttribute(`${name}-${key}`, said);
    }
  else if (
    !drawn &&
    (name === "value" || name === "checked" || name === "disabled" || name === "hidden" || name === "selected")
  )
    made[name] = value;
  else made.setAttribute(name, value === true ? "" : value);
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((c) => c !== null && c !== undefined && c !== false && c !== "")
    .map((c) => (c instanceof Node ? c : document.createTextNode(visible(String(c)))));
}

export function put(place, ...children) {
  place.replaceChildren(...nodes(children));
  return place;
}

// Control characters stand there as their pictures, what turns the direction of writing is spelled out.
export function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) =>
      String.fromCodePoint(c === "\u007f" ? 0x2421 : 0x2400 + c.charCodeAt(0)),
    )
    .replace(
      /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

// What a screen reader says, of what is only seen otherwise.
export function tell(words) {
  document.getElementById("told").textContent = words;
}

export function once(wait, call) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), wait);
  };
}
