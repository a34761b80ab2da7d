// Drawings: the trade-off curve, and the value on its scale.
import { number, shape } from "./dom.js";

const HEIGHT = 250, LETTER = 7, RIGHT = 16, TOP = 14, BOTTOM = 42;

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** Steps of 1, 2 or 5 times a power of ten. */
function ticks(low, high, count = 5) {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return found.map((value) => [value, value.toFixed(digits)]);
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

/** Add the policy that is shown to the points of a curve: it keeps looser limits, too, so no looser point is worse. */
function withPolicy(points, limit, value, { sense, direction }) {
  const side = sense === ">=" ? 1 : -1, better = direction === "maximize" ? Math.max : Math.min;
  const raised = points.map((point) =>
    (side * point.level <= side * limit ? { ...point, value: better(point.value, value) } : point));
  return [...raised, { level: limit, value, bound: null }].sort((one, other) => side * (one.level - other.level));
}

/** Draw a curve so many pixels wide, with the place where the sliders are. */
export function curve(front, limit, value, width) {
  const WIDTH = Math.max(width, 260);
  const solved = front.points.filter((point) => point.feasible);
  const kept = value === null ? solved : withPolicy(solved, limit, value, front);
  const levels = [...kept.map((point) => point.level), limit];
  const values = kept.map((point) => point.value);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const [worst, best] = [Math.min(...values), Math.max(...values)];
  const pad = 0.06 * (best - worst || 0.1);
  const steps = ticks(worst - pad, best + pad);
  const LEFT = 12 + LETTER * Math.max(...steps.map(([, text]) => text.length));
  const x = scale(low, high, LEFT, WIDTH - RIGHT);
  const y = scale(worst - pad, best + pad, HEIGHT - BOTTOM, TOP);
  const drawing = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${front.objective_words} between ${number(worst, 3)} and ${number(best, 3)} as the limit of ` +
      `${front.words} moves from ${number(kept[0]?.level, 3)} to ${number(kept.at(-1)?.level, 3)}`,
  });
  for (const [tick, text] of steps) {
    drawing.append(
      shape("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
      shape("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, text),
    );
  }
  for (const [tick, text] of ticks(low, high, 6)) {
    drawing.append(
      shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 }),
      shape("text", { x: x(tick), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, text),
    );
  }
  drawing.append(
    shape("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      `limit (at ${front.sense === ">=" ? "least" : "most"})`),
  );
  if (kept.some((point) => point.bound !== null)) {
    const bounded = kept.filter((point) => point.bound !== null);
    drawing.append(shape("path", { class: "bound", d: path(bounded.map((p) => [x(p.level), y(p.bound)])) }));
  }
  drawing.append(shape("path", { class: "line", d: path(kept.map((p) => [x(p.level), y(p.value)])) }));
  if (value === null) {
    drawing.append(shape("line", { class: "lost", x1: x(limit), x2: x(limit), y1: TOP, y2: HEIGHT - BOTTOM }));
  } else {
    drawing.append(
      shape("circle", { class: "here", id: "here", cx: x(limit), cy: y(value), r: 7 }),
    );
  }
  return drawing;
}

/** Draw a value on a scale, with what it was before, its bound, and what to expect on new rows. */
export function gauge(answer, width) {
  const WIDTH = Math.max(width, 200);
  const marks = [answer.value, answer.value_before, answer.bound, answer.expected?.low, answer.expected?.high];
  const known = marks.filter((mark) => mark !== null && mark !== undefined);
  const x = scale(Math.min(0, ...known), Math.max(1, ...known), 4, WIDTH - 4);
  const drawing = shape("svg", { viewBox: `0 0 ${WIDTH} 40`, role: "img", "aria-label": "the value on its scale" });
  drawing.append(shape("rect", { class: "track", x: 4, y: 8, width: WIDTH - 8, height: 10, rx: 5 }));
  const zero = x(0);
  const reached = x(answer.value);
  drawing.append(shape("rect", {
    class: "reached", x: Math.min(zero, reached), y: 8, width: Math.abs(reached - zero), height: 10, rx: 5,
  }));
  const tick = (value, kind) => {
    if (value !== null && value !== undefined) {
      drawing.append(shape("rect", { class: kind, x: x(value) - 1.5, y: 3, width: 3, height: 20 }));
    }
  };
  tick(answer.value_before, "tick-before");
  tick(answer.bound, "tick-bound");
  if (answer.expected?.low !== null && answer.expected?.low !== undefined) {
    const { low, high, value } = answer.expected;
    drawing.append(
      shape("rect", { class: "range", x: x(low), y: 30, width: Math.max(x(high) - x(low), 1), height: 2 }),
      shape("circle", { class: "range", cx: x(value), cy: 31, r: 4 }),
    );
  }
  return drawing;
}
