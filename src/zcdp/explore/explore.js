// The page of `zcdp explore`: sends what was changed, and puts what comes back in its place. Nothing is computed here.
"use strict";

const area = document.body.dataset.area;
const me = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("");
const at = (id) => document.getElementById(id);

// Questions: one POST each, answered by a stream of lines of JSON.

const SLOW = 1000; // milliseconds after which a person sees that something is under way
const under = new Map();

// Whether nothing is under way, nor about to be: for tests that look at the page.
globalThis.isQuiet = () => under.size === 0 && pending.size === 0 && !sending && !acting && !resting;

function showProgress() {
  const box = at("progress");
  const late = [...under.values()].filter((one) => performance.now() - one.since >= SLOW);
  box.hidden = late.length === 0;
  document.body.classList.toggle("late", late.length > 0); // then what is of another question goes out of sight
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
      if (answer.status === 409) await asItIs(); // as another window left it
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
    ended();
    return false;
  } finally {
    under.delete(ticket);
    showProgress();
  }
}

function ended() {
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
  if (!known) return;
  at("state").textContent = known.changed ? "not saved yet" : count ? `saved, but ${entries(count)}` : "saved";
  document.querySelector("[data-do=undo]").disabled = !known.undo && toPutBack().length === 0;
}

function refused(what, done) { // what is typed wrongly is corrected first
  const [first] = invalid();
  if (!first) return false;
  problem(what, `${done}: ${entries(invalid().length)}. Correct it first.`);
  first.closest("details")?.setAttribute("open", "");
  first.focus();
  return true;
}

async function save() {
  await idle(); // what was typed last is in it too
  if (refused("save", "Not saved")) return;
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
  if (id === "rows" || id === "heading") { // people type in these: what stays is changed, not made anew
    const fresh = box.cloneNode(false);
    fresh.innerHTML = html;
    morph(box, fresh);
  } else {
    const focus = document.activeElement;
    const inside = box.contains(focus) && focus.id;
    const unfolded = new Set([...box.querySelectorAll("details[open]")].map((one) => one.closest("[id]").id));
    box.innerHTML = html;
    for (const one of box.querySelectorAll("details")) if (unfolded.has(one.closest("[id]").id)) one.open = true;
    if (inside) at(inside)?.focus({ preventScroll: true });
  }
  box.removeAttribute("aria-busy");
  markInvalid();
}

// A field in which a person types is theirs. Its element stays in the page while rows are redrawn, with its text, its
// selection and its history; and what the server says of it waits until it is left, or its own answer has come.

const typed = new Set(); // fields whose text has no answer yet
const told = new WeakMap(); // what the server last said of each
let byTitle = false, forced = false;

function give(field, value) {
  told.set(field, value);
  const own = field === document.activeElement && field.tagName === "INPUT";
  if (!forced && (own || typed.has(field) || field.getAttribute("aria-invalid"))) return; // what is wrong stays, too
  if (field.value !== value) field.value = value;
}

const stem = (id) => id.replace(/-\d+$/, ""); // rows have other numbers when one above is removed

function alike(one, other) {
  if (one.nodeName !== other.nodeName || one.nodeType !== 1) return one.nodeName === other.nodeName;
  if (one.className !== other.className || stem(one.id) !== stem(other.id)) return false;
  const title = (row) => row.querySelector("h3")?.textContent;
  return !(byTitle && one.className === "row") || title(one) === title(other);
}

function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.className === "problem" && at(fresh.id.slice(0, -8))?.getAttribute("aria-invalid")) { // still said
    old.id = fresh.id;
    return;
  }
  const kept = new Set(["value", "aria-invalid", "open"]), input = old.tagName === "INPUT";
  if (input && old.type === "range" && old === document.activeElement) for (const name of ["data-low", "data-high"]) kept.add(name);
  for (const { name } of [...old.attributes]) if (!kept.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.id === "rows") byTitle &&= old.children.length !== fresh.children.length;
  let here = old.firstChild;
  for (const node of [...fresh.childNodes]) {
    let twin = here;
    while (twin && !alike(twin, node)) twin = twin.nextSibling;
    if (!twin) {
      old.insertBefore(node, here);
      continue;
    }
    while (here !== twin) here = gone(here);
    here = twin.nextSibling;
    morph(twin, node);
  }
  while (here) here = gone(here);
  if (input && old.dataset.edit) give(old, fresh.value);
  else if (old.tagName === "SELECT" && !pending.has(old)) old.value = fresh.value;
}

function gone(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function take(event) {
  for (const [id, html] of Object.entries(event.html || {})) place(id, html);
  for (const [id, value] of Object.entries(event.values || {})) if (at(id)) give(at(id), value);
  for (const [field, words] of Object.entries(event.problems || {})) problem(field, words);
  if (event.error) problem("page", event.error);
  if (event.said) say(event.said);
  if (event.state) standing(event.state);
  if (event.values) document.querySelectorAll("[data-slides]").forEach(follow);
  if (event.html?.summary) showBefore();
  document.dispatchEvent(new CustomEvent("numbers", { detail: event }));
}

async function asItIs() { // the plan as the server has it, also in the fields
  pending.clear();
  typed.clear();
  for (const one of invalid()) problem(one.id, "");
  forced = byTitle = true;
  await ask("show", {}, take);
  forced = byTitle = false;
}

// What the plan cost before the last change, beside what it costs now.

let was = null, since = -1;
const costs = () => ["epsilon", "rho"].map((id) => at(id)?.textContent);

function remarkBefore() { // of a whole gesture, as Undo takes it back
  if (since === gesture) return;
  since = gesture;
  was = costs();
}

function showBefore() {
  const [epsilon, rho] = was || [], now = costs(), box = at("was");
  box.hidden = !epsilon || !now[0] || (epsilon === now[0] && rho === now[1]);
  box.textContent = box.hidden ? "" : `Before this change: \u03b5 ${epsilon}, \u03c1 ${rho}.`;
}

let revision = 0, known = null;
function standing(state) {
  revision = state.revision;
  known = state;
  const set = (name, able) => { const one = document.querySelector(`[data-do=${name}]`); if (one) one.disabled = !able; };
  set("redo", state.redo);
  set("save", state.changed);
  at("file").textContent = state.file;
  markInvalid();
  if (state.named && at("save-name")) at("save-name").closest(".field").remove();
}

// Changes: one question at a time. A field that is changed meanwhile waits, and what stands in it then is what is sent.

const pending = new Map(); // from the field, or the button, to the value that it was pressed for
const asked = new Map(); // from a field to the text whose answer is on its way
const VIEWS = new Set(["noise", "sd", "half", "text", "kind"]); // of one mechanism: each follows from each
let comparing = new AbortController();
let sending = false, acting = 0, gesture = 0, sharpening = null, resting = 0;
let turn = Promise.resolve();

const inTurn = (work) => { const mine = turn.then(work); turn = mine.catch(() => {}); return mine; };

async function idle() {
  while (sending || pending.size || acting) await new Promise((soon) => setTimeout(soon, 10));
}

function change(field, value = null) {
  pending.set(field, value);
  at("allocated").textContent = at("removed").textContent = "";
  const views = VIEWS.has(field.dataset.edit) ? field.closest(".row")?.querySelectorAll("[data-edit][aria-invalid]") : [];
  for (const one of views || []) if (VIEWS.has(one.dataset.edit)) problem(one.id, "");
  comparing.abort();
  document.querySelectorAll(".which:not([hidden])").forEach(fold);
  if (!sending) pump();
}

function toSend() { // of what waits; a query is removed alone, as all below it get other numbers
  const found = [];
  for (const [field, value] of pending) {
    const edit = editOf(field, value);
    if (edit.what === "remove" && found.length) break;
    pending.delete(field);
    if (!field.isConnected) { typed.delete(field); continue; }
    found.push({ field, value, text: field.value, edit });
    if (edit.what === "remove") break;
  }
  return found;
}

async function pump() {
  sending = true;
  await inTurn(async () => {
    while (pending.size) await send();
    sending = false;
  });
  sharpen();
}

async function send() {
  stopSharpening();
  problem("page", "");
  const sent = toSend();
  if (!sent.length) return;
  remarkBefore();
  for (const one of sent) {
    problem(one.edit.field, "");
    asked.set(one.field, one.text);
  }
  document.querySelectorAll(".drawn").forEach((one) => one.setAttribute("aria-busy", "true")); // of the plan before
  let answered = false, again = false;
  const before = revision, edits = sent.map((one) => one.edit);
  const heard = await ask("edit", { edits, revision, window: me, gesture: `${me}/${gesture}` }, (event) => {
    again ||= event.superseded;
    answered ||= event.html || event.problems;
    if (event.html || event.problems) answer(sent, event);
    else take(event);
  });
  asked.clear();
  if (again) { // another window has asked in the same moment
    const later = [...pending];
    pending.clear();
    for (const [field, value] of [...sent.map((one) => [one.field, one.value]), ...later]) pending.set(field, value);
  } else if (!answered && (heard || before === revision)) {
    for (const one of sent) if (one.edit.value !== "") problem(one.edit.field, "This was not taken: type it again.");
  }
}

function answer(sent, event) {
  const problems = event.problems || {};
  for (const { field, text, edit } of sent) {
    if (field.value === text) typed.delete(field);
    else delete problems[edit.field]; // it is another text by now, whose answer comes
    if (edit.what === "budget") typed.delete(at("budget-kind"));
    if (edit.what === "remove" && !problems[edit.field]) {
      const row = field.closest(".row");
      at("removed").textContent = `${row.querySelector("h3").textContent} was removed. Undo takes it back.`;
      row.remove();
    }
  }
  take(event);
  const added = sent.find((one) => one.edit.what === "add");
  if (!added || problems.add || ![added.field, document.body].includes(document.activeElement)) return;
  const row = document.querySelector("#rows .row:last-child"); // a new query wants its name first
  row?.querySelector("details")?.setAttribute("open", "");
  row?.querySelector("[data-edit=name]")?.select();
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
  const pressed = document.activeElement;
  acting += 1;
  await inTurn(() => carryOut(what, given, pressed)); // after what was typed before it
  acting -= 1;
  if (what !== "save") sharpen();
}

async function carryOut(what, given, pressed) {
  stopSharpening();
  gesture += 1;
  for (const one of ["allocate", "save", "page"]) problem(one, "");
  if (what !== "save") at("allocated").textContent = at("removed").textContent = "";
  if (what === "allocate" && refused("allocate", "Not allocated")) return;
  const wrong = toPutBack();
  if (what !== "save") putBack(wrong); // the plan's own values take their place, which is all that Undo undoes then
  if (what !== "save") remarkBefore();
  if (what !== "undo" || !wrong.length) {
    let conflict = false, again = false;
    byTitle = true;
    await ask(what, { revision, window: me, ...given }, (event) => {
      conflict ||= event.conflict;
      again ||= event.superseded;
      take(event);
    });
    byTitle = false;
    if (again) { // another window has asked in the same moment
      await asItIs();
      if (what === "allocate") problem("page", "The plan was changed in another window: allocate again.");
    }
    if (conflict) offerReload();
  }
  if (pressed.disabled) (what === "save" ? at("file").parentElement : document.querySelector(".actions button:not([disabled])") || at("main")).focus();
}

function toPutBack() { // what is not valid, or only half chosen
  const limit = at("budget-limit");
  return typed.has(at("budget-kind")) ? [...new Set([...invalid(), limit])] : invalid();
}

function putBack(fields) {
  for (const field of fields) {
    typed.delete(field);
    problem(field.id, "");
    if (told.has(field)) field.value = told.get(field);
    if (field.id !== "budget-limit") continue;
    field.placeholder = "";
    typed.delete(at("budget-kind"));
    if (told.has(at("budget-kind"))) at("budget-kind").value = told.get(at("budget-kind"));
  }
  document.querySelectorAll("[data-slides]").forEach(follow);
  markInvalid();
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

function number(text) { // as a field takes it: also 1/3 and log(3)
  const log = /^\s*log\((.+)\)\s*$/.exec(text), [above, below] = text.split("/");
  return log ? Math.log(number(log[1])) : below === undefined ? Number(text) : Number(above) / Number(below);
}

function follow(slider) {
  const field = at(slider.dataset.slides);
  if (!field) return;
  const value = number(field.value);
  slider.disabled = !(value > 0 && value < Infinity);
  if (slider === document.activeElement || slider.disabled) return;
  const far = Math.log10(30), here = Math.log10(value);
  if (field.dataset.edit && !(here >= Number(slider.dataset.low) && here <= Number(slider.dataset.high))) {
    slider.dataset.low = here - far; // one that is left behind begins anew around what was typed
    slider.dataset.high = here + far;
  }
  const low = Number(slider.dataset.low), high = Number(slider.dataset.high);
  const share = (here - low) / (high - low);
  slider.value = Number(slider.max) * (slider.dataset.rises === "1" ? share : 1 - share);
  slider.setAttribute("aria-valuetext", `${slider.getAttribute("aria-valuetext").split(" ")[0]} ${field.value}`);
}

function editOf(field, value) {
  const row = field.closest(".row"), n = row ? Number(row.id.slice(4)) : null;
  if (field.dataset.do === "add") return { what: "add", row: null, value: "", field: "add" };
  if (field.dataset.remove !== undefined) return { what: "remove", row: n, value: "", field: `remove-${n}` };
  const what = field.dataset.edit, now = value === null ? field.value : value;
  return { what, row: n, value: what === "budget" ? `${at("budget-kind").value}=${now}` : now, field: field.id };
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
      typed.add(field);
      change(field);
    } else if (target.dataset.edit && target.tagName === "INPUT") {
      typed.add(target);
      if (!LATER.has(target.dataset.edit)) change(target);
    }
  });
  document.addEventListener("change", ({ target }) => {
    if (target.id === "budget-kind") { // a limit on the one is no limit on the other: it is typed anew
      const limit = at("budget-limit"), before = target.value === "rho" ? "\u03b5" : "\u03c1";
      limit.placeholder = limit.value ? `now ${before} ${limit.value}` : "";
      limit.value = "";
      typed.add(target);
      typed.add(limit);
      markInvalid();
      limit.focus();
    } else if (target.dataset.edit && (target.tagName === "SELECT" || LATER.has(target.dataset.edit))) change(target);
  });
  document.addEventListener("focusout", ({ target }) => {
    if (!told.has(target) || target.tagName !== "INPUT" || pending.has(target)) return;
    if (typed.has(target)) { // nothing stays that was neither sent nor told
      if (target.value === told.get(target)) typed.delete(target);
      else if (asked.get(target) !== target.value) change(target);
    } else if (!target.getAttribute("aria-invalid") && target.value !== told.get(target)) {
      target.value = told.get(target);
      document.querySelectorAll("[data-slides]").forEach(follow);
    }
  });
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    const { do: what, remove, take: kind, which } = button.dataset;
    if (what === "add") {
      if (!pending.has(button) && !asked.has(button)) change(button);
    } else if (what === "save") {
      save();
    } else if (what === "allocate") {
      act("allocate", { objective: at("objective").value });
    } else if (what) {
      act(what);
    } else if (remove !== undefined) {
      change(button);
      at("queries-title").tabIndex = -1;
      at("queries-title").focus();
    } else if (kind) {
      const chosen = at(`kind-${button.dataset.row}`);
      chosen.focus(); // the button that was pressed goes
      change(chosen, kind);
    } else if (which !== undefined) {
      const box = at(`which-${which}`);
      if (!box.hidden) { comparing.abort(); fold(box); return; }
      document.querySelectorAll(".which:not([hidden])").forEach(fold);
      button.setAttribute("aria-expanded", "true");
      box.innerHTML = "<p class=\"soft\">Comparing\u2026</p>";
      box.hidden = false;
      comparing.abort();
      const mine = comparing = new AbortController();
      await idle(); // of the plan as it is shown
      if (mine.signal.aborted) return;
      ask("which", { row: Number(which) }, take, comparing.signal);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT") gesture += 1; // what is typed after it is another step
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
  addEventListener("pagehide", () => remember(Object.fromEntries(new FormData(fields))));
  let noise = ""; // as typed, while that for a target is looked for
  const send = async () => {
    if (running) running.abort();
    if (fields.elements.target && fields.elements.sigma.value) noise = fields.elements.sigma.value;
    const mine = running = new AbortController();
    const given = Object.fromEntries(new FormData(fields));
    remember(given);
    if (given.target?.trim() && fields.elements.sigma !== document.activeElement) { // its noise is not known yet
      fields.elements.sigma.value = "";
      document.querySelectorAll("[data-slides]").forEach(follow);
    }
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
    if (fields.elements.target && !fields.elements.sigma.value && noise) fields.elements.sigma.value = noise;
    document.querySelectorAll("[data-slides]").forEach(follow);
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
    if (target.id === "target" && !target.value.trim() && !at("sigma").value) at("sigma").value = noise;
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
