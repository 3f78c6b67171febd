"use strict";
// Copies the text of another element: <button data-copies="its id">.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch { // browsers give pages without https no clipboard
    window.getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) return; // what is selected can be copied by hand
  }
  button.textContent = "Copied";
});
