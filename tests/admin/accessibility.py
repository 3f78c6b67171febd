"""Check pages with axe-core, at three widths and in both color schemes."""

from axe_playwright_python.base import AXE_SCRIPT

WIDTHS = (1440, 1024, 390)

RUN = """
// A change of the scheme starts animations of colors.
async ([options, ...exceptions]) => {
  for (const animation of document.getAnimations()) animation.finish();
  const exclude = exceptions.map(([rule, selector]) => ({ rule, nodes: [...document.querySelectorAll(selector)] }));
  const { violations } = await axe.run(options);
  return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => {
    const element = document.querySelector(target[0]);
    const excepted = exclude.some(({ rule, nodes }) => rule === id && nodes.includes(element));
    return { id, impact, excepted, node: target.join(" "), why: failureSummary.split("\\n").pop().trim() };
  }));
}
"""
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # It would load the style sheets again.
    "rules": {"target-size": {"enabled": True}},  # a rule of WCAG 2.2, which is off by default
}
COLORS = {**OPTIONS, "runOnly": ["color-contrast", "link-in-text-block"]}


def violations(page, exceptions=()):
    """Return what is wrong on the page as it is, by width and color scheme.

    All rules are checked at each width, and those about colors again in the dark scheme. Each of the exceptions has a
    rule and a selector of the elements for which that rule is ignored.
    """
    page.evaluate(AXE_SCRIPT)
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, options in (("light", OPTIONS), ("dark", COLORS)):
            page.emulate_media(color_scheme=scheme)
            found += [
                f"{width} px, {scheme}: {each['id']} ({each['impact']}): {each['node']}: {each['why']}"
                for each in page.evaluate(RUN, [options, *exceptions])
                if not each["excepted"]
            ]
    return found
