// Controls that a screen reader has no name for.
() => [...document.querySelectorAll("button, a[href], input, select, textarea, [role=button], [role=slider]")].filter((el) => {
  const named = el.getAttribute("aria-label") || el.getAttribute("aria-labelledby") || el.title || el.textContent.trim() || el.closest("label")?.textContent.trim()
    || (el.id && document.querySelector(`label[for="${el.id}"]`)) || (el.labels && el.labels.length);
  return !named && el.getBoundingClientRect().width;
}).map((el) => el.outerHTML.slice(0, 90))
