"use strict";
// Replies of a run: what is stored is data alone and reaches the page as text, never as markup.
(async () => {
  const STEP = 40; // replies that are added at a time
  const $ = (id) => document.getElementById(id);
  const unpacked = async (node) => {
    const bytes = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };
  const data = await unpacked($("data"));
  const fields = Object.fromEntries(data.fields.map((name, place) => [name, place]));
  const of = (row, name) => row[fields[name]];
  const question = (row) => data.questions[of(row, "question")];
  const texts = data.rows.map((row) => {
    const { text, gold, options } = question(row);
    return [text, gold, of(row, "reply"), of(row, "answer"), ...options.flat()].join("\n").toLowerCase();
  });
  const isGiven = (row) => of(row, "answer") === null && of(row, "status") === "ok"; // imported with its grade
  const KINDS = {
    all: () => true,
    wrong: (row) => of(row, "correct") === false,
    right: (row) => of(row, "correct") === true,
    unread: (row) => of(row, "correct") !== null && of(row, "answer") === null && !isGiven(row),
    cut: (row) => of(row, "cut"),
    abstained: (row) => of(row, "abstained"),
    failed: (row) => of(row, "correct") === null,
  };
  const CHOICES = {
    kind: Object.keys(KINDS).map((name) => [name, name, data.rows.filter(KINDS[name]).length]),
    variant: counts("variant", (row) => data.variants[of(row, "variant")]),
    set: counts("set", (row) => question(row).set),
    group: counts("group", (row) => question(row).group),
  };
  function counts(title, value) {
    const numbers = new Map();
    for (const row of data.rows) numbers.set(value(row), (numbers.get(value(row)) || 0) + 1);
    return [["", `every ${title}`, data.rows.length], ...[...numbers].map(([name, n]) => [name, name || "none", n])];
  }
  for (const [id, choices] of Object.entries(CHOICES)) {
    for (const [value, name, n] of choices) $(id).add(new Option(`${name} (${n.toLocaleString("en")})`, value));
    $(id).hidden = id !== "kind" && choices.length < 3;
  }
  $("kind").value = CHOICES.kind[1][2] ? "wrong" : "all";

  let found = [], shown = 0, current = -1;
  const key = (row) => [question(row).set, question(row).id, data.variants[of(row, "variant")], of(row, "wording"), of(row, "sample")].join("/");

  function made(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }
  function marked(row) {
    const node = made("p", undefined, "reply"), text = of(row, "reply"), start = of(row, "start"), end = of(row, "end");
    if (of(row, "error")) node.append(made("em", `failed: ${of(row, "error")}`));
    else if (start < 0) node.append(text || made("em", "(empty)"));
    else node.append(text.slice(0, start), made("mark", text.slice(start, end)), text.slice(end));
    return node;
  }
  function card(place) {
    const row = data.rows[place], { id, set, text, options, gold, group } = question(row);
    const node = made("article", undefined, of(row, "correct") === null ? "failed" : of(row, "correct") ? "right" : "wrong");
    const head = made("p", undefined, "quiet"), link = made("a", `${set} ${id}`);
    link.href = `#${encodeURIComponent(key(row))}`;
    head.append(link, ", ", made("bdi", data.variants[of(row, "variant")]));
    for (const [name, value] of [["wording", of(row, "wording")], ["sample", of(row, "sample")]]) if (value) head.append(`, ${name} ${value}`);
    if (group) head.append(", ", made("bdi", group));
    const answer = isGiven(row) ? `graded ${node.className} by the import` : of(row, "answer") === null ? `no answer read (${of(row, "status")})` : of(row, "answer");
    const verdict = made("p", undefined, "verdict");
    verdict.append(made("strong", node.className === "failed" ? "no reply" : answer));
    if (node.className === "right" && !isGiven(row)) verdict.append(" is right");
    else if (gold) verdict.append("; right is ", made("bdi", gold));
    for (const name of ["cut", "abstained"]) if (of(row, name)) verdict.append(`, ${name}`);
    if (of(row, "confidence") !== null) verdict.append(`; ${of(row, "confidence").toFixed(2)} sure${of(row, "confident_in") ? ` of ${of(row, "confident_in")}` : ""}`);
    node.append(head, made("p", text, "question"));
    if (options.length) {
      const list = made("ul");
      const labels = of(row, "labels");
      options.forEach(([label, option], at) => {
        const item = made("li", `${label} `, label === gold ? "gold" : "");
        item.append(made("bdi", option));
        if (labels.length) item.append(made("small", ` ${labels[at].toFixed(3)}`));
        list.append(item);
      });
      node.append(list);
    }
    if (of(row, "thought")) {
      const thought = made("details");
      thought.append(made("summary", "thought"), made("pre", of(row, "thought")));
      node.append(thought);
    }
    const values = of(row, "confidences").map((value, at) => value === null ? "" : `${data.estimators[at]} ${value.toFixed(3)}`).filter(Boolean);
    const graded = of(row, "graded_by") ? `, graded by ${of(row, "graded_by")}` : "";
    const by = isGiven(row) ? "" : `read by ${of(row, "reader") || "nobody"}${graded}`;
    node.append(marked(row), verdict, made("p", [values.join(", "), by].filter(Boolean).join("; "), "quiet"));
    if (data.block) {
      const prompt = made("details", undefined, "prompt"), body = made("pre", "..");
      prompt.append(made("summary", "prompt"), body);
      prompt.addEventListener("toggle", async () => { if (prompt.open) body.textContent = (await prompts(place)); }, { once: true });
      node.append(prompt);
    }
    return node;
  }
  const blocks = new Map();
  async function prompts(place) {
    const block = Math.floor(place / data.block);
    if (!blocks.has(block)) blocks.set(block, unpacked(document.querySelectorAll("script.prompts")[block]));
    return (await blocks.get(block))[place % data.block];
  }
  function more() {
    const part = document.createDocumentFragment();
    for (const place of found.slice(shown, shown + STEP)) part.append(card(place));
    shown = Math.min(shown + STEP, found.length);
    $("list").append(part);
    $("end").textContent = shown < found.length ? `${(found.length - shown).toLocaleString("en")} more below` : "";
  }
  function search() {
    const wanted = $("search").value.trim().toLowerCase(), kind = KINDS[$("kind").value];
    const [variant, set, group] = ["variant", "set", "group"].map((id) => $(id).value);
    found = [];
    data.rows.forEach((row, place) => {
      if (kind(row) && (!variant || data.variants[of(row, "variant")] === variant) && (!set || question(row).set === set)
        && (!group || question(row).group === group) && (!wanted || texts[place].includes(wanted))) found.push(place);
    });
    const sure = (place) => of(data.rows[place], "confidence");
    const sign = $("order").value === "surest" ? -1 : 1;
    if ($("order").value !== "file") found.sort((a, b) => sure(a) === null ? (sure(b) === null ? a - b : 1) : sure(b) === null ? -1 : sign * (sure(a) - sure(b)) || a - b);
    draw();
  }
  function draw() {
    shown = 0; current = -1;
    $("list").replaceChildren();
    $("count").textContent = `${found.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} replies`;
    more();
  }
  function go(by) {
    const cards = $("list").children;
    current = Math.max(0, current + by);
    while (current >= cards.length && shown < found.length) more();
    current = Math.min(current, cards.length - 1);
    for (const node of document.querySelectorAll("article.current")) node.classList.remove("current");
    cards[current]?.classList.add("current");
    cards[current]?.scrollIntoView({ block: "nearest" });
  }
  function linked() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (wanted.startsWith("show=") && Object.hasOwn(KINDS, wanted.slice(5))) { // a report links to replies of a kind
      $("kind").value = wanted.slice(5);
      search();
      return true;
    }
    const place = wanted ? data.rows.findIndex((row) => key(row) === wanted) : -1;
    if (place < 0) return false;
    found = [place];
    draw();
    $("count").textContent += "; Esc shows the others";
    return true;
  }
  function clear() {
    history.replaceState(null, "", location.pathname + location.search);
    $("search").value = "";
    search();
  }
  let waiting;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 80); });
  for (const id of [...Object.keys(CHOICES), "order"]) $(id).addEventListener("change", search);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", linked);
  new IntersectionObserver(([end]) => { if (end.isIntersecting && shown < found.length) more(); }, { rootMargin: "800px" }).observe($("end"));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { clear(); document.activeElement.blur(); return; }
    if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/") { event.preventDefault(); $("search").focus(); }
    else if (event.key === "p") { const prompt = $("list").children[Math.max(0, current)]?.querySelector(".prompt"); if (prompt) prompt.open = !prompt.open; }
  });
  if (!linked()) search();
  document.body.dataset.ready = "yes";
})();
