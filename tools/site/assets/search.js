// Search in window.searchIndex, the button of the theme, and the menu of narrow screens. The index
// is loaded when somebody begins to search.
(function () {
  "use strict";
  var root = document.documentElement, top = root.dataset.top || "";
  var input = document.getElementById("search"), list = document.getElementById("results");

  function words(text) {
    return text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(function (w) { return w.length > 0; });
  }

  // A section counts if each word of the question begins a word of it. Titles count more than text.
  function score(section, asked) {
    var fields = section.words || (section.words = [words(section.p), words(section.h || ""), words(section.t)]);
    var sum = 0;
    for (var i = 0; i < asked.length; i++) {
      var best = 0;
      for (var f = 0; f < fields.length; f++) {
        for (var k = 0; k < fields[f].length; k++) {
          var w = fields[f][k];
          if (w.indexOf(asked[i]) === 0) best = Math.max(best, [8, 6, 1][f] + (w === asked[i] ? 2 : 0));
        }
      }
      if (best === 0) return 0;
      sum += best;
    }
    return sum + (section.h ? 0 : 1);
  }

  function excerpt(text, asked) {
    var at = text.toLowerCase().indexOf(asked[0]);
    var from = Math.max(0, at - 40);
    return (from > 0 ? "…" : "") + text.slice(from, from + 140) + (text.length > from + 140 ? "…" : "");
  }

  function find() {
    var asked = words(input.value);
    list.replaceChildren();
    list.hidden = asked.length === 0;
    if (list.hidden) return;
    var found = (window.searchIndex || []).map(function (s) { return { s: s, n: score(s, asked) }; })
      .filter(function (x) { return x.n > 0; })
      .sort(function (a, b) { return b.n - a.n; }).slice(0, 12);
    found.forEach(function (x) {
      var item = document.createElement("li"), a = document.createElement("a"), p = document.createElement("p");
      a.href = top + x.s.u;
      a.textContent = x.s.h ? x.s.p + " › " + x.s.h : x.s.p;
      p.textContent = excerpt(x.s.t, asked);
      item.append(a, p);
      list.append(item);
    });
    if (found.length === 0 && window.searchIndex) {
      var none = document.createElement("li");
      none.textContent = "Nothing found.";
      list.append(none);
    }
  }

  var asked = false;
  function load() {
    if (asked) return;
    asked = true;
    var script = document.createElement("script");
    script.src = top + "assets/index.js";
    script.onload = find;
    document.head.append(script);
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", function () { load(); find(); });
  input.addEventListener("keydown", function (e) {
    if (e.key === "Escape") { input.value = ""; find(); input.blur(); }
    if (e.key === "Enter" && list.querySelector("a")) location.href = list.querySelector("a").href;
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== input && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      input.focus();
    }
  });
  document.addEventListener("click", function (e) {
    if (!list.contains(e.target) && e.target !== input) list.hidden = true;
  });

  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch (e) { /* no storage */ }
  });
  if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".menu").removeAttribute("open");
})();
