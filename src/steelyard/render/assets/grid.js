// A grid of any length: only the rows in view are in the page. One tab stop; the active row is told to screen readers.

const ROW = 44;
const MARGIN = 6;

/**
 * columns: [{ key, title, width, frozen, kind, sortable, fill(cell, row) }]
 * options: { label, onOpen(row), onSort(key), onMove(position) }
 */
class Grid {
  constructor(place, columns, options) {
    this.columns = columns;
    this.options = options;
    this.rows = new Int32Array(0);
    this.active = 0;
    this.body = h("div", { role: "rowgroup", class: "body" });
    this.head = h("div", { role: "row", class: "head" });
    this.box = h(
      "div",
      { class: "grid card", role: "grid", tabindex: "0", "aria-label": options.label, "aria-colcount": columns.length, "aria-describedby": "grid-keys" },
      h("div", { role: "rowgroup", class: "top-rows" }, this.head),
      this.body,
    );
    this.box.addEventListener("scroll", () => this.later());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.arrange()).observe(this.box);
    place.append(this.box);
  }

  /** Show these rows, in this order, and which column they are sorted by. */
  show(rows, sort) {
    this.rows = rows;
    this.sort = sort;
    this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    this.box.setAttribute("aria-rowcount", rows.length + 1);
    this.width = 0;
    this.arrange();
  }

  /** Freeze what leaves room for the text, then draw head and rows. */
  arrange() {
    const width = this.box.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    let taken = 0;
    const room = width < 640 ? 110 : width * 0.58;
    this.frozen = 0;
    for (const column of this.columns) {
      taken += column.width;
      if (!column.frozen || (taken > room && this.frozen > 0)) break;
      this.frozen++;
    }
    const tallest = Math.max(320, Math.min(760, window.innerHeight * 0.74));
    this.box.style.height = `${Math.min(tallest, 56 + Math.max(2, this.rows.length) * ROW + 14)}px`;
    this.body.style.height = `${this.rows.length * ROW}px`;
    this.drawHead();
    this.draw();
  }

  split(cells) {
    return [h("div", { class: "frozen", role: "presentation" }, cells.slice(0, this.frozen)), ...cells.slice(this.frozen)];
  }

  drawHead() {
    const cells = this.columns.map((column, at) => {
      const [key, down] = this.sort?.startsWith("-") ? [this.sort.slice(1), true] : [this.sort, false];
      const sorted = key === column.key ? (down ? "descending" : "ascending") : null;
      const cell = h("div", { role: "columnheader", "aria-colindex": at + 1, "aria-sort": sorted, class: `cell ${column.kind}` });
      const sign = sorted ? (down ? " ↓" : " ↑") : "";
      const title = h("span", {}, breakable(column.title), sign);
      cell.append(
        column.sortable
          ? h("button", { type: "button", title: `Sort by ${column.title}`, on: { click: () => this.options.onSort(column.key) } }, title)
          : title,
      );
      cell.style.width = `${column.width}px`;
      return cell;
    });
    this.head.replaceChildren(...this.split(cells));
  }

  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const top = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + MARGIN);
    const lines = [];
    for (let at = top; at < last; at++) lines.push(this.line(at));
    this.body.replaceChildren(...lines);
    if (top <= this.active && this.active < last) this.box.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  line(at) {
    const row = this.rows[at];
    const cells = this.columns.map((column, number) => {
      const cell = h("div", {
        role: column.key === "id" ? "rowheader" : "gridcell",
        "aria-colindex": number + 1,
        class: `cell ${column.kind}`,
      });
      cell.style.width = `${column.width}px`;
      column.fill(cell, row);
      return cell;
    });
    const line = h("div", { role: "row", id: `row-${at}`, "aria-rowindex": at + 2, class: at === this.active ? "line active" : "line" }, this.split(cells));
    line.style.top = `${at * ROW}px`;
    return line;
  }

  click(event) {
    const line = event.target.closest(".line");
    if (!line || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.active = Number(line.id.slice(4));
    this.options.onOpen(this.rows[this.active]);
  }

  key(event) {
    if (event.target !== this.box || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.rows.length && this.options.onOpen(this.rows[this.active]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move(step) {
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + step));
    this.reveal();
  }

  /** Scroll so that the active row is in view. */
  reveal() {
    const head = this.head.offsetHeight;
    const [top, bottom] = [this.active * ROW, (this.active + 1) * ROW];
    const room = this.box.clientHeight - head;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (bottom > this.box.scrollTop + room) this.box.scrollTop = bottom - room;
    this.draw();
  }
}
