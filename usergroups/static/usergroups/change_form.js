"use strict";

// Load the page, or another one, before the form is sent. If it cannot be saved now, say why and keep what was typed. After
// another login, the form needs the new CSRF token.
function checkBefore(form) {
  const warning = document.getElementById("not-saved");
  let state = "";
  const refuse = (reason) => {
    state = "";
    for (const each of warning.children) each.hidden = each.dataset.reason !== reason;
    warning.hidden = false;
    warning.focus();
  };
  form.addEventListener("submit", async (event) => {
    if (state === "checked") return;
    event.preventDefault();
    if (state === "checking") return; // a double click
    state = "checking";
    const response = await fetch(form.dataset.check ?? location.href).catch(() => null);
    if (!response || response.status >= 500) return refuse("server");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.body.classList.contains("login")) return refuse("session");
    // Django redirects from the page of a deleted object.
    if (!form.dataset.check && !page.getElementById(form.id)) return refuse("deleted");
    form.elements.csrfmiddlewaretoken.value = page.querySelector("[name=csrfmiddlewaretoken]").value;
    state = "checked";
    form.requestSubmit(event.submitter);
  });
  return () => state === "checked";
}

// Warn before unsaved changes are lost.
function warnOfUnsavedChanges(form, isSubmitted) {
  const values = () => {
    const fields = new FormData(form);
    fields.delete("csrfmiddlewaretoken");
    return new URLSearchParams(fields).toString();
  };
  const saved = values();
  window.addEventListener("beforeunload", (event) => {
    if (!isSubmitted() && values() !== saved) event.preventDefault();
  });
}

function newElement(tag, className) {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}

// JSON gets the numbers of its lines. While it is typed, show what is wrong with it.
// The server checks it again, by stricter rules.
function editJson(area) {
  const editor = newElement("div", "json-editor");
  const numbers = newElement("div", "json-lines");
  const problem = newElement("div", "help json-problem");
  numbers.setAttribute("aria-hidden", "true");
  problem.setAttribute("role", "status");
  area.before(editor);
  editor.append(numbers, area);
  area.closest(".form-row").append(problem);

  const update = () => {
    numbers.textContent = area.value.split("\n").map((_, index) => index + 1).join("\n");
  };
  const check = () => {
    area.closest(".form-row").querySelector(".errorlist")?.remove(); // It has the place of an error in the former text.
    problem.textContent = "";
    try {
      if (area.value.trim()) JSON.parse(area.value);
    } catch (error) {
      // The browser's messages are in English.
      problem.textContent = document.documentElement.lang.startsWith("en") ? error.message : area.dataset.invalid;
    }
  };
  area.addEventListener("input", () => { update(); check(); });
  area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });
  update();
}

// Wait for Select2, which sets its fields late.
window.addEventListener("load", () => {
  const confirmation = document.getElementById("confirmation");
  if (confirmation) checkBefore(confirmation);
  const form = document.querySelector(".change-form #content-main > form[method=post]");
  if (!form) return;
  warnOfUnsavedChanges(form, checkBefore(form));
  for (const area of form.querySelectorAll("textarea.json")) {
    editJson(area);
  }
});
