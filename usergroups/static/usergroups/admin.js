"use strict";
// Copies the text of another element: <button data-copies="its id">.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  window.getSelection().selectAllChildren(source);
  if (navigator.clipboard) await navigator.clipboard.writeText(source.textContent);
  else document.execCommand("copy"); // browsers give pages without https no clipboard
  button.textContent = "Copied";
  button.setAttribute("aria-live", "polite");
});
