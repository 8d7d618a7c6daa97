// The page of `zcdp explore`: sends what was changed, and puts what comes back in its place. Nothing is computed here.
"use strict";

const area = document.body.dataset.area;
const me = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("");
const at = (id) => document.getElementById(id);

// Questions: one POST each, answered by a stream of lines of JSON.

const SLOW = 1000; // milliseconds after which a person sees that something is under way
const under = new Map();

// Whether nothing is under way, nor about to be: for tests that look at the page.
globalThis.isQuiet = () => under.size === 0 && pending.size === 0 && !sending && !resting;

function showProgress() {
  const box = at("progress");
  const late = [...under.values()].filter((one) => performance.now() - one.since >= SLOW);
  box.hidden = late.length === 0;
  if (late.length) {
    const last = late[late.length - 1];
    box.querySelector("span").style.width = `${Math.round(100 * Math.max(last.share, 0.03))}%`;
    box.querySelector("p").textContent = `${last.what}\u2026`;
  }
}
setInterval(showProgress, 250);

async function ask(what, given, take, signal) {
  const ticket = {};
  under.set(ticket, { since: performance.now(), share: 0, what: "computing" });
  try {
    const answer = await fetch(`ask/${what}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given), signal,
    });
    if (!answer.ok) {
      const words = (await answer.text()).trim();
      if (answer.status === 409) await ask("show", {}, take); // as another window left it
      problem(answer.status === 409 ? "page" : what, words);
      return false;
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const event = JSON.parse(line);
        if ("progress" in event) Object.assign(under.get(ticket), { share: event.progress, what: event.what });
        else take(event);
      }
    }
  } catch (error) {
    if (error.name === "AbortError") return false;
    gone();
    return false;
  } finally {
    under.delete(ticket);
    showProgress();
  }
}

function gone() {
  if (at("gone")) return;
  const box = document.createElement("p");
  box.id = "gone";
  box.className = "verdict bad";
  box.setAttribute("role", "alert");
  box.textContent = "zcdp explore has ended. Start it again in the terminal, and open the address that it prints.";
  at("main").prepend(box);
}

// What comes back.

function problem(field, words) {
  const box = at(`${field}-problem`) || at("summary-problem") || at("page-problem");
  if (!box) return;
  box.textContent = words;
  box.hidden = !words;
  const control = at(field);
  if (control && control.tagName !== "SELECT") { // a choice that is refused is put back, and so is right again
    words ? control.setAttribute("aria-invalid", "true") : control.removeAttribute("aria-invalid");
  }
  markInvalid();
}

// What is typed wrongly is in no number and in no file: both say so as long as it stands there.

const invalid = () => [...document.querySelectorAll("input[aria-invalid]")];
const entries = (count) => (count === 1 ? "1 entry is not valid" : `${count} entries are not valid`);

function markInvalid() {
  const box = at("left-out"), count = invalid().length;
  if (!box) return;
  box.hidden = count === 0;
  box.textContent = count ? `${entries(count)}, and not counted: the numbers are those from before.` : "";
  if (known) at("state").textContent = known.changed ? "not saved yet" : count ? `saved, but ${entries(count)}` : "saved";
}

async function save() {
  while (sending || pending.size) await new Promise((soon) => setTimeout(soon, 10)); // of what was typed last, too
  const [first] = invalid();
  if (first) {
    problem("save", `Not saved: ${entries(invalid().length)}. Correct it first.`);
    first.closest("details")?.setAttribute("open", "");
    first.focus();
    return;
  }
  if (!document.querySelector("[data-do=save]").disabled) act("save", { name: at("save-name") ? at("save-name").value : "" });
}

let saying = 0;
function say(words) {
  clearTimeout(saying);
  saying = setTimeout(() => { at("said").textContent = words; }, 700);
}

function place(id, html) {
  const box = at(id);
  if (!box) return;
  const focus = document.activeElement;
  const inside = box.contains(focus) && focus.id;
  const unfolded = new Set([...box.querySelectorAll("details[open]")].map((one) => one.closest("[id]").id));
  box.innerHTML = html;
  for (const one of box.querySelectorAll("details")) if (unfolded.has(one.closest("[id]").id)) one.open = true;
  if (inside) {
    const again = at(inside);
    if (again) again.focus({ preventScroll: true });
  }
  box.removeAttribute("aria-busy");
  markInvalid(); // new rows have no old errors
}

function take(event) {
  for (const [id, html] of Object.entries(event.html || {})) place(id, html);
  for (const [id, value] of Object.entries(event.values || {})) {
    const field = at(id);
    if (!field || (field === document.activeElement && field.tagName === "INPUT")) continue;
    if (field.getAttribute("aria-invalid")) continue; // what is wrong stays, with its reason, until it is changed
    if (field.value !== value) field.value = value;
  }
  for (const [field, words] of Object.entries(event.problems || {})) problem(field, words);
  if (added && event.html && event.html.rows) { // a new query wants its name first
    added = false;
    const row = document.querySelector("#rows .row:last-child");
    row?.querySelector("details")?.setAttribute("open", "");
    row?.querySelector("[data-edit=name]")?.select();
  }
  if (taken !== null && event.html && event.html.rows) { // the button that was pressed is gone
    at(`kind-${taken}`)?.focus();
    taken = null;
  }
  if (event.error) problem("page", event.error);
  if (event.said) say(event.said);
  if (event.state) standing(event.state);
  if (event.values) document.querySelectorAll("[data-slides]").forEach(follow);
  document.dispatchEvent(new CustomEvent("numbers", { detail: event }));
}

let revision = 0, known = null;
function standing(state) {
  revision = state.revision;
  known = state;
  const set = (name, able) => { const one = document.querySelector(`[data-do=${name}]`); if (one) one.disabled = !able; };
  set("undo", state.undo);
  set("redo", state.redo);
  set("save", state.changed);
  at("file").textContent = state.file;
  markInvalid();
  if (state.named && at("save-name")) at("save-name").closest(".field").remove();
}

// Changes: one question at a time; what is changed meanwhile waits, the newest of each field alone.

const pending = new Map();
let added = false, taken = null;
let comparing = new AbortController();
let sending = false, gesture = 0, sharpening = null, resting = 0;

function change(edit) {
  pending.set(edit.field, edit);
  at("allocated").textContent = "";
  if (edit.row !== null) for (const one of at(`row-${edit.row}`)?.querySelectorAll("[aria-invalid]") || []) problem(one.id, "");
  comparing.abort();
  document.querySelectorAll(".which:not([hidden])").forEach(fold);
  if (!sending) pump();
}

async function pump() {
  sending = true;
  while (pending.size) {
    stopSharpening();
    problem("page", "");
    const edits = [...pending.values()];
    pending.clear();
    for (const one of edits) problem(one.field, "");
    document.querySelectorAll(".drawn").forEach((one) => one.setAttribute("aria-busy", "true")); // of the plan before
    await ask("edit", { edits, revision, window: me, gesture: `${me}/${gesture}` }, take);
  }
  sending = false;
  sharpen();
}

function stopSharpening() {
  clearTimeout(resting);
  resting = 0;
  if (sharpening) sharpening.abort();
  sharpening = null;
}

function sharpen() {
  stopSharpening();
  resting = setTimeout(async () => {
    resting = 0;
    const mine = sharpening = new AbortController();
    await ask("sharpen", {}, (event) => { if (!mine.signal.aborted) take(event); }, mine.signal);
  }, 40);
}

async function act(what, given = {}) {
  stopSharpening();
  gesture += 1;
  for (const one of ["allocate", "save", "page"]) problem(one, "");
  if (what !== "save") at("allocated").textContent = "";
  const pressed = document.activeElement;
  if (what !== "save") for (const one of invalid()) problem(one.id, ""); // the plan's own values take their place
  let conflict = false;
  await ask(what, { revision, window: me, ...given }, (event) => { conflict ||= event.conflict; take(event); });
  if (conflict) offerReload();
  if (pressed.disabled) (document.querySelector(".actions button:not([disabled])") || at("main")).focus();
  if (what !== "save") sharpen();
}

function offerReload() {
  const box = at("save-problem"), button = document.createElement("button");
  button.type = "button";
  button.textContent = "Take the file as it is now (yours can be undone to)";
  button.addEventListener("click", () => act("reload"));
  box.append(" ", button);
}

// Sliders speak in logarithms of the field beside them; to the right is always more noise.

function digits(value) {
  const text = String(Number(value.toPrecision(3)));
  return text.includes("e") ? text.replace("e+", "e") : text;
}

function slid(slider) {
  const low = Number(slider.dataset.low), high = Number(slider.dataset.high);
  const share = Number(slider.value) / Number(slider.max);
  return digits(10 ** (slider.dataset.rises === "1" ? low + (high - low) * share : high - (high - low) * share));
}

function follow(slider) {
  const field = at(slider.dataset.slides);
  if (!field) return;
  const value = Number(field.value), low = Number(slider.dataset.low), high = Number(slider.dataset.high);
  slider.disabled = !(value > 0);
  if (slider === document.activeElement || !(value > 0)) return;
  const share = (Math.log10(value) - low) / (high - low);
  slider.value = Number(slider.max) * (slider.dataset.rises === "1" ? share : 1 - share);
  slider.setAttribute("aria-valuetext", `${slider.getAttribute("aria-valuetext").split(" ")[0]} ${field.value}`);
}

function editOf(field) {
  const what = field.dataset.edit, row = field.dataset.row === undefined ? null : Number(field.dataset.row);
  const value = what === "budget" ? `${at("budget-kind").value}=${field.value}` : field.value;
  return { what, row, value, field: field.id };
}

function fold(box) {
  box.hidden = true;
  const button = document.querySelector(`[aria-controls=${box.id}]`);
  if (button) button.setAttribute("aria-expanded", "false");
}

function plan() {
  const LATER = new Set(["text", "name", "note", "uses", "title"]); // sent when one is done typing, not at each letter
  document.addEventListener("focusin", () => { gesture += 1; });
  document.addEventListener("pointerdown", () => { gesture += 1; });
  document.addEventListener("input", ({ target }) => {
    if (target.dataset.slides) {
      const field = at(target.dataset.slides);
      field.value = slid(target);
      target.setAttribute("aria-valuetext", `${target.getAttribute("aria-valuetext").split(" ")[0]} ${field.value}`);
      change(editOf(field));
    } else if (target.dataset.edit && target.tagName === "INPUT" && !LATER.has(target.dataset.edit)) {
      change(editOf(target));
    }
  });
  document.addEventListener("change", ({ target }) => {
    if (target.id === "budget-kind") { // a limit on the one is no limit on the other: it is typed anew
      const limit = at("budget-limit"), before = target.value === "rho" ? "\u03b5" : "\u03c1";
      limit.placeholder = limit.value ? `now ${before} ${limit.value}` : "";
      limit.value = "";
      limit.focus();
    } else if (target.dataset.edit && (target.tagName === "SELECT" || LATER.has(target.dataset.edit))) change(editOf(target));
  });
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    const { do: what, remove, take: kind, which } = button.dataset;
    if (what === "add") {
      added = true;
      change({ what: "add", row: null, value: "", field: "add" });
    } else if (what === "save") {
      save();
    } else if (what === "allocate") {
      act("allocate", { objective: at("objective").value });
    } else if (what) {
      act(what);
    } else if (remove !== undefined) {
      change({ what: "remove", row: Number(remove), value: "", field: `remove-${remove}` });
      at("queries-title").tabIndex = -1;
      at("queries-title").focus();
    } else if (kind) {
      taken = button.dataset.row;
      change({ what: "kind", row: Number(button.dataset.row), value: kind, field: `kind-${button.dataset.row}` });
    } else if (which !== undefined) {
      const box = at(`which-${which}`);
      if (!box.hidden) { comparing.abort(); fold(box); return; }
      document.querySelectorAll(".which:not([hidden])").forEach(fold);
      button.setAttribute("aria-expanded", "true");
      box.innerHTML = "<p class=\"soft\">Comparing\u2026</p>";
      box.hidden = false;
      comparing.abort();
      const mine = comparing = new AbortController();
      while (sending || pending.size) await new Promise((soon) => setTimeout(soon, 10)); // of the plan as it is shown
      if (mine.signal.aborted) return;
      ask("which", { row: Number(which) }, take, comparing.signal);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    const key = event.key.toLowerCase(), typing = event.target.tagName === "INPUT" && event.target.type !== "range";
    if (key === "s") { event.preventDefault(); save(); }
    if (key === "z" && !typing) { event.preventDefault(); act(event.shiftKey ? "redo" : "undo"); }
  });
  ask("show", {}, take).then(sharpen);
}

async function copied(button, code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    say("copied");
    button.firstChild.textContent = "Copied";
    setTimeout(() => { button.firstChild.textContent = "Copy"; }, 1500);
  } catch {
    getSelection().selectAllChildren(code);
    say("selected: copy it with the keyboard");
  }
}

// Understand, Train, Budget: a form whose every change asks anew, and figures that can be saved.

function remembered() {
  try { return JSON.parse(sessionStorage.getItem(area)) || {}; } catch { return {}; }
}

function remember(given) {
  try { sessionStorage.setItem(area, JSON.stringify(given)); } catch { /* a browser that is told to keep nothing */ }
}

function form() {
  const fields = document.querySelector("form[data-ask]"), last = remembered();
  for (const [name, value] of Object.entries(last)) { // what one looked at stands there again, as after a theorem
    if (name === "delta" && last.mechanism === "this plan") continue; // the plan's own, which may have changed
    if (fields.elements[name]) fields.elements[name].value = value;
  }
  let running = null;
  const send = async () => {
    if (running) running.abort();
    const mine = running = new AbortController();
    const given = Object.fromEntries(new FormData(fields));
    remember(given);
    const drawn = [...document.querySelectorAll(".drawn, #facts, #takes")];
    const unfinished = drawn.filter((one) => one.getAttribute("aria-busy")); // of a question that this one ends
    for (const one of drawn) one.setAttribute("aria-busy", "true");
    fields.querySelectorAll(".problem").forEach((one) => { one.hidden = true; });
    fields.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
    problem("page", "");
    await ask(fields.dataset.ask, given, (event) => {
      if (mine.signal.aborted) return;
      if (event.superseded) problem("page", "Another window has asked meanwhile: change a field to ask here again.");
      else take(event);
    }, mine.signal);
    if (mine.signal.aborted) return;
    for (const one of drawn.filter((one) => one.getAttribute("aria-busy"))) { // not drawn anew: a field says why
      if (unfinished.includes(one)) one.innerHTML = ""; // it may be of another question than what stands beside it
      one.removeAttribute("aria-busy");
    }
  };
  const soon = (milliseconds) => {
    clearTimeout(resting);
    resting = setTimeout(() => { resting = 0; send(); }, milliseconds);
  };
  fields.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  fields.addEventListener("input", ({ target }) => {
    if (target.dataset.clears && at(target.dataset.clears)) at(target.dataset.clears).value = "";
    if (target.dataset.slides) {
      const field = at(target.dataset.slides);
      field.value = target.dataset.whole ? String(Math.max(1, Math.round(Number(slid(target))))) : slid(target);
      target.setAttribute("aria-valuetext", field.value);
    } else {
      const slider = document.querySelector(`[data-slides=${target.id}]`);
      if (slider) follow(slider);
    }
    soon(target.dataset.slides ? 30 : 250);
  });
  fields.addEventListener("click", ({ target }) => {
    const example = target.closest("[data-example]");
    if (!example) return;
    at("mechanism").value = example.dataset.example;
    if (at("noise")) at("noise").value = "";
    if (example.dataset.delta) at("delta").value = example.dataset.delta; // the plan's own
    send();
  });
  document.querySelectorAll("[data-slides]").forEach(follow);
  send();
}

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font", "text-anchor", "paint-order"];

function saveSvg(button) {
  const shown = at(button.dataset.svg).querySelector("svg"), copy = shown.cloneNode(true);
  const originals = shown.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, n) => {
    const style = getComputedStyle(originals[n]);
    one.setAttribute("style", KEPT.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", `background:${getComputedStyle(document.body).backgroundColor}`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  link.download = `${button.dataset.svg}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-svg], [data-copy]");
  if (button) button.dataset.svg ? saveSvg(button) : copied(button, at(button.dataset.copy));
});

if (area === "plan") plan();
else if (document.querySelector("form[data-ask]")) form();
