"use strict";
// Copy the text of the element whose id is in data-copies, then show the text in data-copied.
let isCopied = false;
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent); // Browsers allow this over HTTPS only.
  button.textContent = button.dataset.copied;
  isCopied = true;
});
document.addEventListener("copy", () => { isCopied = true; });

document.addEventListener("DOMContentLoaded", () => {
  // Let a reload of the page with new secrets open another page, and not send the form again. Warn before secrets are lost.
  const secrets = document.getElementById("secrets");
  if (secrets) {
    window.history.replaceState(null, "", secrets.dataset.reload);
    window.addEventListener("beforeunload", (event) => { if (!isCopied) event.preventDefault(); });
  }

  // Count the checked rows of a confirmation.
  const counter = document.getElementById("checked");
  counter?.parentElement.addEventListener("change", () => {
    const [label, number, used] = counter.children;
    const show = (element, selector) => {
      element.textContent = document.querySelectorAll(`[name=confirmed]${selector}:checked`).length;
    };
    label.textContent = label.dataset.checked;
    show(number, "");
    if (used) show(used, "[data-used]");
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
