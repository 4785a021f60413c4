// Which samples are shown, in what order: the state of the page, kept in the fragment of its address.

const NOTHING = { q: "", find: "", states: "", by: "", sort: "", sample: null, metric: null, tags: {} };

/** The state that a fragment holds; null where it is a plain anchor. */
function readFragment(fragment) {
  const text = fragment.replace(/^#/, "");
  if (text && !text.includes("=")) return null;
  const state = { ...NOTHING, tags: {} };
  for (const [key, value] of new URLSearchParams(text)) {
    if (key.startsWith("tag.")) state.tags[key.slice(4)] = value;
    else if (key in NOTHING && key !== "tags") state[key] = value;
  }
  return state;
}

/** A state as a fragment; what is as usual is left out. */
function writeFragment(state) {
  const pairs = new URLSearchParams();
  for (const [key, usual] of Object.entries(NOTHING))
    if (key !== "tags" && state[key] !== usual && state[key] !== "" && state[key] !== null) pairs.set(key, state[key]);
  for (const [tag, value] of Object.entries(state.tags)) if (value !== "") pairs.set(`tag.${tag}`, value);
  return pairs.size ? `#${pairs}` : "";
}

/** The rows of `order` that pass the filters, and the counts of their states before the state chips. See browser.js for `view`. */
function filtered(view, state, order) {
  const tests = [];
  if (state.q.trim()) tests.push(expression(state.q, view.fields).test);
  for (const [tag, value] of Object.entries(state.tags))
    if (value !== "" && view.tags[tag]) tests.push((row) => view.fields[`tag.${tag}`].get(row) === value);
  const wanted = state.find.trim().toLowerCase();
  if (wanted) tests.push((row) => view.texts.folded(row).includes(wanted));
  const letters = view.letters(state);
  const counts = Object.fromEntries(Object.keys(view.words).map((letter) => [letter, 0]));
  const words = state.states.split(".");
  const chosen = new Set(Object.keys(view.words).filter((letter) => words.includes(view.words[letter])));
  const rows = [];
  for (const row of order) {
    if (!tests.every((test) => test(row))) continue;
    counts[letters[row]]++;
    if (!chosen.size || chosen.has(letters[row])) rows.push(row);
  }
  return { rows: Int32Array.from(rows), counts };
}

/** All rows sorted by a column; what has no value stands last, equal rows keep their order. */
function sorted(view, state) {
  const [key, down] = state.sort.startsWith("-") ? [state.sort.slice(1), -1] : [state.sort, 1];
  const rows = Array.from(view.ids.keys());
  const value = view.sortValue(key, state);
  if (!value) return rows;
  const keys = rows.map((row) => value(row) ?? null);
  const collator = new Intl.Collator("en", { numeric: true });
  return rows.sort((a, b) => {
    const [x, y] = [keys[a], keys[b]];
    if (x === y) return a - b;
    if (x === null) return 1;
    if (y === null) return -1;
    return (typeof x === "number" ? x - y : collator.compare(x, y)) * down || a - b;
  });
}

/** Fields of the tags: by their name, and as `tag.NAME` where another field has it. */
function tagFields(tags) {
  const fields = Object.create(null);
  for (const [tag, part] of Object.entries(tags)) {
    const get = (row) => (part.codes[row] < 0 ? null : part.values[part.codes[row]]);
    fields[tag] = fields[`tag.${tag}`] = { get };
  }
  return fields;
}

/** Whether a state looks into whole texts, which are unpacked first. */
function needsTexts(view, state) {
  if (state.find.trim()) return true;
  try {
    return Boolean(state.q.trim()) && expression(state.q, view.fields).names.some((name) => view.fields[name].text);
  } catch {
    return false;
  }
}

/** The whole texts of all samples: unpacked when something asks for them, or when the page has nothing else to do. */
class Texts {
  constructor(store) {
    this.store = store;
    this.all = null;
    this.low = [];
  }

  load() {
    this.loading ??= this.store.texts.all().then((all) => {
      this.all = all;
    });
    return this.loading;
  }

  /** Id and all texts of a row in lower case. */
  folded(row) {
    this.low[row] ??= [this.store.core.ids[row], ...this.all[row].flat()].join("\n").toLowerCase();
    return this.low[row];
  }
}
