// The view of one report.

function reportView(store) {
  const { core } = store;
  const texts = new Texts(store);
  const fields = reportFields(core, texts);
  const metric = core.metrics.find((one) => one.threshold !== null) ?? core.metrics[0];
  const lettersOf = ({ by }) => {
    const at = core.metrics.findIndex((one) => one.label === by);
    return at < 0 ? core.verdicts : core.states[at];
  };
  const columns = reportColumns(core);
  return {
    ids: core.ids,
    tags: core.tags,
    fields,
    texts,
    words: WORDS,
    kind: (letter) => WORDS[letter],
    text: stateText,
    letters: lettersOf,
    by: { label: "Verdict of", options: [["", "the sample"], ...core.metrics.map((one) => [one.label, one.shown])] },
    example: metric ? exampleOf(metric.label, metric.threshold ?? 0.5, core.tags) : "",
    columns: () => columns,
    sortValue(key) {
      if (key === "") return (row) => core.merit[row];
      if (key === "verdict") return (row) => "xfusp".indexOf(core.verdicts[row]);
      if (key === "rank" && core.rank) return (row) => (core.rank[row] === 0 ? Infinity : core.rank[row]);
      if (key === "question" || key === "response") return (row) => core[key]?.[row] ?? null;
      return fields[key]?.get;
    },
    order: ({ sort }) => (sort ? `sorted by ${sort.replace(/^-/, "")}` : "lowest mean score first"),
    load: (row) => loadSample(store, row),
    draw: (place, sample, state, nav) => drawSample(place, store, sample, state.metric, nav),
    say: (row) => `${core.ids[row]}, ${WORDS[core.verdicts[row]]}`,
  };
}

/** What expressions can name: tags, the columns of the grid, metrics; the later hides the earlier. */
function reportFields(core, texts) {
  const fields = tagFields(core.tags);
  const rowText = (at) => (row) => texts.all?.[row]?.[at] ?? null;
  fields.id = { get: (row) => core.ids[row] };
  fields.verdict = { get: (row) => WORDS[core.verdicts[row]] };
  fields.question = { get: rowText(0), text: true };
  fields.response = { get: rowText(1), text: true };
  fields.reference = { get: (row) => texts.all?.[row]?.[2].join("\n") || null, text: true };
  if (core.rank) fields.rank = { get: (row) => core.rank[row] || null };
  for (const [name, part] of Object.entries(core.where)) fields[name] = { get: (row) => part.words[part.codes[row]] };
  core.metrics.forEach((metric, at) => {
    fields[metric.label] = { get: (row) => core.values[at][row], state: (row) => WORDS[core.states[at][row]] };
  });
  return fields;
}

function reportColumns(core) {
  const columns = [
    {
      key: "verdict", title: "verdict", width: 116, frozen: true, kind: "state", sortable: true,
      fill: (cell, row) => {
        cell.classList.add(WORDS[core.verdicts[row]]);
        cell.append(stateText(core.verdicts[row]));
      },
    },
    ...core.metrics.map((metric, at) => ({
      key: metric.label, title: metric.label, width: 98, frozen: true, kind: "number", sortable: true,
      fill: (cell, row) => {
        const letter = core.states[at][row];
        const value = core.values[at][row];
        cell.classList.add(WORDS[letter]);
        cell.append(value === null ? stateText(letter) : letter === "f" ? `▼ ${figure(value)}` : figure(value));
        cell.setAttribute("aria-label", `${metric.label} ${value === null ? "" : figure(value)} ${WORDS[letter]}`);
      },
    })),
    idColumn(core),
  ];
  if (core.rank)
    columns.push({
      key: "rank", title: "first relevant at rank", width: 96, kind: "number", sortable: true,
      fill: (cell, row) => cell.append(core.rank[row] === null ? "–" : core.rank[row] === 0 ? "none" : String(core.rank[row])),
    });
  if (core.question) columns.push(textColumn("question", core.question, 330));
  if (core.response) columns.push(textColumn("response", core.response, 420));
  return lastGrows([...columns, ...tagColumn(core.tags)]);
}

start(reportView);
