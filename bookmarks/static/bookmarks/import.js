"use strict";
const form = document.getElementById("file-form");
const progress = document.getElementById("progress");
const report = document.getElementById("report");

// Show that the file is being sent and read, so that nobody sends it again meanwhile.
function showProgress(isWorking) {
  progress.hidden = !isWorking;
  for (const each of form.elements) { // also the button in the report
    if (each.type === "submit") each.disabled = isWorking;
  }
}

function show(...elements) {
  report.replaceChildren(...elements);
  report.focus();
  report.scrollIntoView();
}

// Show the text of one of the templates of the page.
function showProblem(name) {
  show(document.getElementById(`problem-${name}`).content.cloneNode(true));
}

function showResponse(request, isImport) {
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  if (request.status === 413) return showProblem("size");
  // Django has redirected to the form for logging in.
  if (new URL(request.responseURL).pathname !== location.pathname) return showProblem("session");
  const shown = page.querySelectorAll("#report > *, .errornote, .errorlist, body > main > *"); // the last is for error pages
  if (!shown.length) return showProblem("server");
  show(...shown);
  if (isImport && page.querySelector("#report > h2")) form.elements.file.value = ""; // for the next file
}

// Send the form without leaving the page, so that it keeps the chosen file and no page of a proxy replaces it.
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const bar = progress.querySelector("progress");
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", ({ loaded, total }) => { bar.value = loaded / total; });
  request.upload.addEventListener("load", () => bar.removeAttribute("value")); // The bar moves while the file is read.
  request.addEventListener("load", () => showResponse(request, event.submitter?.name === "import"));
  request.addEventListener("error", () => showProblem("network"));
  request.addEventListener("loadend", () => showProgress(false));
  request.open("POST", location.href);
  request.send(new FormData(form, event.submitter));
  showProgress(true);
});
