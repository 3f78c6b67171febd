"use strict";
// Copy the text of the element whose id is in data-copies, then show the text in data-copied.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch { // The clipboard API is available over HTTPS only.
    window.getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) return; // Leave the text selected, so that the user can copy it.
  }
  button.textContent = button.dataset.copied;
});
