"use strict";
// The search field in the header: the key "/" moves to it, and a list's search form sends secrets through it.
(() => {
  const form = document.getElementById("find");
  const field = document.getElementById("find-text");
  const typing = "input:not([type=checkbox], [type=radio], [type=submit], [type=file]), textarea, select, [contenteditable]";

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(typing)) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  // The search form of a list uses GET, which would put the secret into the address.
  document.getElementById("changelist-search")?.addEventListener("submit", (event) => {
    const searched = event.target.elements.q.value;
    if (!new RegExp(form.dataset.secrets).test(searched)) return;
    event.preventDefault();
    field.value = searched;
    form.submit();
  });
})();
