// The theme that the reader chose before, if any. Otherwise the browser decides.
(function () {
  "use strict";
  var chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch (e) { /* no storage */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
