// What the page does beyond reading: themes, sorting, values under the pointer. Without it everything is still there.
"use strict";

const root = document.documentElement;

function remembered(key, value) {
  // A browser may refuse storage, for local files above all; then the choice lasts as long as the page.
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function startFolds() {
  // A link to a section opens it, and paper has them all.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.closest("details") || target.querySelector(":scope > details"));
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => document.querySelectorAll("details.fold").forEach((fold) => { fold.open = true; }));
  open();
}

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.querySelector(".theme");
  const kept = remembered("calprobe-theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remembered("calprobe-theme", root.dataset.theme);
    name();
  });
  system.addEventListener("change", name);
  name();
}

function cellValue(row, column) {
  // A cell's first text is its value; its interval comes in an element of its own.
  const cell = row.cells[column];
  const text = (cell.dataset.value ?? cell.firstChild?.textContent ?? "").trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return cell.classList.contains("text") || cell.tagName === "TH" ? cell.textContent.trim() : number;
}

function compared(a, b, sign) {
  if (typeof a === "string") return sign * a.localeCompare(b, undefined, { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // undefined ones last, both ways
  return sign * (a - b);
}

function startSorting(table) {
  const bodies = [...table.tBodies];
  const groups = bodies.map((body) => [...body.rows]);
  const rows = groups.flat().filter((row) => !row.classList.contains("group"));
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];

  function restore() {
    groups.forEach((group, place) => bodies[place].append(...group));
  }

  function sortBy(head, column) {
    const first = head.dataset.better === "larger" ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const now = head.getAttribute("aria-sort");
    const next = now === "none" ? first : now === first ? second : "none";
    heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", next);
    restore();
    table.classList.toggle("sorted", next !== "none");
    groups.flat().forEach((row) => { row.hidden = row.classList.contains("group") && next !== "none"; });
    if (next === "none") return; // the third time: the order of the report
    const sign = next === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => [cellValue(row, column), row]);
    keyed.sort(([a], [b]) => compared(a, b, sign));
    bodies[0].append(...keyed.map(([, row]) => row));
  }

  heads.forEach((head, column) => {
    const title = head.querySelector(".head");
    if (!title) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...title.childNodes);
    button.title = "Sort by this column";
    title.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortBy(head, column));
  });
}

function startTips() {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let lit = null;

  function hide() {
    lit?.classList.remove("lit");
    lit = null;
    tip.hidden = true;
  }

  function show(mark) {
    hide();
    lit = mark;
    mark.classList.add("lit");
    tip.textContent = mark.dataset.said;
    tip.hidden = false;
    const place = mark.getBoundingClientRect();
    const left = place.left + place.width / 2 - tip.offsetWidth / 2;
    const above = place.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(4, Math.min(left, root.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${above < 4 ? place.bottom + 8 : above}px`;
  }

  for (const svg of document.querySelectorAll("figure > svg")) {
    const marks = [...svg.querySelectorAll(":has(> title)")];
    if (!marks.length) continue;
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.dataset.said = title.textContent;
      title.remove(); // else the browser shows it as well, late
    }
    svg.tabIndex = 0;
    svg.addEventListener("pointerover", (event) => {
      const mark = event.target.closest("[data-said]");
      if (mark) show(mark); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      const seen = marks.filter((mark) => getComputedStyle(mark).display !== "none" && mark.getClientRects().length);
      const from = seen.indexOf(lit);
      if (seen.length) show(seen[from < 0 && step < 0 ? seen.length - 1 : (from + step + seen.length) % seen.length]);
      event.preventDefault();
    });
  }
  addEventListener("scroll", hide, { passive: true });
}

function startBoxes() {
  // A table that fits needs no box of its own: its heads then stay at the top of the window. Else the box scrolls; on a
  // phone it stops where a column begins behind the first, so that no number is cut.
  const fit = (box) => {
    const table = box.querySelector("table");
    box.classList.remove("fits");
    table.style.marginRight = "";
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells].filter((cell) => cell.offsetWidth);
    const first = heads.length ? heads[0].offsetWidth : 0;
    box.style.setProperty("--first", `${first}px`);
    const hidden = table.offsetWidth - box.clientWidth;
    box.classList.toggle("fits", hidden <= 0);
    const stops = heads.slice(1).map((cell) => cell.offsetLeft - first);
    const last = stops.find((stop) => stop >= hidden);
    const more = hidden > 0 && last !== undefined ? Math.ceil(last - hidden) : 0;
    if (more) table.style.marginRight = `${more}px`;
    box.style.setProperty("--more", `${more}px`);
  };
  const boxes = [...document.querySelectorAll(".box")];
  const all = () => boxes.forEach(fit);
  addEventListener("resize", all);
  document.querySelectorAll(".all").forEach((choice) => choice.addEventListener("change", all));
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", all));
  all();
}

startTheme();
startFolds();
document.querySelectorAll("table.sortable").forEach(startSorting);
startTips();
startBoxes();
