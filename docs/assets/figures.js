// Explorer pages in the text: a link to explore/NAME.html gets the page itself above it, in a frame.
//
// Rule: without this script the link still leads to the page.
const theme = () => (document.body.dataset.mdColorScheme === "slate" ? "#dark" : "#light");
const frames = [];

for (const link of document.querySelectorAll('a[href*="explore/"][href$=".html"]')) {
  const frame = document.createElement("iframe");
  frame.dataset.page = link.href.replace(/\.html$/, "-figure.html");
  frame.src = frame.dataset.page + theme();
  frame.loading = "lazy";
  frame.className = "explorer";
  frame.title = `Explorer: ${link.href.replace(/^.*\/|\.html$/g, "")}`;
  link.closest("p").before(frame);
  frames.push(frame);
}
window.addEventListener("message", ({ data, source }) => {
  const frame = frames.find((one) => one.contentWindow === source);
  if (frame && Number.isFinite(data?.ebbflow)) frame.style.height = `${Math.min(Math.max(data.ebbflow, 120), 1400) + 2}px`;
});
new MutationObserver(() => {
  for (const frame of frames) frame.contentWindow.location.replace(frame.dataset.page + theme());
}).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
