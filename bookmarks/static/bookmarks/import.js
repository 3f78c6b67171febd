"use strict";
const form = document.getElementById("file-form");

// Show that the file is being read, so that nobody sends it again meanwhile.
function showProgress(isWorking) {
  document.getElementById("progress").hidden = !isWorking;
  for (const button of form.querySelectorAll("[type=submit]")) button.disabled = isWorking;
}

form.addEventListener("submit", async (event) => {
  const data = new FormData(form, event.submitter);
  if (event.submitter?.name !== "check") {
    // A disabled button would not be sent.
    setTimeout(showProgress, 0, true);
    return;
  }
  // Show the report of a check without leaving the page, so that the form keeps the chosen file.
  event.preventDefault();
  showProgress(true);
  try {
    const response = await fetch(form.action, { method: "POST", body: data });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const shown = page.querySelectorAll("#report > *, .errornote, .errorlist, body > main > *"); // the last is for error pages
    const report = document.getElementById("report");
    report.replaceChildren(...shown);
    report.scrollIntoView();
  } finally {
    showProgress(false);
  }
});

// The browser may show the page as it was when somebody goes back to it.
window.addEventListener("pageshow", () => showProgress(false));
