"use strict";
// Filter as soon as a row is chosen. Select2 announces the choice through jQuery only.
django.jQuery(document).on("change", "#filters select", ({ target }) => target.form.submit());

// A phone shows the filters on demand.
const filters = document.getElementById("filters");
if (filters && matchMedia("(max-width: 767px)").matches) filters.open = false;

// On a phone, each row is a card, whose cells name their columns.
document.querySelectorAll("#result_list thead th").forEach(({ textContent }, column) => {
  document.querySelectorAll(`#result_list tbody tr > :nth-child(${column + 1})`).forEach((cell) => {
    cell.dataset.column = textContent.trim();
  });
});
