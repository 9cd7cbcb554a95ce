// Tables that can be sorted: a click on a heading puts the greatest first, a second the least, a
// third gives the order back that the report had.  Rows of a tree stay below their parents.  Long
// ones can be searched.  Each finding becomes a card.
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
			var x = a.row.cells[column] ? a.row.cells[column].textContent : "";
			var y = b.row.cells[column] ? b.row.cells[column].textContent : "";
			if (!numeric) return y.localeCompare(x);
			x = amount(x);
			y = amount(y);
			// What has no number comes last.
			return (isNaN(y) ? -Infinity : y) - (isNaN(x) ? -Infinity : x) || 0;
		};
	}

	// How far a row is indented: by the report, before the name, which is an element of its own.
	function indent(row) {
		var first = row.cells[0].firstChild;
		return first && first.nodeType === Node.TEXT_NODE ? /^\u2003*/.exec(first.data)[0].length : 0;
	}

	// An indented row lies in the last one before it that is indented less.
	function tree(rows) {
		var root = { row: null, depth: -1, inside: [] };
		var path = [root];
		rows.forEach(function (row) {
			var depth = indent(row);
			var node = { row: row, depth: depth, inside: [] };
			while (path[path.length - 1].depth >= depth) path.pop();
			path[path.length - 1].inside.push(node);
			path.push(node);
		});
		return root;
	}

	function put(body, node, compare, turned) {
		if (compare) node.inside.sort(compare);
		if (turned) node.inside.reverse();
		if (node.row) body.appendChild(node.row);
		node.inside.forEach(function (child) { put(body, child, compare, turned); });
	}

	function sort(table, heading, rows) {
		var order = { "descending": "ascending", "ascending": null }[heading.getAttribute("aria-sort")];
		var compare = comparison(heading.cellIndex, heading.classList.contains("n"));
		if (order === undefined) order = "descending";
		table.querySelectorAll("th").forEach(function (th) { th.removeAttribute("aria-sort"); });
		if (order) heading.setAttribute("aria-sort", order);
		put(table.tBodies[0], tree(rows), order ? compare : null, order === "ascending");
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

	var LONG = 12; // rows

	// Rows that have all the words stay, and of a tree the rows around them.
	function filter(rows, text) {
		var words = text.toLowerCase().split(/\s+/).filter(Boolean);
		var around = [];
		rows.forEach(function (row) {
			var depth = indent(row);
			var said = row.textContent.toLowerCase();
			row.hidden = !words.every(function (word) { return said.indexOf(word) >= 0; });
			around.length = Math.min(around.length, depth);
			if (!row.hidden) around.forEach(function (above) { if (above) above.hidden = false; });
			around[depth] = row;
		});
	}

	document.querySelectorAll("table").forEach(function (table) {
		var rows = Array.prototype.slice.call(table.tBodies[0].rows);
		var input = document.createElement("input");
		if (rows.length < LONG) return;
		input.type = "search";
		input.className = "rows";
		input.placeholder = "Search " + rows.length + " rows";
		input.setAttribute("aria-label", "Search the rows of the table below");
		input.addEventListener("input", function () { filter(rows, input.value); });
		table.parentNode.before(input);
	});

	document.querySelectorAll("section > h3").forEach(function (heading) {
		var card = document.createElement("article");
		if (!/^\d+\. /.test(heading.textContent)) return;
		heading.before(card);
		card.className = "finding";
		do card.appendChild(card.nextSibling);
		while (card.nextSibling && !/^H[23]$/.test(card.nextSibling.nodeName));
	});
})();
