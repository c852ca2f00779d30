// A box above the list of rules: rows that lack one of its words are hidden, and headings above nothing.
(function () {
  "use strict";
  var title = document.querySelector("h1");
  if (!title || !/\/rules\/(index\.html)?$/.test(location.pathname)) return;
  var box = document.createElement("input");
  box.type = "search";
  box.className = "rule-filter";
  box.placeholder = "Filter: gpu spot error fix …";
  box.setAttribute("aria-label", "Filter the rules");
  title.after(box);
  function show(node, shown) { node.style.display = shown ? "" : "none"; }
  function filter() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (var above = box.nextElementSibling; above && above.tagName !== "H2"; above = above.nextElementSibling) {
      show(above, words.length === 0);
    }
    document.querySelectorAll(".md-content h2").forEach(function (heading) {
      var left = 0;
      var about = heading.textContent.toLowerCase();
      for (var node = heading.nextElementSibling; node && node.tagName !== "H2"; node = node.nextElementSibling) {
        node.querySelectorAll("tbody tr").forEach(function (row) {
          var text = about + " " + row.textContent.toLowerCase();
          var kept = words.every(function (word) { return text.indexOf(word) >= 0; });
          show(row, kept);
          left += kept ? 1 : 0;
        });
        show(node, words.length === 0 || left > 0 && node.querySelector("tbody"));
      }
      show(heading, words.length === 0 || left > 0);
    });
  }
  box.addEventListener("input", filter);
  box.value = decodeURIComponent(location.hash.indexOf("#?") === 0 ? location.hash.slice(2) : "");
  filter();
})();
