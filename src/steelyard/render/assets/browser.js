// The list of samples and the page of one of them, for any view; the address says what is seen.
//
// A view holds: ids, tags, fields, texts; words (by letter), kind(letter), text(letter), letters(state); by (label and
// options); example; columns(state), sortValue(key, state), order(state); drawn(state), which draws what lies outside
// the grid; load(row), draw(place, sample, state, nav), say(row).

class Browser {
  constructor(view) {
    this.view = view;
    this.state = readFragment(location.hash) ?? readFragment("");
    const place = byId("browser");
    this.controls = new Controls(place, view, (patch) => this.change(patch));
    this.found = h("p", { class: "found" });
    place.append(this.found);
    this.grid = new Grid(place, view.columns(this.state), {
      label: "Samples",
      onOpen: (row) => this.open(row),
      onSort: (key) => this.change({ sort: nextSort(this.state.sort, key) }),
    });
    const keys = [h("kbd", {}, "j"), " ", h("kbd", {}, "k"), " or arrows move, ", h("kbd", {}, "Enter"), " opens, ", h("kbd", {}, "Esc"), " comes back. The address holds the filter: it can be linked."];
    place.append(h("p", { class: "keys", id: "grid-keys" }, keys));
    window.addEventListener("hashchange", () => this.arrive());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** The address changed: by a link, or by Back. */
  arrive() {
    const state = readFragment(location.hash);
    if (state === null) {
      this.leaveSample();
      byId(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
      return;
    }
    const list = (one) => writeFragment({ ...one, sample: null, metric: null });
    const filtering = state.sample === null && list(state) !== list(this.state);
    this.state = state;
    this.render();
    if (filtering) byId("samples").scrollIntoView();
  }

  /** A change of filter or order: no new entry in the history. */
  change({ tag, ...patch }) {
    const tags = patch.tags ?? (tag ? { ...this.state.tags, [tag[0]]: tag[1] } : this.state.tags);
    this.state = { ...this.state, ...patch, tags };
    history.replaceState(null, "", writeFragment(this.state) || "#");
    if (this.state.sample === null) {
      this.grid.box.scrollTop = 0;
      this.grid.active = 0;
    }
    this.render();
  }

  /** Another view: a new entry in the history. */
  go(state) {
    this.state = state;
    history.pushState(null, "", writeFragment(state) || "#");
    this.render();
  }

  open(row) {
    this.go({ ...this.state, sample: this.view.ids[row], metric: null });
  }

  render() {
    const { state, view } = this;
    let problem = null;
    if (view.texts.all === null && needsTexts(view, state)) view.texts.load().then(() => this.render());
    else {
      try {
        ({ rows: this.rows, counts: this.counts } = filtered(view, state, this.order()));
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        problem = error.message;
      }
    }
    this.rows ??= Int32Array.from(this.order());
    this.controls.show(state, this.counts ?? {}, problem);
    this.found.replaceChildren(h("span", {}, h("strong", {}, count(this.rows.length)), ` of ${count(view.ids.length)}`), h("span", {}, view.order(state)));
    this.grid.columns = view.columns(state);
    this.grid.show(this.rows, state.sort);
    view.drawn?.(state, this);
    if (state.sample === null) this.leaveSample();
    else this.openSample();
  }

  /** All rows in the order of the state: sorted once, however often they are filtered. */
  order() {
    const key = JSON.stringify([this.state.sort, this.state.by]);
    if (this.ordered?.key !== key) this.ordered = { key, rows: sorted(this.view, this.state) };
    return this.ordered.rows;
  }

  async openSample() {
    const row = this.view.ids.indexOf(this.state.sample);
    if (row < 0) {
      announce(`no sample ${this.state.sample} in this report`);
      return this.leaveSample();
    }
    const opening = `${row} ${this.state.metric}`;
    this.opening = opening;
    const sample = await this.view.load(row);
    if (this.opening !== opening) return;
    const position = this.rows.indexOf(row);
    if (position >= 0) this.grid.active = position;
    const moved = this.shownRow !== row;
    this.shownRow = row;
    const pressed = document.activeElement?.closest?.(".scorebar");
    byId("overview").hidden = true;
    byId("sample").hidden = false;
    const title = this.view.draw(byId("sample"), sample, this.state, {
      position,
      total: this.rows.length,
      back: () => this.back(),
      step: (by) => this.step(by),
      choose: (metric) => this.change({ metric }),
    });
    if (moved) {
      window.scrollTo(0, 0);
      title.focus({ preventScroll: true });
      announce(this.view.say(row));
    } else if (pressed) document.querySelector('.scorebar [aria-pressed="true"]')?.focus({ preventScroll: true });
  }

  leaveSample() {
    this.opening = null;
    if (byId("sample").hidden) return;
    this.shownRow = null;
    byId("sample").hidden = true;
    byId("sample").replaceChildren();
    byId("overview").hidden = false;
    this.grid.arrange();
    this.grid.reveal();
    byId("samples").scrollIntoView({ behavior: "instant" });
    this.grid.box.focus({ preventScroll: true });
  }

  back() {
    this.go({ ...this.state, sample: null, metric: null });
  }

  step(by) {
    const position = this.rows.indexOf(this.shownRow) + by;
    if (position < 0 || position >= this.rows.length) return;
    this.state = { ...this.state, sample: this.view.ids[this.rows[position]] };
    history.replaceState(null, "", writeFragment(this.state));
    this.openSample();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    const open = this.state.sample !== null && !byId("sample").hidden;
    if (open && event.key === "Escape") this.back();
    else if (event.key === "j" || event.key === "k") {
      const by = event.key === "j" ? 1 : -1;
      if (open) this.step(by);
      else {
        this.grid.box.focus();
        this.grid.move(by);
      }
    } else return;
    event.preventDefault();
  }
}

/** Ascending, then descending, then as it was. */
function nextSort(now, key) {
  return now === key ? `-${key}` : now === `-${key}` ? "" : key;
}

/** Columns that every grid has. */
const idColumn = (core) => ({
  key: "id", title: "id", width: 150, kind: "id", sortable: true,
  fill: (cell, row) => cell.append(h("a", { href: `#${new URLSearchParams({ sample: core.ids[row] })}`, tabindex: "-1" }, core.ids[row])),
});

const textColumn = (title, texts, width) => ({
  key: title, title, width, kind: "text", sortable: true, fill: (cell, row) => cell.append(h("span", {}, texts[row] ?? "–")),
});

function tagColumn(tags) {
  const all = Object.entries(tags);
  if (!all.length) return [];
  const fill = (cell, row) => {
    const here = all.filter(([, part]) => part.codes[row] >= 0);
    cell.append(h("span", {}, here.map(([tag, part]) => (all.length === 1 ? "" : `${tag}: `) + part.values[part.codes[row]]).join(", ")));
  };
  const one = all.length === 1;
  return [{ key: one ? `tag.${all[0][0]}` : "tags", title: one ? all[0][0] : "tags", width: 200, kind: "text", sortable: one, fill }];
}

/** The last column takes the room that is left. */
function lastGrows(columns) {
  const last = columns.at(-1);
  return [...columns.slice(0, -1), { ...last, kind: `${last.kind} last` }];
}

/** Keep a part of the page for print alone, and out of the document until then. */
function setAside(part) {
  const kept = [...part.childNodes];
  part.hidden = true;
  part.replaceChildren();
  const print = matchMedia("print");
  const show = () => part.replaceChildren(...(print.matches ? kept : []));
  print.addEventListener("change", show);
  window.addEventListener("beforeprint", () => part.replaceChildren(...kept));
  window.addEventListener("afterprint", () => part.replaceChildren());
}

/** Unpack the data, make the view, and take the place of the list that needs no script. */
async function start(viewOf) {
  let store;
  try {
    store = await openStore();
  } catch (error) {
    byId("unscripted")?.append(` This browser cannot unpack the table (${error.name}); the samples below are part of the page itself.`);
    return;
  }
  setAside(byId("worst"));
  byId("browser").hidden = false;
  const view = viewOf(store);
  const browser = new Browser(view);
  browser.render();
  if (browser.state.sample === null && writeFragment(browser.state)) byId("samples").scrollIntoView();
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
  const idle = window.requestIdleCallback ?? ((action) => setTimeout(action, 500));
  idle(() => view.texts.load());
}
