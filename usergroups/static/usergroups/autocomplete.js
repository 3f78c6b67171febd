"use strict";
// Give the boxes of Select2 the label of the field as accessible name. Select2 names them after their value only.
{
  const $ = django.jQuery;
  const labelOf = (select) => select.labels[0]?.textContent.trim().replace(/:$/, "") ?? "";

  const nameBox = (select) => {
    const value = select.nextElementSibling?.querySelector(".select2-selection__rendered");
    if (!value) return;
    const box = value.closest(".select2-selection");
    box.id = `${value.id}-box`;
    box.setAttribute("aria-label", labelOf(select));
    box.setAttribute("aria-labelledby", `${box.id} ${value.id}`);
    value.removeAttribute("role"); // It is not an input. The box has a role.
    value.removeAttribute("aria-readonly");
  };
  $(() => document.querySelectorAll("select.admin-autocomplete").forEach(nameBox)); // after Django has made the boxes

  $(document).on("select2:open", ({ target }) => {
    const box = target.nextElementSibling.querySelector(".select2-selection");
    box.setAttribute("aria-controls", box.getAttribute("aria-owns"));
    document.querySelectorAll(".select2-container--open :is(.select2-search__field, [role=listbox])").forEach((part) => {
      part.setAttribute("aria-label", labelOf(target));
    });
  });
}
