// One sample: its scores, its claims beside the passages that support them, what was retrieved, what was asked.

const SHOWN_CLAIMS = 200;

/** Everything that the page of one sample needs. */
async function loadSample(store, row) {
  const [texts, detail] = await Promise.all([store.texts.item(row), store.details.item(row)]);
  const load = (numbers) => Promise.all((numbers ?? []).map(async (number) => ({ number, text: await store.contexts.item(number) })));
  const [contexts, wanted] = await Promise.all([load(detail.contexts), load(detail.wanted)]);
  return { row, question: texts[0], response: texts[1], references: texts[2], detail, contexts, wanted };
}

/** Draw a sample into `place`. `nav`: { position, total, back(), step(by), choose(metric label) } */
function drawSample(place, store, sample, chosen, nav) {
  const { core } = store;
  const { row } = sample;
  const at = chosenMetric(core, sample, chosen);
  const cell = sample.detail.metrics?.[at] ?? {};
  const title = h("h2", { id: "sample-title", tabindex: "-1" }, sample.question || core.ids[row]);
  const cards = contextCards(sample, cell);
  place.replaceChildren(
    navigation(nav),
    title,
    labels(core, row),
    scoreBar(core, sample, at, nav),
    h(
      "div",
      { class: "pair" },
      h("div", {}, answerPanel(sample), core.metrics[at] ? metricPanel(store, sample, at, cell, cards) : null),
      h("div", { class: "passages", tabindex: "0", role: "region", "aria-label": "Passages" }, sample.contexts.length ? h("h3", {}, "Retrieved passages") : null, cards.map((card) => card.element), wantedPanel(sample), retrievedPanel(sample)),
    ),
    sample.detail.metadata ? h("details", { class: "panel card" }, h("summary", {}, "Metadata"), h("pre", { tabindex: "0" }, pretty(sample.detail.metadata))) : null,
  );
  return title;
}

/** The metric whose evidence is shown: the one asked for, else one with claims that did not pass, else any. */
function chosenMetric(core, sample, label) {
  const asked = core.metrics.findIndex((metric) => metric.label === label);
  if (asked >= 0) return asked;
  const state = (at) => core.states[at][sample.row];
  const all = core.metrics.map((_, at) => at);
  const telling = all.filter((at) => sample.detail.metrics?.[at]?.claims);
  const best = [...telling.filter((at) => "fx".includes(state(at))), ...telling, ...all.filter((at) => "fx".includes(state(at))), ...all];
  return best[0] ?? 0;
}

function navigation(nav) {
  const button = (words, key, action, off) => h("button", { type: "button", disabled: off, on: { click: action } }, words, " ", h("kbd", {}, key));
  return h(
    "div",
    { class: "bar-top" },
    button("Back to all", "Esc", nav.back),
    h("span", { class: "where" }, nav.position < 0 ? "outside the filter" : `${count(nav.position + 1)} of ${count(nav.total)}`),
    button("Previous", "k", () => nav.step(-1), nav.position <= 0),
    button("Next", "j", () => nav.step(1), nav.position >= nav.total - 1),
  );
}

function labels(core, row) {
  const letter = core.verdicts[row];
  const tags = Object.entries(core.tags).filter(([, part]) => part.codes[row] >= 0);
  return h(
    "p",
    { class: "labels" },
    h("span", { class: `state ${WORDS[letter]}` }, stateText(letter)),
    h("span", { class: "id" }, core.ids[row]),
    tags.map(([tag, part]) => h("span", {}, `${tag} `, h("b", {}, part.values[part.codes[row]]))),
    Object.entries(core.where).map(([name, part]) => h("span", {}, `${name} `, h("b", {}, part.words[part.codes[row]]))),
  );
}

function scoreBar(core, sample, at, nav) {
  return h(
    "div",
    { class: "scorebar", role: "group", "aria-label": "Scores; choose one to see its evidence" },
    core.metrics.map((metric, number) => {
      const letter = core.states[number][sample.row];
      const value = core.values[number][sample.row];
      const words = value === null ? stateText(letter) : `${letter === "s" ? "" : `${SIGNS[letter]} `}${figure(value)}`;
      return h(
        "button",
        { type: "button", class: WORDS[letter], "aria-pressed": String(number === at), title: stateText(letter), on: { click: () => nav.choose(metric.label) } },
        h("span", {}, metric.shown),
        h("strong", {}, words, h("span", { class: "hidden" }, ` ${WORDS[letter]}`)),
      );
    }),
  );
}

function answerPanel(sample) {
  if (sample.response === null && !sample.references.length) return null;
  const parts = [];
  if (sample.response !== null) parts.push(h("h3", {}, "Response"), h("p", { class: "prose" }, sample.response || "(blank)"));
  sample.references.forEach((text, at) => {
    parts.push(h("h3", {}, sample.references.length > 1 ? `Reference ${at + 1} of ${sample.references.length}` : "Reference"), h("p", { class: "prose" }, text));
  });
  return h("div", { class: "panel card" }, parts);
}

function metricPanel(store, sample, at, cell, cards) {
  const metric = store.core.metrics[at];
  const value = store.core.values[at][sample.row];
  const letter = store.core.states[at][sample.row];
  const facts = [];
  if (value !== null) facts.push(cell.parts ? `${trimmed(cell.parts[0])} / ${trimmed(cell.parts[1])} = ${figure(value)}` : figure(value));
  if (letter === "p" || letter === "f") facts.push(`${letter === "p" ? "reaches" : "misses"} the threshold ${metric.threshold}`);
  if (letter === "u" || letter === "x") facts.push(`${WORDS[letter]}: ${cell.reason ?? "no reason given"}`);
  if (cell.draws) facts.push(`draws: ${cell.draws.map((draw) => (draw === null ? "undefined" : figure(draw))).join(", ")}`);
  if (cell.flags) facts.push(`flags: ${[cell.flags].flat().join(", ")}`);
  return h(
    "div",
    { class: "panel card" },
    h("h3", {}, metric.shown),
    facts.length ? h("p", { class: letter === "x" ? "bad" : "soft" }, facts.join(" · ")) : null,
    (cell.claims ?? []).map((group) => claimList(group, cards)),
    cell.rest ? restOf(cell.rest) : null,
    asked(store, sample, metric, cell),
  );
}

const trimmed = (number) => (Number.isInteger(number) ? String(number) : figure(number));

/** Claims as buttons: to focus one is to see the passages that support it. */
function claimList(group, cards) {
  const buttons = group.items.slice(0, SHOWN_CLAIMS).map((claim) => {
    const linked = group.against === "contexts";
    const word = { yes: "● supported", no: "▼ not supported" }[claim.verdict] ?? claim.verdict ?? "";
    const told = [claim.reason, claim.more, linked && claim.passages ? `passage ${claim.passages.join(", ")}` : null].filter(Boolean);
    const button = h(
      "button",
      { type: "button", class: claim.verdict === "no" ? "no" : null, "aria-pressed": "false" },
      h("span", { class: "verdict-word" }, linked ? word : ({ yes: "● yes", no: "▼ no" }[claim.verdict] ?? word)),
      h("span", { class: "text" }, claim.text),
      told.length ? h("span", { class: "reason" }, told.join(" · ")) : null,
    );
    const show = () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      showSupport(cards, claim, linked);
    };
    button.addEventListener("focus", show);
    button.addEventListener("click", show);
    return button;
  });
  const left = group.items.length - buttons.length;
  return h(
    "div",
    {},
    h("h3", {}, group.title),
    h("ul", { class: "claims" }, buttons.map((button) => h("li", {}, button))),
    left > 0 ? h("p", { class: "soft" }, `${count(left)} more in report.json`) : null,
  );
}

/** Mark the passages that support a claim, and in each the sentence that is closest to it. */
function showSupport(cards, claim, linked) {
  const numbers = new Set(linked ? (claim.passages ?? []) : []);
  let first = null;
  for (const card of cards) {
    const supports = numbers.has(card.number);
    card.element.classList.toggle("supports", supports);
    card.element.classList.toggle("dim", numbers.size > 0 && !supports);
    card.support.textContent = supports ? (claim.spans ? "holds what is marked" : "supports the claim") : "";
    const spans = (claim.spans ?? []).filter(([number]) => number === card.number);
    card.prose.replaceChildren(...(!supports ? [card.text] : spans.length ? markedAt(card.text, spans) : marked(card.text, claim.text)));
    if (supports) first ??= card;
  }
  if (first) {
    first.element.scrollIntoView({ block: "nearest" });
    first.prose.querySelector("mark")?.scrollIntoView({ block: "nearest" });
  }
  if (linked) announce(numbers.size ? `supported by passage ${[...numbers].join(", ")}` : "no passage supports this claim");
}

const wordsOf = (text) => new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 3 || /\p{N}/u.test(word)));

/** A passage with the sentence marked that shares most words with the claim. */
function marked(text, claim) {
  const wanted = wordsOf(claim);
  const sentences = text.match(/[^.!?。！？\n]+[.!?。！？\n]*\s*/gu) ?? [];
  let best = -1;
  let most = 0;
  sentences.forEach((sentence, at) => {
    const here = wordsOf(sentence);
    const shared = [...wanted].filter((word) => here.has(word)).length;
    const score = shared / Math.sqrt(here.size + 4);
    if (shared && score > most) [best, most] = [at, score];
  });
  if (best < 0 || sentences.join("") !== text) return [text];
  return [sentences.slice(0, best).join(""), h("mark", {}, sentences[best].trimEnd()), sentences.slice(best).join("").slice(sentences[best].trimEnd().length)];
}

/** A passage with the stretches marked that the metric named; offsets count code points, as in the report. */
function markedAt(text, spans) {
  const points = Array.from(text);
  const found = [];
  let at = 0;
  for (const [, start, end] of [...spans].sort((a, b) => a[1] - b[1])) {
    if (start < at || end <= start) continue;
    found.push(points.slice(at, start).join(""), h("mark", {}, points.slice(start, end).join("")));
    at = end;
  }
  return [...found, points.slice(at).join("")];
}

function contextCards(sample, cell) {
  const notes = new Map((cell.contexts ?? []).map((note) => [note.context, note]));
  const read = (sample.detail.retrieved ?? []).filter((one) => one[3]);
  const exact = read.length === sample.contexts.length;
  return sample.contexts.map(({ text }, at) => {
    const number = at + 1;
    const [document_, grade] = exact ? [read[at][1], read[at][2]] : [null, null];
    const note = notes.get(number);
    const support = h("span", { class: "support" });
    const prose = h("p", { class: "prose" }, text || "(blank)");
    const element = h(
      "article",
      { class: "context card", "aria-label": `Passage ${number}` },
      h(
        "h4",
        {},
        `[${number}]`,
        document_ ? h("span", { class: "id" }, document_) : null,
        grade !== null ? h("span", {}, `grade ${grade}`) : null,
        support,
      ),
      prose,
      note ? h("p", { class: "note" }, `${{ yes: "● yes", no: "▼ no" }[note.verdict] ?? note.verdict}${note.reason ? `: ${note.reason}` : ""}`) : null,
    );
    return { number, element, prose, support, text: text || "(blank)" };
  });
}

function wantedPanel(sample) {
  if (!sample.wanted.length) return null;
  const there = new Set(sample.contexts.map((one) => one.number));
  return h(
    "details",
    { class: "panel card" },
    h("summary", {}, plural(sample.wanted.length, "reference passage")),
    sample.wanted.map(({ number, text }) => h("div", {}, h("p", { class: "soft" }, there.has(number) ? "● was read, word for word" : "○ was not read word for word"), h("p", { class: "prose" }, text))),
  );
}

function retrievedPanel(sample) {
  const { retrieved, of, missed, judged } = sample.detail;
  if (!retrieved) return null;
  const scored = retrieved.some((one) => one[4] !== null);
  const grade = (value) => (value === null ? (judged ? "unjudged" : "–") : value > 0 ? `● ${value}` : `${value}`);
  const lines = [];
  let last = 0;
  const gap = (hidden) => h("tr", { class: "gap" }, h("td", { colspan: scored ? "5" : "4" }, `… ${count(hidden)} not listed`));
  for (const [rank, id, value, read, score] of retrieved) {
    if (rank > last + 1) lines.push(gap(rank - last - 1));
    last = rank;
    lines.push(
      h("tr", {}, h("td", { class: "num" }, String(rank)), h("td", { class: "id" }, id), h("td", {}, grade(value)), h("td", {}, read ? "read" : ""), scored ? h("td", { class: "num" }, figure(score)) : null),
    );
  }
  if (of > last) lines.push(gap(of - last));
  for (const [id, value] of missed)
    lines.push(h("tr", {}, h("td", { class: "missed" }, "✕ missed"), h("td", { class: "id" }, id), h("td", {}, `● ${value}`), h("td"), scored ? h("td") : null));
  const words = missed.length ? `, ${count(missed.length)} relevant missed` : "";
  return h(
    "details",
    { class: "panel card", open: sample.contexts.length === 0 || missed.length > 0 },
    h("summary", {}, `${plural(of, "document")} retrieved${words}`),
    h(
      "table",
      { class: "docs" },
      h("caption", { class: "hidden" }, "Retrieved documents by rank, then the relevant ones that were missed"),
      h("thead", {}, h("tr", {}, ["Rank", "Document", "Grade", "Read", ...(scored ? ["Score"] : [])].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, lines),
    ),
  );
}

/** The prompts and replies behind a score, as far as the page holds them; each is unpacked when it is opened. */
function asked(store, sample, metric, cell) {
  const numbers = cell.exchanges ?? [];
  if (!numbers.length && !cell.unseen) return null;
  const entries = numbers.map((number, at) => {
    const entry = h("details", {}, h("summary", {}, `Request ${at + 1} of ${numbers.length}`));
    entry.addEventListener("toggle", async () => {
      if (!entry.open || entry.dataset.drawn) return;
      entry.dataset.drawn = "yes";
      const [pieces, reply, facts] = await store.exchanges.item(number);
      const texts = await Promise.all(pieces.map((piece) => (typeof piece === "number" ? store.contexts.item(piece) : piece)));
      entry.append(
        facts ? h("p", { class: "soft" }, facts) : "",
        h("h3", {}, "Prompt"),
        h("pre", { tabindex: "0" }, texts.join("")),
        h("h3", {}, "Reply"),
        h("pre", { tabindex: "0" }, reply ?? "(none)"),
      );
    });
    return entry;
  });
  const rest = cell.unseen ? h("p", { class: "soft" }, `Not in this page: ${plural(cell.unseen, "request")}. steelyard show REPORT --why ${store.core.ids[sample.row]} ${metric.label}`) : null;
  return h("div", {}, h("h3", {}, "Requests to the judge"), entries, rest);
}

function restOf(rest) {
  return Object.entries(rest).map(([key, value]) => {
    const name = key.replaceAll("_", " ");
    if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return h("p", {}, h("span", { class: "soft" }, `${name}: `), value.join(", ") || "none");
    if (value === null || typeof value !== "object") {
      const text = String(value);
      return text.includes("\n") ? h("details", {}, h("summary", {}, name), h("pre", { tabindex: "0" }, text)) : h("p", {}, h("span", { class: "soft" }, `${name}: `), text);
    }
    return h("details", {}, h("summary", {}, name), h("pre", { tabindex: "0" }, pretty(value)));
  });
}

const pretty = (value) => JSON.stringify(value, null, 2);
