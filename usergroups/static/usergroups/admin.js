"use strict";
// Copy the text of the element whose id is in data-copies, then show the text in data-copied.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).innerText); // Browsers allow this over HTTPS only.
  button.textContent = button.dataset.copied;
});

// Let a reload of the page with new secrets open another page, and not send the form again.
document.addEventListener("DOMContentLoaded", () => {
  const secrets = document.getElementById("secrets");
  if (secrets) window.history.replaceState(null, "", secrets.dataset.reload);
});

// Warn before unsaved changes are lost, such as restored values. Wait for Select2, which sets its fields late.
window.addEventListener("load", () => {
  const form = document.querySelector(".change-form #content-main > form[method=post]");
  if (!form) return;
  const values = () => new URLSearchParams(new FormData(form)).toString();
  const saved = new URLSearchParams(location.search).has("restore") ? "" : values();
  let isSubmitted = false;
  form.addEventListener("submit", () => { isSubmitted = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!isSubmitted && values() !== saved) event.preventDefault();
  });
});

// Show the first invalid field of a refused form. Wait for Select2, and for Django, which moves the focus to the first field.
window.addEventListener("load", () => {
  const field = document.querySelector("#content [aria-invalid=true]");
  if (!field) return;
  const section = field.closest("details");
  if (section) section.open = true;
  (field.nextElementSibling?.querySelector(".select2-selection") ?? field).focus();
});

// Check JSON while it is typed. The server checks it again, by stricter rules.
document.addEventListener("input", ({ target }) => {
  if (!target.matches("textarea.json")) return;
  let problem = "";
  try {
    if (target.value.trim()) JSON.parse(target.value);
  } catch (error) {
    problem = error.message;
  }
  const row = target.closest(".form-row");
  let shown = row.querySelector(".json-problem");
  if (!shown) {
    shown = document.createElement("p");
    shown.className = "json-problem";
    shown.lang = "en"; // the language of the browser's messages
    shown.setAttribute("role", "status");
    row.append(shown);
  }
  shown.textContent = problem;
});
