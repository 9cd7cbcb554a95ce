// Small helpers.  Text from the trace goes into text nodes and onto the canvas, nowhere else.

function element(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
		else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value);
	}
	e.append(...children.filter(child => child !== null && child !== undefined));
	return e;
}

// The name of a symbol is its title; words are their own name, and the title says more.
function button(label, title, action, attributes) {
	const named = !/\p{L}\p{L}/u.test(label) || title.startsWith(label);
	return element("button", { type: "button", title: title, "aria-label": named ? title : null, on: { click: action },
		...attributes }, label);
}

function clamp(x, low, high) {
	return x < low ? low : x > high ? high : x;
}

function threeDigits(x) {
	return x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}

// A duration, as the report writes it.
function duration(ns) {
	const a = Math.abs(ns);
	if (a < 999.5) return Math.round(ns) + " ns";
	if (a < 999.5e3) return threeDigits(ns / 1e3) + " \u00b5s";
	if (a < 999.5e6) return threeDigits(ns / 1e6) + " ms";
	if (a < 120e9) return threeDigits(ns / 1e9) + " s";
	return Math.floor(ns / 60e9) + "m" + String(Math.round(ns / 1e9) % 60).padStart(2, "0") + "s";
}

// A moment since the recording began: seconds, in groups of three digits, down to a step.
function moment(ns, step) {
	const digits = clamp(Math.ceil(-Math.log10(step / 1e9) - 1e-9), 0, 9);
	const [whole, part] = (Math.max(ns, 0) / 1e9).toFixed(digits).split(".");
	return whole + (part ? "." + part.replace(/(\d{3})(?=\d)/g, "$1\u2009") : "") + " s";
}

function percent(part, whole) {
	return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "";
}

function quantity(x, unit) {
	if (unit === "B") {
		for (const [size, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])
			if (Math.abs(x) >= size) return threeDigits(x / size) + " " + name;
		return Math.round(x) + " B";
	}
	if (unit === "mW") return threeDigits(x / 1000) + " W";
	return (Math.abs(x) >= 1e4 || Number.isInteger(x) ? Math.round(x).toLocaleString("en") : x.toPrecision(4)) +
		(unit ? " " + unit : "");
}

function shorten(text, length) {
	return text.length > length ? text.slice(0, length - 1) + "\u2026" : text;
}

function plural(n, what) {
	return n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");
}

// The first index whose value is not less than x.
function lowerBound(values, x, low, high) {
	while (low < high) {
		const middle = (low + high) >> 1;
		if (values[middle] < x) low = middle + 1;
		else high = middle;
	}
	return low;
}
