// Draws the diagrams of a page in the colours of the theme that is in use.
const dark = document.body.dataset.theme === "dark"
  || (document.body.dataset.theme !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", fontFamily: getComputedStyle(document.body).fontFamily });
document.addEventListener("DOMContentLoaded", () => mermaid.run({ querySelector: "pre.mermaid" }));
