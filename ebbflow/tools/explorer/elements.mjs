// Elements of a page, HTML and SVG, made in one call.
//
// Rule: what a program or its data say becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

const at = (id) => document.getElementById(id);

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A text as it fits into a box, by the width of a letter. */
function cut(text, width, letter) {
  const most = Math.floor((width - 14) / letter);
  return text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}…` : text;
}

export { at, cut, made, drawn };
