// The view of a comparison: pairs of samples, flips first.

const CHANGES = {
  f: "pass → fail", p: "fail → pass", x: "to failed", w: "worse", b: "better", s: "same", u: "unscored",
};
const CHANGE_SIGNS = { f: "▼", p: "●", x: "✕", w: "▽", b: "△", s: "=", u: "◇" };
const CHANGE_KINDS = { f: "fail", p: "pass", x: "failed", w: "scored", b: "scored", s: "scored", u: "undefined" };
const NOISE = 1e-6;

/** How one metric moved on one row; see CHANGES. */
function changeOf(core, at, row) {
  const [before, after] = [core.a.states[at][row], core.b.states[at][row]];
  if (before === "p" && after === "f") return "f";
  if (before === "f" && after === "p") return "p";
  if (after === "x" && before !== "x") return "x";
  const delta = deltaOf(core, at, row);
  if (delta === null) return "u";
  return delta < -NOISE ? "w" : delta > NOISE ? "b" : "s";
}

/** The change of one metric on one row, signed so that negative is worse. */
function deltaOf(core, at, row) {
  const [before, after] = [core.a.values[at][row], core.b.values[at][row]];
  return before === null || after === null ? null : (after - before) * (core.metrics[at].up ? 1 : -1);
}

const signedFigure = (value) => (value === null ? "–" : `${value > 5e-4 ? "+" : value < -5e-4 ? "−" : ""}${figure(Math.abs(value))}`);

function comparisonView(store) {
  const { core } = store;
  const texts = new Texts(store);
  const fields = comparisonFields(core, texts);
  const first = Math.max(0, core.metrics.findIndex((metric) => metric.label === core.first));
  const chosen = ({ by }) => {
    const at = core.metrics.findIndex((metric) => metric.label === by);
    return at < 0 ? first : at;
  };
  const known = [];
  const lettersOf = (at) => (known[at] ??= core.metrics[at] ? core.ids.map((_, row) => changeOf(core, at, row)).join("") : none);
  const none = "u".repeat(core.ids.length);
  const shown = core.metrics[first];
  return {
    ids: core.ids,
    tags: core.tags,
    fields,
    texts,
    words: CHANGES,
    kind: (letter) => CHANGE_KINDS[letter],
    text: (letter) => `${CHANGE_SIGNS[letter]} ${CHANGES[letter]}`,
    letters: (state) => lettersOf(chosen(state)),
    by: { label: "Changes of", options: core.metrics.map((metric, at) => [at === first ? "" : metric.label, metric.label]) },
    example: shown ? exampleOf(`delta.${shown.label}`, "-0.1", core.tags) : "",
    columns: (state) => comparisonColumns(core, chosen(state), lettersOf(chosen(state))),
    sortValue(key, state) {
      const at = chosen(state);
      if (key === "" || key === "change") {
        const place = (row) => "fpx".indexOf(lettersOf(at)[row]);
        return (row) => (place(row) >= 0 ? place(row) * 10 : 30) - Math.abs(deltaOf(core, at, row) ?? -1);
      }
      if (key === "baseline") return (row) => core.a.values[at][row];
      if (key === "current") return (row) => core.b.values[at][row];
      if (key === "delta") return (row) => deltaOf(core, at, row);
      if (key === "question") return (row) => core.question?.[row] ?? null;
      return fields[key]?.get;
    },
    order: ({ sort }) => (sort ? `sorted by ${sort.replace(/^-/, "")}` : "flips first, then by size of change"),
    drawn: (state, browser) => core.metrics.length && drawScatter(byId("chart"), core, chosen(state), lettersOf(chosen(state)), browser),
    load: (row) => loadPair(store, row),
    draw: (place, pair, state, nav) => drawPair(place, store, pair, state.metric ?? (state.by || core.first), nav),
    say: (row) => `${core.ids[row]}`,
  };
}

/** Names: a metric is the current value; `baseline.` and `delta.` before it are the other two. */
function comparisonFields(core, texts) {
  const fields = tagFields(core.tags);
  const rowText = (at) => (row) => texts.all?.[row]?.[at] ?? null;
  fields.id = { get: (row) => core.ids[row] };
  fields.question = { get: rowText(0), text: true };
  fields.before = { get: rowText(1), text: true };
  fields.response = { get: rowText(2), text: true };
  fields.reference = { get: (row) => texts.all?.[row]?.[3].join("\n") || null, text: true };
  core.metrics.forEach(({ label }, at) => {
    fields[label] = { get: (row) => core.b.values[at][row], state: (row) => WORDS[core.b.states[at][row]] };
    fields[`baseline.${label}`] = { get: (row) => core.a.values[at][row], state: (row) => WORDS[core.a.states[at][row]] };
    fields[`delta.${label}`] = { get: (row) => deltaOf(core, at, row) };
  });
  return fields;
}

function comparisonColumns(core, chosen, letters) {
  const [before, after] = core.sides;
  const scored = (side, at) => (cell, row) => {
    const [letter, value] = [core[side].states[at][row], core[side].values[at][row]];
    cell.classList.add(WORDS[letter]);
    cell.append(value === null ? stateText(letter) : letter === "f" ? `▼ ${figure(value)}` : figure(value));
  };
  const moved = (at) => (cell, row) => cell.append(signedFigure(deltaOf(core, at, row)));
  const columns = [];
  if (core.metrics.length)
    columns.push(
      {
        key: "change", title: `change of ${core.metrics[chosen].label}`, width: 130, frozen: true, kind: "state", sortable: true,
        fill: (cell, row) => {
          const letter = letters[row];
          cell.classList.add(CHANGE_KINDS[letter]);
          cell.append(`${CHANGE_SIGNS[letter]} ${CHANGES[letter]}`);
        },
      },
      { key: "baseline", title: before, width: 98, frozen: true, kind: "number", sortable: true, fill: scored("a", chosen) },
      { key: "current", title: after, width: 98, frozen: true, kind: "number", sortable: true, fill: scored("b", chosen) },
      { key: "delta", title: "delta", width: 92, frozen: true, kind: "number", sortable: true, fill: moved(chosen) },
    );
  columns.push(idColumn(core));
  core.metrics.forEach((metric, at) => {
    if (at !== chosen) columns.push({ key: `delta.${metric.label}`, title: `Δ ${metric.label}`, width: 98, kind: "number", sortable: true, fill: moved(at) });
  });
  if (core.question) columns.push(textColumn("question", core.question, 300));
  if (core.a.response) columns.push({ ...textColumn(`response, ${before}`, core.a.response, 320), sortable: false });
  if (core.b.response) columns.push({ ...textColumn(`response, ${after}`, core.b.response, 320), sortable: false });
  return lastGrows([...columns, ...tagColumn(core.tags)]);
}

const CHART = { size: 300, edge: 44 };
const SIZES = [[16, 14], [6, 10.5], [2, 7.5], [1, 5]];
const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The whole run as a scatter of before and after: one path for the points, one for the flips. */
function drawScatter(place, core, at, letters, browser) {
  place.hidden = false;
  if (place.dataset.metric === String(at)) return;
  place.dataset.metric = at;
  const metric = core.metrics[at];
  const points = [];
  core.ids.forEach((_, row) => {
    const [x, y] = [core.a.values[at][row], core.b.values[at][row]];
    if (x !== null && y !== null) points.push([row, x, y]);
  });
  const all = points.flatMap(([, x, y]) => [x, y]);
  const [least, most] = all.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], metric.bounds ?? [Infinity, -Infinity]);
  const [low, high] = most > least ? [least, most] : [least - 0.5, least + 0.5];
  const { size, edge } = CHART;
  const sx = (value) => edge + ((value - low) / (high - low)) * size;
  const sy = (value) => size + 10 - ((value - low) / (high - low)) * size;
  const dots = new Map();
  const crosses = new Set();
  for (const [row, x, y] of points) {
    const [px, py] = [sx(x).toFixed(1), sy(y).toFixed(1)];
    if (letters[row] === "f") crosses.add(`M${px - 3} ${py - 3}l6 6m0 -6l-6 6`);
    const dot = `M${px} ${py}h0`;
    dots.set(dot, (dots.get(dot) ?? 0) + 1);
  }
  const bySize = SIZES.map(([least_, width], at_) => {
    const most_ = SIZES[at_ - 1]?.[0] ?? Infinity;
    const here = [...dots].filter(([, n]) => n >= least_ && n < most_).map(([dot]) => dot);
    return shape("path", { class: "points", "stroke-width": width, d: here.join("") });
  });
  const [before, after] = core.sides;
  const counts = { up: 0, down: 0 };
  for (const [row] of points) {
    const delta = deltaOf(core, at, row);
    if (delta > NOISE) counts.up++;
    else if (delta < -NOISE) counts.down++;
  }
  const words = `${metric.label}: ${count(points.length)} pairs, ${count(counts.up)} better, ${count(counts.down)} worse, ${count(crosses.size)} places of a pass that became a fail`;
  const middle = size / 2;
  const text = (x, y, anchor, words_) => shape("text", { x, y, "text-anchor": anchor }, words_);
  const picture = shape(
    "svg",
    { viewBox: `0 0 ${size + edge + 14} ${size + 52}`, role: "img", "aria-label": words, class: "scatter" },
    shape("path", { class: "frame", d: `M${edge} 10v${size}h${size}` }),
    shape("path", { class: "limit", d: `M${sx(low)} ${sy(low)}L${sx(high)} ${sy(high)}` }),
    ...bySize,
    shape("path", { class: "flips", d: [...crosses].join("") }),
    text(edge, size + 28, "middle", figure(low).replace(/\.?0+$/, "")),
    text(edge + size, size + 28, "middle", figure(high).replace(/\.?0+$/, "")),
    text(edge - 8, size + 12, "end", figure(low).replace(/\.?0+$/, "")),
    text(edge - 8, 16, "end", figure(high).replace(/\.?0+$/, "")),
    text(edge + middle, size + 44, "middle", before),
    shape("text", { transform: `translate(14 ${middle + 10}) rotate(-90)`, "text-anchor": "middle" }, after),
  );
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const scale = (size + edge + 14) / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const away = ([, a, b]) => (sx(a) - x) ** 2 + (sy(b) - y) ** 2;
    const nearest_ = points.reduce((best, point) => (best === null || away(point) < away(best) ? point : best), null);
    if (nearest_ && away(nearest_) < 144) browser.open(nearest_[0]);
  });
  place.replaceChildren(
    picture,
    h(
      "div",
      { class: "legend" },
      h("h3", {}, metric.label),
      h("p", {}, h("b", {}, count(points.length)), " pairs, each a point: ", h("b", {}, count(counts.up)), " better, ", h("b", {}, count(counts.down)), " worse, the others the same. Larger points are several pairs at one place."),
      h("p", {}, "Points on the dotted line did not change; above the line ", after, " is higher."),
      metric.threshold === null ? null : h("p", {}, h("span", { class: "bad" }, "✕"), ` marks samples that passed ${metric.threshold} before and do not now.`),
      h("p", { class: "soft" }, "Click to open the nearest pair. The table below lists all pairs."),
    ),
  );
}

/** Everything that the page of one pair needs. */
async function loadPair(store, row) {
  const [texts, details] = await Promise.all([store.texts.item(row), store.details.item(row)]);
  const load = (numbers) => Promise.all((numbers ?? []).map(async (number) => ({ number, text: await store.contexts.item(number) })));
  const side = async (name) => ({ row, detail: details[name], contexts: await load(details[name].contexts), wanted: [] });
  const [a, b] = await Promise.all([side("a"), side("b")]);
  return { row, question: texts[0], before: texts[1], after: texts[2], references: texts[3], a, b };
}

function drawPair(place, store, pair, label, nav) {
  const { core } = store;
  const { row } = pair;
  const at = Math.max(0, core.metrics.findIndex((metric) => metric.label === label));
  const title = h("h2", { id: "sample-title", tabindex: "-1" }, pair.question || core.ids[row]);
  const changed = difference(pair.before ?? "", pair.after ?? "");
  const both = new Set(pair.a.contexts.map((one) => one.number).filter((number) => pair.b.contexts.some((one) => one.number === number)));
  const tags = Object.entries(core.tags).filter(([, part]) => part.codes[row] >= 0);
  place.replaceChildren(
    navigation(nav),
    title,
    h("p", { class: "labels" }, h("span", { class: "id" }, core.ids[row]), tags.map(([tag, part]) => h("span", {}, `${tag} `, h("b", {}, part.values[part.codes[row]])))),
    h(
      "div",
      { class: "scorebar", role: "group", "aria-label": "Scores before and after; choose one to see its evidence" },
      core.metrics.map((metric, number) => {
        const letter = changeOf(core, number, row);
        const shown = (side) => (core[side].values[number][row] === null ? WORDS[core[side].states[number][row]] : figure(core[side].values[number][row]));
        return h(
          "button",
          { type: "button", class: CHANGE_KINDS[letter], "aria-pressed": String(number === at), on: { click: () => nav.choose(metric.label) } },
          h("span", {}, metric.label),
          h("strong", {}, `${shown("a")} → ${shown("b")}`),
          h("span", {}, `${CHANGE_SIGNS[letter]} ${CHANGES[letter]}`),
        );
      }),
    ),
    pair.references.length ? h("div", { class: "panel card" }, pair.references.map((text) => [h("h3", {}, "Reference"), h("p", { class: "prose" }, text)])) : null,
    h(
      "div",
      { class: "pair" },
      side(store, pair, "a", at, marks(changed.before, "del"), both),
      side(store, pair, "b", at, marks(changed.after, "ins"), both),
    ),
  );
  return title;
}

/** One side of a pair: response with what differs, claims, passages. */
function side(store, pair, name, at, response, both) {
  const { core } = store;
  const [text, half] = name === "a" ? [pair.before, pair.a] : [pair.after, pair.b];
  const cell = half.detail.metrics?.[at] ?? {};
  const cards = contextCards(half, cell);
  cards.forEach((card, place) => {
    if (both.has(half.contexts[place].number)) card.element.querySelector("h4").append(h("span", {}, "= in both"));
    else card.element.querySelector("h4").append(h("span", {}, "◆ only here"));
  });
  return h(
    "div",
    {},
    h("h3", { class: "side" }, core.sides[name === "a" ? 0 : 1]),
    text === null ? null : h("div", { class: "panel card" }, h("h3", {}, "Response"), h("p", { class: "prose" }, text === "" ? "(blank)" : response)),
    core.metrics[at] && (cell.claims || cell.reason) ? h("div", { class: "panel card" }, h("h3", {}, core.metrics[at].label), cell.reason ? h("p", { class: "soft" }, cell.reason) : null, (cell.claims ?? []).map((group) => claimList(group, cards))) : null,
    cards.map((card) => card.element),
    retrievedPanel(half),
  );
}

start(comparisonView);
