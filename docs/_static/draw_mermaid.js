// Draws the diagrams of a page in the colours of the theme that is in use: downwards on a narrow screen, and never so
// small that they cannot be read.
const SMALLEST = 0.75; // of the natural size
const dark = document.body.dataset.theme === "dark"
  || (document.body.dataset.theme !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", fontFamily: getComputedStyle(document.body).fontFamily });

async function draw() {
  const diagrams = [...document.querySelectorAll("pre.mermaid")];
  if (window.matchMedia("(max-width: 46em)").matches) {
    for (const diagram of diagrams) {
      diagram.textContent = diagram.textContent.replace(/^(\s*(?:flowchart|direction)) LR/gm, "$1 TB");
    }
  }
  await mermaid.run({ nodes: diagrams });
  for (const picture of document.querySelectorAll("pre.mermaid svg")) {
    picture.style.minWidth = `${SMALLEST * parseFloat(picture.style.maxWidth)}px`;
  }
}
document.addEventListener("DOMContentLoaded", draw);
