// Colours, from the page's style so that light and dark are decided in one place.

const PALETTE_LIGHT = ["#8fb8de", "#a9c7a0", "#d9b38c", "#c3aed6", "#9fc9c6", "#d8a7b1", "#b7b7a4", "#a7bde0",
	"#c9cba3", "#e0b7a0", "#9db4c0", "#b8c9e1"];
const PALETTE_DARK = ["#3d6187", "#4d6e45", "#7d5c38", "#664f80", "#3f6e6b", "#7b4953", "#5f5f4d", "#4a5f86",
	"#6c6e43", "#835a44", "#47606d", "#56698a"];
const CLASS_COLOURS = CLASSES;

class Theme {
	constructor() {
		this.names = new Map();
		this.colours = [];
		this.read();
	}

	read() {
		const style = getComputedStyle(document.documentElement);
		const value = name => style.getPropertyValue("--" + name).trim();
		this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
		this.ink = value("ink");
		this.soft = value("soft");
		this.line = value("line");
		this.card = value("card");
		this.page = value("page");
		this.accent = value("accent");
		this.accentSoft = value("accent-soft");
		this.mark = value("mark");
		this.classes = CLASS_COLOURS.map(value);
		this.palette = this.dark ? PALETTE_DARK : PALETTE_LIGHT;
		this.colours = [];
	}

	ofClass(name) {
		return this.classes[CLASSES.indexOf(name)];
	}

	hashed(name) {
		let hash = 0;
		for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
		return this.palette[(hash >>> 0) % this.palette.length];
	}

	// [fill, text] of a label.
	of(label) {
		switch (label.kind) {
		case KIND.STEP: return label.what === 1 ? [this.mark, "#fff"] : [this.accent, this.dark ? "#10151c" : "#fff"];
		case KIND.SCOPE:
			// The program's own colour, where NVTX was given one.
			return label.what ? ["#" + (label.what & 0xffffff).toString(16).padStart(6, "0"), bestInk(label.what)]
				: [this.hashed(label.name), this.ink];
		case KIND.CALL: return [this.ofClass(CALL_CLASSES[label.what] || "framework"), "#fff"];
		case KIND.SYNC: return [this.ofClass("sync_wait"), "#fff"];
		case KIND.KERNEL: return [this.kernel(label), "#fff"];
		case KIND.GRAPH: return [this.ofClass("gpu_compute"), "#fff"];
		case KIND.COPY: return [this.ofClass(COPIES[label.what] || "page_faults"), "#fff"];
		case KIND.MEMSET: return [this.ofClass("sleep"), "#fff"];
		case KIND.BUSY: return [this.dark ? "#2c5a38" : "#bfe3c6", this.ink];
		case KIND.IDLE: return [this.classes[label.what], "#fff"];
		case KIND.WAIT: return [this.ofClass((WAITS[label.what] || WAITS[5])[1]), "#fff"];
		case KIND.GC: return [this.ofClass("gc"), "#fff"];
		case KIND.COMPILE: return [this.classes[label.what], "#fff"];
		default: return [this.hashed(label.name), this.ink];
		}
	}

	// Shades of green, so that kernels look like GPU work and still differ.
	kernel(label) {
		let hash = 0;
		for (let i = 0; i < label.name.length; i++) hash = (hash * 31 + label.name.charCodeAt(i)) | 0;
		hash >>>= 0;
		const hue = 95 + hash % 80, light = (this.dark ? 26 : 29) + (hash >> 8) % 9;
		return "hsl(" + hue + " 45% " + light + "%)";
	}

	colour(index, labels) {
		return this.colours[index] || (this.colours[index] = this.of(labels[index]));
	}
}

function bestInk(rgb) {
	const bright = ((rgb >> 16) & 255) * 0.3 + ((rgb >> 8) & 255) * 0.59 + (rgb & 255) * 0.11;
	return bright > 140 ? "#10151c" : "#fff";
}
