// What a person needs who does not see the page, or not well: names, contrast, a focus that shows.
//
// Rule: text has a contrast of 4.5 with what is painted behind it, 3 where it is large or drawn as a line to point out.
() => {
  const problems = [];
  const seen = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = text;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (one, other) => {
    const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const fills = (name) => colour(getComputedStyle(document.documentElement).getPropertyValue(name));
  const probed = document.createElement("i");
  document.body.append(probed);
  const variable = (name) => {
    probed.style.color = `var(${name})`;
    return colour(getComputedStyle(probed).color);
  };

  // names
  const controls = [...document.querySelectorAll("button, input, select, summary, [role=option], [role=slider], [role=gridcell], [role=grid], [role=region], meter")].filter(seen);
  for (const control of controls) {
    const named = control.getAttribute("aria-label") || control.closest("label")?.textContent.trim() || control.textContent.trim() || document.getElementById(control.getAttribute("aria-labelledby"))?.textContent.trim();
    if (!named) problems.push(`no name: ${control.outerHTML.slice(0, 90)}`);
  }
  for (const section of document.querySelectorAll("section")) {
    if (!document.getElementById(section.getAttribute("aria-labelledby"))?.textContent.trim()) problems.push(`a section has no heading: ${section.id}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) problems.push("an id is there twice");
  if (document.querySelectorAll("h1").length !== 1 || !document.title || !document.documentElement.lang) problems.push("no title, language or first heading");

  // contrast
  let texts = 0;
  const check = (element, ink, paper, least) => {
    texts += 1;
    const found = contrast(ink, paper);
    if (found < least) problems.push(`contrast ${found.toFixed(2)}: ${element.outerHTML.slice(0, 90)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(element) || ["SCRIPT", "STYLE", "TITLE"].includes(element.tagName.toUpperCase())) continue;
    if (element.closest("svg")) {
      if (element.closest(".later")) continue; // faded on purpose: what has not happened yet
      const ink = colour(getComputedStyle(element).fill);
      const box = element.closest("[aria-selected=true] , .chip, [role=option]")?.querySelector("rect");
      const papers = element.closest("#lattice") ? ["--paper", "--done", "--past"].map(variable) : box ? [colour(getComputedStyle(box).fill)] : [behind(element.closest("svg").parentElement)];
      for (const paper of papers) check(element, ink, paper, 4.5);
    } else check(element, colour(getComputedStyle(element).color), behind(element), 4.5);
  }
  for (const [line, paper] of [["--choice", "--past"], ["--edge", "--paper"], ["--edge", "--done"], ["--owed", "--paper"], ["--owed", "--past"], ["--go", "--past"], ["--soft", "--paper"]]) {
    const found = contrast(variable(line), variable(paper));
    if (found < 3) problems.push(`a line ${line} on ${paper} has contrast ${found.toFixed(2)}`);
  }

  // focus
  for (const control of document.querySelectorAll("button, input, select, [tabindex='0']")) {
    if (!seen(control) || control.disabled) continue;
    control.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== control) {
      problems.push(`cannot have the focus: ${control.outerHTML.slice(0, 90)}`);
      continue;
    }
    const outline = getComputedStyle(control).outlineStyle !== "none";
    const drawnBox = control.closest("svg") && control.querySelector("rect");
    if (!outline && !drawnBox) problems.push(`the focus does not show: ${control.outerHTML.slice(0, 90)}`);
  }
  probed.remove();
  return { texts, problems };
};
