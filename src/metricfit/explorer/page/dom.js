// Small helpers: elements, numbers and text.

export const $ = (id) => document.getElementById(id);

/** Make an element with attributes and children; texts are text, never markup. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Make an element of a drawing. */
export function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const number = (value, digits = 4) =>
  value === null || value === undefined ? "–" : value.toFixed(digits);

export const percent = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;

export function fill(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => el("option", { value, textContent: text })));
  if (chosen !== undefined) select.value = chosen;
}
