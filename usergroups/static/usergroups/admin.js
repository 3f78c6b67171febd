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

// Show the first invalid field of a refused form. Wait for Select2, and for Django, which moves the focus to the first field.
window.addEventListener("load", () => {
  const field = document.querySelector("#content [aria-invalid=true]");
  if (!field) return;
  const section = field.closest("details");
  if (section) section.open = true;
  (field.nextElementSibling?.querySelector(".select2-selection") ?? field).focus();
});
