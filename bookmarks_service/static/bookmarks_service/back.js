"use strict";
// Show the button to go back if there is a page to go back to. The form on that page still has what was entered.
const back = document.getElementById("back");
back.hidden = window.history.length < 2;
back.addEventListener("click", () => window.history.back());
