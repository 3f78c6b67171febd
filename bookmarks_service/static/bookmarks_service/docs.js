"use strict";
// Show Swagger UI in the theme that was chosen in the admin, or in the color scheme of the browser.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function setScheme() {
  const theme = localStorage.getItem("theme");
  document.documentElement.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && dark.matches));
}
dark.addEventListener("change", setScheme);
setScheme();
