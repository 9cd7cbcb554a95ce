// Colours, from the page's style so that light and dark are decided in one place.

const PALETTE_LIGHT = ["#8fb8de", "#a9c7a0", "#d9b38c", "#c3aed6", "#9fc9c6", "#d8a7b1", "#b7b7a4", "#a7bde0",
	"#c9cba3", "#e0b7a0", "#9db4c0", "#b8c9e1"];
const PALETTE_DARK = ["#3d6187", "#4d6e45", "#7d5c38", "#664f80", "#3f6e6b", "#7b4953", "#5f5f4d", "#4a5f86",
	"#5f613a", "#835a44", "#47606d", "#56698a"];

class Theme {
	// classes: names of classes of time.
	constructor(classes) {
		this.names = classes;
		this.colours = [];
		this.read();
	}

	read() {
		const style = getComputedStyle(document.documentElement);
		const value = name => style.getPropertyValue("--" + name).trim();
		this.dark = matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.classList.contains("light");
		this.ink = value("ink");
		this.soft = value("soft");
		this.line = value("line");
		this.card = value("card");
		this.page = value("page");
		this.accent = value("accent");
		this.accentSoft = value("accent-soft");
		this.mark = value("mark");
		this.classes = new Map(this.names.map(name => [name, value(name) || this.soft]));
		this.busy = this.dark ? "#2c5a38" : "#bfe3c6";
		this.palette = this.dark ? PALETTE_DARK : PALETTE_LIGHT;
		this.colours = [];
	}

	ofClass(name) {
		return this.classes.get(name) || this.soft;
	}

	hashed(name) {
		let hash = 0;
		for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
		return this.palette[(hash >>> 0) % this.palette.length];
	}

	classed(name) {
		const colour = this.ofClass(name);
		return [colour, inkOn(colour)];
	}

	// [fill, text] of a label.
	of(label) {
		switch (label.kind) {
		case KIND.STEP: return label.what === 1 ? [this.mark, inkOn(this.mark)] : [this.accent, inkOn(this.accent)];
		case KIND.SCOPE:
			// The program's own colour, where NVTX was given one.
			if (label.what) {
				const colour = "#" + (label.what & 0xffffff).toString(16).padStart(6, "0");
				return [colour, inkOn(colour)];
			}
			return [this.hashed(label.name), this.ink];
		case KIND.CALL: return this.classed(CALL_CLASSES[label.what] || "framework");
		case KIND.SYNC: return this.classed("sync_wait");
		case KIND.KERNEL: return [this.kernel(label), "#fff"];
		case KIND.GRAPH: return this.classed("gpu_compute");
		case KIND.COPY: return this.classed(COPIES[label.what] || "page_faults");
		case KIND.MEMSET: return this.classed("sleep");
		case KIND.BUSY: return [this.busy, this.ink];
		case KIND.IDLE: return this.classed(label.class);
		case KIND.WAIT: return this.classed((WAITS[label.what] || WAITS[5])[1]);
		case KIND.GC: return this.classed("gc");
		case KIND.COMPILE: return this.classed(label.class);
		default: return [this.hashed(label.name), this.ink];
		}
	}

	// Shades of green, so that kernels look like GPU work and still differ.
	kernel(label) {
		let hash = 0;
		for (let i = 0; i < label.name.length; i++) hash = (hash * 31 + label.name.charCodeAt(i)) | 0;
		hash >>>= 0;
		const hue = 95 + hash % 80, light = 23 + (hash >> 8) % 9;
		return "hsl(" + hue + " 45% " + light + "%)";
	}

	colour(index, labels) {
		return this.colours[index] || (this.colours[index] = this.of(labels[index]));
	}
}

// Black or white, whichever is further from a colour "#rrggbb": at least 4.5 to 1, whatever that is.
function inkOn(colour) {
	const part = at => {
		const x = parseInt(colour.slice(at, at + 2), 16) / 255;
		return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	};
	const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
	return light > 0.179 ? "#000" : "#fff";
}

const IDLE_SHOWN = 0.005; // of the idle time: what is less is a speck

// What the colours mean, as far as they are on the timeline: groups of [colour, text, class of the mark].
function legendGroups(data, theme) {
	const groups = new Map([["", []], ["GPU idle", []], ["Waits", []]]), times = data.timeOfLabels();
	const add = (group, rank, colour, text, mark) => {
		if (!groups.get(group).some(entry => entry[1] === text)) groups.get(group).push([colour, text, mark, rank]);
	};
	const kinds = KIND_NAMES.map(() => 0), idle = new Map();
	for (const [index, ns] of times) {
		const label = data.labels[index];
		kinds[label.kind] += ns;
		if (label.kind === KIND.IDLE) idle.set(label.class, (idle.get(label.class) || 0) + ns);
	}
	for (const index of times.keys()) {
		const label = data.labels[index], colour = theme.of(label)[0];
		switch (label.kind) {
		case KIND.STEP: add("", label.what === 1 ? 1 : 0, colour, label.what === 1 ? "Slow step" : "Step"); break;
		case KIND.BUSY: add("", 2, colour, "GPU busy"); break;
		case KIND.KERNEL: add("", 3, theme.ofClass("gpu_compute"), "Kernel"); break;
		case KIND.GRAPH: add("", 4, colour, "CUDA graph"); break;
		case KIND.COPY: add("", 5, colour, { 1: "Copy to the GPU", 2: "Copy to the host" }[label.what] || "Other copy"); break;
		case KIND.MEMSET: add("", 6, colour, "Memset"); break;
		case KIND.GC: add("", 7, colour, "Garbage collection"); break;
		case KIND.COMPILE: add("", 8, colour, labelName(label)); break;
		case KIND.SAMPLED: add("", 9, null, "Pale: from samples", "tl-pale"); break;
		case KIND.PAUSE: add("", 10, null, "Hatched: not recorded", "tl-hatched"); break;
		case KIND.IDLE:
			if (idle.get(label.class) >= IDLE_SHOWN * kinds[KIND.IDLE])
				add("GPU idle", -idle.get(label.class), colour, label.class === "launch" ? "launches"
					: lowerFirst(label.name.replace("Idle, ", "")));
			break;
		case KIND.WAIT: add("Waits", label.what, colour, (WAITS[label.what] || WAITS[5])[2]); break;
		case KIND.SYNC: add("Waits", 100, colour, "GPU"); break;
		default:
		}
	}
	return [...groups].filter(([, entries]) => entries.length)
		.map(([name, entries]) => [name, entries.sort((a, b) => a[3] - b[3])]);
}

function lowerFirst(text) {
	return /^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
}
