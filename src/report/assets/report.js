// Tables that can be sorted: a click on a heading puts the greatest first, a second the least, a
// third gives the order back that the report had.
"use strict";
(function () {
	var units = {
		"ns": 1e-9, "\u00b5s": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600,
		"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "k": 1e3, "M": 1e6, "G": 1e9, "%": 1
	};

	// "12.3 ms", "2m05s", "≥ 40": the number in its base unit; NaN where there is none.
	function amount(text) {
		var parts = text.match(/-?\d+(\.\d+)?(e[+-]?\d+)?\s*(ns|µs|ms|[kMGT]?B|[smhkMG%])?/g);
		if (!parts) return NaN;
		if (!/^\d+[mh]\d/.test(text.trim())) parts.length = 1;
		return parts.reduce(function (sum, part) {
			var unit = part.replace(/^[-\d.]+(e[+-]?\d+)?\s*/, "");
			return sum + parseFloat(part) * (units[unit] || 1);
		}, 0);
	}

	function comparison(column, numeric) {
		return function (a, b) {
			var x = a.cells[column] ? a.cells[column].textContent : "";
			var y = b.cells[column] ? b.cells[column].textContent : "";
			if (!numeric) return y.localeCompare(x);
			x = amount(x);
			y = amount(y);
			// What has no number comes last.
			return (isNaN(y) ? -Infinity : y) - (isNaN(x) ? -Infinity : x) || 0;
		};
	}

	function sort(table, heading, rows) {
		var column = heading.cellIndex;
		var order = { "descending": "ascending", "ascending": null }[heading.getAttribute("aria-sort")];
		var sorted = rows.slice();
		if (order === undefined) order = "descending";
		table.querySelectorAll("th").forEach(function (th) { th.removeAttribute("aria-sort"); });
		if (order) {
			heading.setAttribute("aria-sort", order);
			sorted.sort(comparison(column, heading.classList.contains("n")));
			if (order === "ascending") sorted.reverse();
		}
		sorted.forEach(function (row) { table.tBodies[0].appendChild(row); });
	}

	document.querySelectorAll("table").forEach(function (table) {
		var rows = Array.prototype.slice.call(table.tBodies[0].rows);
		if (rows.length < 2) return;
		table.querySelectorAll("th").forEach(function (heading) {
			var button = document.createElement("button");
			if (!heading.textContent) return;
			button.type = "button";
			button.title = "Sort";
			while (heading.firstChild) button.appendChild(heading.firstChild);
			heading.appendChild(button);
			button.addEventListener("click", function () { sort(table, heading, rows); });
		});
	});
})();
