"use strict";
// Show the report of a check without leaving the page, so that the form keeps the chosen file.
document.getElementById("file-form").addEventListener("submit", async (event) => {
  if (event.submitter?.name !== "check") return;
  event.preventDefault();
  const response = await fetch(event.target.action, { method: "POST", body: new FormData(event.target, event.submitter) });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const shown = page.querySelectorAll("#report > *, .errornote, .errorlist, body > main > *"); // the last is for error pages
  const report = document.getElementById("report");
  report.replaceChildren(...shown);
  report.scrollIntoView();
});
