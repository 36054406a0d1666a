// What stands out too little from what is behind it: [text, contrast]. What is disabled, hidden or drawn is left out.
() => {
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith("color(srgb") ? [...m.slice(0, 3).map((x) => 255 * x), m[3] ?? 1] : [...m.slice(0, 3), m[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
  const light = (c) => { const [r, g, b] = c.map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (el) => { const layers = []; for (let e = el; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3]) layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255]); };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const el = node.parentElement, style = getComputedStyle(el), box = el.getBoundingClientRect();
    if (!node.data.trim() || !box.width || style.visibility === "hidden" || el.closest(":disabled, svg, .visually-hidden, noscript, option, [aria-hidden=true], .skip")) continue;
    const back = behind(el), ink = over(parse(style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.5 && style.fontWeight >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) bad.push([node.data.trim().slice(0, 40), Math.round(10 * contrast) / 10]);
  }
  return bad;
}
