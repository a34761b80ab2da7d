// The page: what is asked for, and when.
import { $, el, fill, number } from "./dom.js";
import { curve, gauge } from "./drawings.js";
import { ask, take } from "./server.js";
import * as tables from "./tables.js";

const OWN = "own"; // a metric written as text
// A request that takes longer than this gives way to a newer one; before, the newer one waits, so that the page moves
// while a slider is dragged. Then the rest: how long sliders must be still before curves and folds are asked for.
const PATIENCE = 700, REST = 350;
// How often the page asks how far a solve is.
const PULSE = 1000;

let setup, answer = null, front = null, traded = 0;
const COUNTED = { calibrated: "calibrated probabilities", labels: "labels", model: "the probabilities as given" };
const asked = { objective: "", limits: [], kind: "" };
const running = { solve: null, later: null, pending: false, timer: 0, since: 0 };

const request = () => ({
  objective: asked.objective,
  constraints: asked.limits.map((one) => `${one.metric} ${one.sense} ${one.limit}`),
  counting: asked.kind,
});

function state(text, kind = "") {
  $("state").textContent = text;
  $("state").className = `pill ${kind}`;
}

function complain(place, error) {
  const told = $(place);
  told.hidden = !error;
  if (!error) return;
  told.textContent = error.message;
}

// Solving

/** Say how long the solve has taken, and how far it is. */
async function pulse(control) {
  if (running.solve !== control) return;
  const seconds = Math.round((performance.now() - running.since) / 1000);
  if (seconds) state(`solving, ${seconds} s`, "busy");
  const told = seconds ? await ask("/api/progress").catch(() => null) : null;
  if (running.solve !== control) return;
  $("progress").hidden = !told?.words;
  $("progress").textContent = told?.words ?? "";
  setTimeout(pulse, PULSE, control);
}

function solve() {
  clearTimeout(running.timer);
  running.later?.abort();
  if (running.solve) {
    running.pending = true;
    if (performance.now() - running.since > PATIENCE) running.solve.abort();
    return;
  }
  solveNow();
}

async function solveNow() {
  const control = new AbortController();
  Object.assign(running, { solve: control, pending: false, since: performance.now() });
  state("solving", "busy");
  pulse(control);
  try {
    answer = await ask("/api/solve", request(), control.signal);
    complain("objective-error");
    show();
    const spent = performance.now() - running.since;
    state(answer.feasible ? `${Math.round(spent)} ms` : "not feasible", answer.feasible ? "" : "bad");
  } catch (error) {
    if (error.name !== "AbortError" && error.status !== 409) fail(error);
    else if (error.status === 409) running.pending ||= !control.signal.aborted;
  }
  running.solve = null;
  $("progress").hidden = true;
  if (running.pending) setTimeout(solve, 0);
  else running.timer = setTimeout(rest, REST);
}

function fail(error) {
  state(error.status ? "not solved" : "no server", "bad");
  complain("objective-error", error.status ? error : new Error("the server does not answer; was it stopped?"));
}

/** The sliders are still: ask for what takes longer. */
async function rest() {
  if (!answer || answer.status === "infeasible" && !asked.limits.length) return;
  const control = running.later = new AbortController();
  try {
    if (asked.limits.length && front?.key !== curveKey()) {
      const key = curveKey();
      const made = await ask("/api/frontier", { ...request(), trade: traded }, control.signal);
      front = { ...made, key };
      showCurve();
    }
    if (answer.feasible && !answer.expected) {
      const judged = await ask("/api/solve", { ...request(), expect: true }, control.signal);
      if (!control.signal.aborted) { answer = judged; show(); }
    }
  } catch (error) {
    if (error.name === "AbortError" || error.status === 409) return;
    if (error.status) $("curve-words").textContent = error.message;
    else fail(error);
  }
}

function curveKey() {
  const others = asked.limits.filter((_, k) => k !== traded).map((one) => `${one.metric}${one.sense}${one.limit}`);
  const one = asked.limits[traded];
  return JSON.stringify([asked.objective, asked.kind, one?.metric, one?.sense, others]);
}

// Showing

function show() {
  showInfeasible();
  showLimits();
  showCurve();
  if (answer.status === "infeasible") {
    $("value").textContent = "–";
    $("brief").textContent = "not feasible";
    document.querySelectorAll("#results .card:not(.alert)").forEach((card) => card.classList.add("waiting"));
    return;
  }
  document.querySelectorAll("#results .waiting").forEach((card) => card.classList.remove("waiting"));
  const wanted = answer.direction === "maximize" ? "higher is better" : "lower is better";
  $("value-name").textContent = `${answer.objective_words} (${wanted})`;
  $("value").textContent = number(answer.value);
  $("brief").textContent = `${answer.objective_words} ${number(answer.value)}`;
  const seen = answer.expected;
  const facts = [
    ["most probable class", number(answer.value_before), "old"],
    ["bound", number(answer.bound)],
    ["on new rows", seen ? `${number(seen.value, 3)} [${number(seen.low, 3)}, ${number(seen.high, 3)}]` : answer.expected_note || "…"],
    ["status", answer.status],
  ];
  $("facts").replaceChildren(...facts.flatMap(([name, text, kind]) =>
    [el("dt", { textContent: name }), el("dd", { textContent: text, className: kind ?? "" })]));
  $("gauge").replaceChildren(gauge(answer, $("gauge").clientWidth));
  $("bound-words").textContent = answer.bound_words;
  $("choice").hidden = !answer.choice;
  $("choice").firstChild.textContent = `Counted by ${COUNTED[answer.counted]}`;
  $("choice").lastChild.textContent = `The default chose ${answer.choice}.`;
  $("notes").hidden = !answer.notes.length;
  $("notes").replaceChildren(...answer.notes.map((note) => el("li", { textContent: note })));
  $("limits-card").hidden = !answer.constraints.length;
  tables.kept($("kept"), answer);
  tables.confusion($("confusion"), $("show-before").checked && answer.confusion_before || answer.confusion);
  tables.classes($("classes"), answer);
  tables.groups($("groups"), answer);
}

function showInfeasible() {
  const card = $("infeasible");
  card.hidden = answer.feasible;
  if (answer.feasible) return;
  card.replaceChildren(el("p", { textContent: answer.message }));
  if (!answer.achievable) return;
  const use = el("button", { type: "button", className: "primary", id: "use-nearest", textContent: "Use these limits" });
  use.addEventListener("click", () => {
    answer.achievable.forEach((one, k) => { asked.limits[k].limit = one.nearest; });
    drawSliders();
    solve();
  });
  card.append(use);
}

function showCurve() {
  const one = asked.limits[traded];
  $("curve-card").hidden = !one;
  const fits = one && front?.key === curveKey() && front.points.some((point) => point.feasible);
  if (!fits) {
    if (one) $("curve-words").textContent = "The curve is drawn when the sliders are still.";
    $("curve").classList.add("waiting");
    return;
  }
  $("curve").classList.remove("waiting");
  $("curve").replaceChildren(curve(front, one.limit, answer.feasible ? answer.value : null, $("curve").clientWidth));
  $("h-curve").textContent = `Trade-off with ${front.words}`;
  const record = answer.constraints?.[traded];
  const refused = `The limit asked for, dotted, cannot be kept${asked.limits.length > 1 ? " with the others" : ""}.`;
  const words = record ? record.price_words || "Here the limit costs nothing." : refused;
  $("curve-words").textContent = words +
    (front.points.some((point) => point.bound !== null) ? " Dashed: the bound." : "");
}

// Limits

function drawSliders() {
  $("no-limits").hidden = asked.limits.length > 0;
  $("limits").replaceChildren(...asked.limits.map((one, k) => {
    const low = Math.min(0, one.limit), high = Math.max(1, one.limit);
    const name = `${one.metric} ${one.sense === ">=" ? "at least" : "at most"}`;
    const range = el("input", { type: "range", min: low, max: high, step: 0.005, value: one.limit, "aria-label": name });
    const exact = el("input", { type: "number", step: 0.005, value: one.limit, "aria-label": `${name}, exact` });
    const move = (from, to) => {
      const value = Number(from.value);
      if (from.value === "" || !Number.isFinite(value)) return;
      one.limit = value;
      to.value = value;
      traded = k;
      solve();
    };
    range.addEventListener("input", () => move(range, exact));
    exact.addEventListener("change", () => move(exact, range));
    const remove = el("button", { type: "button", className: "remove", textContent: "×", "aria-label": `Remove ${name}` });
    remove.addEventListener("click", () => {
      asked.limits.splice(k, 1);
      traded = Math.max(0, Math.min(traded, asked.limits.length - 1));
      drawSliders();
      $("add").focus();
      solve();
    });
    const text = el("code", { textContent: `${one.metric} ${one.sense === ">=" ? "≥" : "≤"}` });
    return el("li", {}, text, exact, remove, range, el("span", { className: "now" }));
  }));
  showLimits();
}

function showLimits() {
  $("limits").querySelectorAll(".now").forEach((place, k) => {
    const record = answer?.constraints?.[k];
    const near = answer?.achievable?.[k];
    place.classList.toggle("broken", Boolean(near) || record?.holds === false);
    if (record) place.textContent = `now ${number(record.value, 3)}, price ${number(record.price, 3)}`;
    else if (near) place.textContent = `can be kept together: ${number(near.nearest, 3)}; alone: ${number(near.alone, 3)}`;
    else place.textContent = "";
  });
}

async function add() {
  const chosen = $("limit").value;
  const text = chosen === OWN ? $("limit-text").value
    : chosen.replace("{c}", $("limit-class").value).replace("{over}", $("limit-attribute").value);
  try {
    const read = await ask("/api/read", { text });
    const template = setup.limits.find((one) => one.text === chosen);
    const sense = read.constraint || !template ? read.sense : template.sense;
    let limit = read.limit;
    // A metric gets the limit that the policy of now keeps; on the other side of it the nearest is one step on.
    if (!read.constraint && sense !== read.sense) limit = Math.round((limit + (sense === "<=" ? 0.01 : -0.01)) * 1000) / 1000;
    asked.limits.push({ metric: read.metric, sense, limit });
    traded = asked.limits.length - 1;
    complain("limit-error");
    drawSliders();
    $("limits").lastElementChild.querySelector("input[type=range]").focus();
    solve();
  } catch (error) {
    complain("limit-error", error);
  }
}

// Choices

function needs(select, of, fields) {
  const text = select.value;
  for (const [mark, id] of fields) $(id).hidden = mark === OWN ? text !== OWN : !text.includes(mark);
  if (of) of();
}

function chooseObjective() {
  const text = $("objective").value;
  asked.objective = text === OWN ? $("objective-text").value : text.replace("{c}", $("objective-class").value);
  if (asked.objective) solve();
}

async function begin() {
  setup = await ask("/api/setup");
  const { rows, classes, attributes, start } = setup;
  $("rows").textContent = `${rows.toLocaleString("en")} rows, ${classes.length} classes` +
    (attributes.length ? `, by ${attributes.map((one) => one.label).join(", ")}` : "");
  const labels = classes.map((one) => [one.text, one.label]);
  const own = [OWN, "Written as text…"];
  fill($("objective"), [...setup.objectives.map((one) => [one.text, one.words]), own]);
  fill($("objective-class"), labels);
  fill($("limit"), [...setup.limits.map((one) => [one.text, one.words]), own]);
  fill($("limit-class"), setup.decisions.map((one) => [one.text, one.label]));
  fill($("limit-attribute"), attributes.map((one) => [one.text, one.label]));
  const known = setup.objectives.some((one) => one.text === start.objective);
  $("objective").value = known ? start.objective : OWN;
  $("objective-text").value = start.objective;
  $("kind").value = asked.kind = setup.counting;
  asked.objective = start.objective;
  asked.limits = start.constraints;
  const ofObjective = [["{c}", "objective-class-field"], [OWN, "objective-text-field"]];
  const ofLimit = [["{c}", "limit-class-field"], ["{over}", "limit-attribute-field"], [OWN, "limit-text-field"]];
  needs($("objective"), null, ofObjective);
  needs($("limit"), null, ofLimit);
  $("objective").addEventListener("change", () => needs($("objective"), chooseObjective, ofObjective));
  $("objective-class").addEventListener("change", chooseObjective);
  $("objective-text").addEventListener("change", chooseObjective);
  $("limit").addEventListener("change", () => needs($("limit"), null, ofLimit));
  $("kind").addEventListener("change", () => { asked.kind = $("kind").value; solve(); });
  $("add").addEventListener("click", add);
  addEventListener("resize", () => answer && show());
  $("show-before").addEventListener("change", () => answer && show());
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("limit-text").addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
  document.querySelectorAll("[data-take]").forEach((button) => button.addEventListener("click", async () => {
    $("take-state").textContent = "making it …";
    try {
      $("take-state").textContent = `saved ${await take(`/api/${button.dataset.take}`, request())}`;
    } catch (error) {
      $("take-state").textContent = error.message;
    }
  }));
  drawSliders();
  solve();
}

begin().catch(fail);
