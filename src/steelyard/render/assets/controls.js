// The controls above the grid: expression, text, states, tags. Each has a label and says what it does.

const MANY_VALUES = 60;

/** Build the controls of a view (see browser.js); `change(patch)` is called with what the reader changed. */
class Controls {
  constructor(place, view, change) {
    this.view = view;
    this.change = change;
    this.expression = h("input", { type: "text", id: "expression", spellcheck: "false", autocomplete: "off", placeholder: view.example, "aria-describedby": "problem", on: { input: (event) => change({ q: event.target.value }) } });
    this.problem = h("p", { id: "problem", class: "problem", role: "alert" });
    this.find = h("input", { type: "search", id: "find", autocomplete: "off", placeholder: "in questions, responses, references, ids", on: { input: (event) => change({ find: event.target.value }) } });
    this.by = h("select", { id: "by", on: { change: (event) => change({ by: event.target.value, states: "" }) } }, view.by.options.map(([value, words]) => h("option", { value }, words)));
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "States shown" });
    this.tags = Object.entries(view.tags)
      .filter(([, part]) => part.values.length <= MANY_VALUES)
      .map(([tag, part]) => this.tagSelect(tag, part));
    place.append(
      h(
        "form",
        { class: "controls", role: "search", "aria-label": "Filter", on: { submit: (event) => event.preventDefault() } },
        h("div", { class: "expression" }, h("label", { for: "expression" }, "Filter by expression"), this.expression, this.problem),
        h("div", {}, h("label", { for: "find" }, "Find text"), this.find),
        h(
          "div",
          { class: "more" },
          this.chips,
          h("div", {}, h("label", { for: "by" }, view.by.label), this.by),
          this.tags.map(([tag, select], at) => h("div", {}, h("label", { for: `tag-${at}` }, tag), Object.assign(select, { id: `tag-${at}` }))),
          h("button", { type: "button", on: { click: () => change({ q: "", find: "", states: "", by: "", tags: {} }) } }, "Clear"),
        ),
        this.help(view.fields),
      ),
    );
  }

  tagSelect(tag, part) {
    const values = [...part.values].sort(new Intl.Collator("en", { numeric: true }).compare);
    const select = h("select", { on: { change: (event) => this.change({ tag: [tag, event.target.value] }) } }, h("option", { value: "" }, "any"), values.map((value) => h("option", { value }, value)));
    return [tag, select];
  }

  help(fields) {
    const names = Object.keys(fields).filter((name) => !name.startsWith("tag."));
    const insert = (name) => {
      const text = /^[A-Za-z_]/.test(name) ? name : `\`${name}\``;
      const { value, selectionStart: at } = this.expression;
      const before = value.slice(0, at);
      this.expression.value = `${before}${before && !before.endsWith(" ") ? " " : ""}${text} ${value.slice(at)}`;
      this.expression.focus();
      this.change({ q: this.expression.value });
    };
    const code = (text) => h("code", {}, text);
    return h(
      "details",
      { class: "help" },
      h("summary", {}, "Filter syntax"),
      h("p", {}, "Compare with ", code("< <= > >= == !="), ", ", code("contains"), ", ", code("in (…)"), ", join with ", code("and or not"), " and brackets; ask for a state with ", code("is failed"), " (pass, fail, undefined, failed, scored). Texts stand in quotes. What has no value is never true."),
      h("p", {}, "Names:"),
      h("div", { class: "names" }, names.slice(0, 80).map((name) => h("button", { type: "button", on: { click: () => insert(name) } }, name))),
    );
  }

  /** Bring the controls in line with a state, the counts of states and what is wrong with the expression. */
  show(state, counts, problem) {
    const set = (control, value) => {
      if (control.value !== value) control.value = value;
    };
    set(this.expression, state.q);
    set(this.find, state.find);
    set(this.by, state.by);
    for (const [tag, select] of this.tags) set(select, state.tags[tag] ?? "");
    this.problem.textContent = problem ?? "";
    if (problem) this.expression.setAttribute("aria-invalid", "true");
    else this.expression.removeAttribute("aria-invalid");
    this.showChips(state, counts);
  }

  showChips(state, counts) {
    const { words } = this.view;
    const letters = this.view.letters(state);
    this.shown ??= {};
    this.shown[state.by] ??= Object.keys(words).filter((letter) => letters.includes(letter));
    const chosen = state.states.split(".").filter(Boolean);
    const toggle = (word) => {
      const next = chosen.includes(word) ? chosen.filter((one) => one !== word) : [...chosen, word];
      this.change({ states: next.join(".") });
      this.chips.querySelector(`[data-word="${word}"]`)?.focus();
    };
    this.chips.replaceChildren(
      ...this.shown[state.by].map((letter) =>
        h(
          "button",
          { type: "button", "data-word": words[letter], class: `state ${this.view.kind(letter)}`, "aria-pressed": String(chosen.includes(words[letter])), on: { click: () => toggle(words[letter]) } },
          this.view.text(letter),
          " ",
          h("span", { class: "count" }, count(counts[letter])),
        ),
      ),
    );
  }
}

/** An expression that fits this report, as an example. */
function exampleOf(name, limit, tags) {
  const [tag, part] = Object.entries(tags).find(([, one]) => one.values.length < MANY_VALUES) ?? [];
  return tag ? `${name} < ${limit} and ${tag} == ${JSON.stringify(part.values[0])}` : `${name} < ${limit}`;
}
