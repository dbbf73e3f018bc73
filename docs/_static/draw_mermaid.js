// Draws the diagrams of a page in the colours of the theme that is in use: downwards where they do not fit otherwise, and
// never so small that they cannot be read.
const SMALLEST = 0.75; // of the natural size
const dark = document.body.dataset.theme === "dark"
  || (document.body.dataset.theme !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", fontFamily: getComputedStyle(document.body).fontFamily });

const smallestWidth = (diagram) => SMALLEST * parseFloat(diagram.querySelector("svg").style.maxWidth);

async function draw() {
  const diagrams = [...document.querySelectorAll("pre.mermaid")];
  const downwards = new Map(diagrams.map((diagram) => [
    diagram,
    diagram.textContent.replace(/^(\s*(?:flowchart|direction)) LR/gm, "$1 TB"),
  ]));
  await mermaid.run({ nodes: diagrams });
  const cut = diagrams.filter((diagram) => smallestWidth(diagram) > diagram.clientWidth);
  for (const diagram of cut) {
    diagram.removeAttribute("data-processed"); // else Mermaid leaves it as it is
    diagram.textContent = downwards.get(diagram);
  }
  await mermaid.run({ nodes: cut });
  for (const diagram of diagrams) {
    diagram.querySelector("svg").style.minWidth = `${smallestWidth(diagram)}px`;
  }
}
document.addEventListener("DOMContentLoaded", draw);
