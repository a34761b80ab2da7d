// Tables of an answer.
import { el, number, percent } from "./dom.js";

const head = (...names) => el("tr", {}, ...names.map((name) => el("th", { scope: "col", textContent: name })));

function row(name, ...cells) {
  return el("tr", {}, el("th", { scope: "row", className: "name", textContent: name }),
    ...cells.map((cell) => (cell instanceof Node ? cell : el("td", { textContent: cell }))));
}

/** A cell with what it was before and what it is now. */
const pair = (before, after) => el("td", {},
  el("span", { className: "old", textContent: number(before, 3) }), ` → ${number(after, 3)}`);

export function confusion(table, told) {
  const rows = told.matrix.map((line, i) => {
    const total = line.reduce((sum, value) => sum + value, 0);
    const cells = line.map((value) => {
      const share = total > 0 ? value / total : 0;
      const cell = el("td", { textContent: (100 * share).toFixed(1) });
      cell.style.backgroundColor = `rgba(var(--heat), ${(0.45 * share).toFixed(3)})`;
      return cell;
    });
    return row(told.classes[i], ...cells);
  });
  table.replaceChildren(el("thead", {}, head("true \\ decided", ...told.decisions)), el("tbody", {}, ...rows));
}

export function classes(table, answer) {
  const rows = answer.classes.map((one) => row(one.class, percent(one.share),
    pair(one.before.precision, one.precision), pair(one.before.recall, one.recall)));
  const others = answer.decisions.filter((one) => !answer.classes.some((c) => c.class === one.decision));
  rows.push(...others.map((one) => row(`decision ${one.decision}`, percent(one.share), "", "")));
  table.replaceChildren(
    el("thead", {}, head("class", "share", "precision", "recall")),
    el("tbody", {}, ...rows),
  );
}

export function kept(table, answer) {
  const rows = answer.constraints.map((one, k) => {
    const seen = answer.expected?.constraints[k];
    const state = el("td", { className: one.holds ? "holds" : "broken", textContent: one.verdict });
    const range = seen && seen.value !== null
      ? el("td", {
        className: seen.outlook === "likely violated" ? "broken" : "",
        textContent: `${number(seen.value, 3)} [${number(seen.low, 3)}, ${number(seen.high, 3)}], ${seen.outlook}`,
      })
      : "…";
    return row(one.words, pair(one.before, one.value), state, range, number(one.price, 3));
  });
  table.replaceChildren(
    el("thead", {}, head("limit", "before → now", "", "on new rows", "price")), el("tbody", {}, ...rows),
  );
}

export function groups(place, answer) {
  place.replaceChildren(...answer.groups.map((told, k) => {
    const rows = told.groups.map((group) =>
      row(group.group, ...told.rates.map((name) => pair(group.before[name], group.after[name]))));
    const heading = el("h2", { id: `h-group-${k}`, textContent: `Groups of ${told.attribute}: ${told.class}` });
    const table = el("table", {}, el("thead", {}, head(told.attribute, ...told.rates)), el("tbody", {}, ...rows));
    const scroll = el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-labelledby": heading.id }, table);
    return el("section", { className: "card", "aria-labelledby": heading.id }, heading, scroll);
  }));
}
