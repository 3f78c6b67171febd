"use strict";
// Give the question marks of Django's boxes for groups and permissions the role that their name needs.
window.addEventListener("load", () => {
  document.querySelectorAll(".help-tooltip[aria-label]").forEach((mark) => mark.setAttribute("role", "img"));
});
