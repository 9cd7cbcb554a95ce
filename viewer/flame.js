// A flame graph of a range: Python calls (samples where no calls were recorded) by their time in it,
// or device time by the Python stacks that launched it.

const FLAME_ROW = 18, FLAME_ITEMS = 400000;

class FlameNode {
	constructor(name, detail, parent) {
		this.name = name;
		this.detail = detail;
		this.parent = parent;
		this.ns = 0;
		this.children = new Map();
	}

	child(name, detail) {
		let node = this.children.get(name + detail);
		if (!node) this.children.set(name + detail, node = new FlameNode(name, detail, this));
		return node;
	}
}

class Flame {
	constructor(timeline, panel) {
		this.t = timeline;
		this.panel = panel;
		this.by = "cpu";
		this.number = 0;
		this.boxes = [];
	}

	// A stack of rows, outermost first, as nodes; times are clipped to the range.
	addRows(root, rows, cover, from, to) {
		const data = this.t.data;
		let above = null; // items of the row above: start, end, node
		for (const row of rows) {
			const items = [];
			data.eachPiece(cover, row, from, to, (p, first, end) => {
				for (let i = first; i < end; i++) items.push([p.start[i], p.end[i], p.label[i]]);
			});
			items.sort((a, b) => a[0] - b[0]);
			let at = 0;
			for (const item of items) {
				let parent = root;
				if (above) {
					while (at < above.length && above[at][1] <= item[0]) at++;
					if (at === above.length || above[at][0] > item[0]) continue;
					parent = above[at][2];
				}
				const label = data.labels[item[2]], place = data.place(label.place);
				const node = parent.child(labelName(label), place ? place.file + ":" + place.line : "");
				node.ns += Math.min(item[1], to) - Math.max(item[0], from);
				item[2] = node;
			}
			above = items.filter(item => item[2] instanceof FlameNode);
		}
	}

	addDevice(root, cover, from, to) {
		const data = this.t.data;
		for (const row of data.rows) {
			if (row.lane !== LANE.STREAM) continue;
			data.eachPiece(cover, row.index, from, to, (p, first, end) => {
				for (let i = first; i < end; i++) {
					const ns = (Math.min(p.end[i], to) - Math.max(p.start[i], from)) * (p.merged && p.merged[i] ? p.cover[i] / 255 : 1);
					const label = data.labels[p.label[i]];
					let node = root;
					for (const place of label.stack ? [...data.meta.stacks[label.stack - 1]].reverse() : []) {
						const at = data.place(place);
						node = node.child(at.name + ":" + at.line, at.file + ":" + at.line);
						node.ns += ns;
					}
					node = node.child(labelName(label), "on the device");
					node.ns += ns;
				}
			});
		}
	}

	async make(from, to) {
		const data = this.t.data;
		let grain = (to - from) / 1e5;
		while (grain < to - from && data.nodes.reduce((sum, n) => sum + (n.start < to && n.start + n.length > from &&
			n.leaf && n.length / 2048 * 4 > grain ? n.items : 0), 0) > FLAME_ITEMS) grain *= 4;
		const cover = await data.covered(from, to, grain);
		const root = new FlameNode("", "", null);
		if (this.by === "gpu") this.addDevice(root, cover, from, to);
		for (const track of this.by === "cpu" ? this.t.model.tracks : []) {
			if (track.type !== TRACK.THREAD) continue;
			// Whichever knows more of the thread.
			const trees = [LANE.FRAMES, LANE.SAMPLES].map(lane => {
				const tree = new FlameNode(track.title, track.detail, root), rows = track.lanes.find(l => l.lane === lane);
				if (rows) this.addRows(tree, rows.rows, cover, from, to);
				for (const child of tree.children.values()) tree.ns += child.ns;
				return tree;
			});
			const tree = trees[0].ns >= 0.5 * trees[1].ns ? trees[0] : trees[1];
			if (tree.ns) root.children.set(String(track.id), tree);
		}
		for (const child of root.children.values()) root.ns += child.ns;
		return root;
	}

	async show(from, to) {
		const number = ++this.number;
		this.from = from;
		this.to = to;
		this.panel.replaceChildren(element("p", { class: "tl-hint" }, "Adding up\u2026"));
		this.root = await this.make(from, to);
		if (!this.root.ns && this.by === "cpu" && !this.chosen && this.t.model.tracks.some(t => t.type === TRACK.STREAM)) {
			this.by = "gpu"; // the only one that there is
			this.root = await this.make(from, to);
		}
		if (number === this.number) this.render(this.root);
	}

	render(top) {
		const path = [];
		for (let node = top; node && node.parent; node = node.parent) path.unshift(node);
		const choice = [["cpu", "CPU time by call"], ["gpu", "GPU time by launching code"]].map(([by, name]) =>
			button(name, name, () => {
				this.by = by;
				this.chosen = true;
				this.show(this.from, this.to);
			}, { "aria-pressed": String(this.by === by) }));
		const focused = this.canvas && this.canvas === document.activeElement;
		this.canvas = element("canvas", { class: "tl-flame", role: "application", tabindex: "0", on: {
			mousemove: e => this.hover(e), click: e => this.click(e), keydown: e => this.key(e) } });
		this.hint = element("p", { class: "tl-hint", role: "status" },
			"Click a box to enlarge it. Keys: arrows move from box to box, Enter enlarges, Backspace shows all.");
		this.panel.replaceChildren(
			element("h3", {}, "Flame graph of " + duration(this.to - this.from)),
			element("p", { class: "tl-actions" }, ...choice,
				top.parent ? button("All", "Show the whole flame graph", () => this.render(this.root)) : null),
			this.hint, this.canvas);
		if (!top.ns) {
			this.hint.textContent = this.by === "gpu" ? "No device work in this range." : "No Python calls or samples in this range.";
			return;
		}
		this.top = top;
		this.path = path;
		this.current = null;
		this.draw(top, path);
		if (focused) this.canvas.focus();
	}

	draw(top, path) {
		const t = this.t, width = Math.max(this.panel.clientWidth - 24, 200), boxes = this.boxes = [];
		let depth = 0;
		const place = (node, x, w, level) => {
			if (w < 1 || level > 120) return;
			boxes.push({ node, x, w, level });
			depth = Math.max(depth, level);
			let at = x;
			for (const child of [...node.children.values()].sort((a, b) => b.ns - a.ns)) {
				const share = w * child.ns / node.ns;
				place(child, at, share, level + 1);
				at += share;
			}
		};
		path.slice(0, -1).forEach((node, level) => boxes.push({ node, x: 0, w: width, level, above: true }));
		place(top, 0, width, Math.max(path.length - 1, 0));
		const height = (depth + 1) * FLAME_ROW, scale = window.devicePixelRatio || 1, c = this.canvas.getContext("2d");
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		this.canvas.style.height = height + "px";
		this.canvas.style.width = width + "px";
		this.canvas.setAttribute("aria-label", "Flame graph; the widest: " + boxes.slice(0, 8).map(b => b.node.name).join(", "));
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.font = FONT;
		c.textBaseline = "middle";
		for (const b of boxes) {
			c.globalAlpha = b.above ? 0.5 : 1;
			c.fillStyle = b.node.parent ? b.node.detail === "on the device" ? t.theme.ofClass("gpu_compute") : t.theme.hashed(b.node.name)
				: t.theme.line;
			c.fillRect(b.x, b.level * FLAME_ROW, Math.max(b.w - 0.5, 0.5), FLAME_ROW - 1);
			const room = Math.floor((b.w - 6) / CHARACTER);
			if (room < 3) continue;
			const text = b.node.parent ? b.node.name : "All, " + duration(b.node.ns);
			c.fillStyle = b.node.detail === "on the device" ? t.theme.classed("gpu_compute")[1] : t.theme.ink;
			c.fillText(text.length > room ? text.slice(0, room - 1) + "\u2026" : text, b.x + 3, b.level * FLAME_ROW + FLAME_ROW / 2, b.w - 4);
		}
		c.globalAlpha = 1;
		const current = boxes.find(b => b.node === this.current);
		if (!current) return;
		c.strokeStyle = t.theme.ink;
		c.lineWidth = 2;
		c.strokeRect(current.x + 1, current.level * FLAME_ROW + 1, Math.max(current.w - 2, 1), FLAME_ROW - 3);
	}

	key(e) {
		const at = this.boxes.find(b => b.node === this.current) || this.boxes.find(b => b.node === this.top);
		const near = way => this.boxes.filter(b => b.level === at.level && (b.x - at.x) * way > 0)
			.sort((a, b) => (a.x - b.x) * way)[0];
		const moves = { ArrowLeft: () => near(-1), ArrowRight: () => near(1),
			ArrowUp: () => this.boxes.find(b => b.node === at.node.parent),
			ArrowDown: () => this.boxes.find(b => b.node.parent === at.node) };
		if (!at || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.key === "Enter") this.render(at.node);
		else if (e.key === "Backspace") this.render(this.root);
		else if (moves[e.key]) this.enter(moves[e.key]() || at);
		else return;
		e.preventDefault();
		e.stopPropagation();
	}

	enter(box) {
		this.current = box.node;
		this.tell(box);
		this.draw(this.top, this.path);
	}

	tell(b) {
		this.hint.textContent = [b.node.name || "All", b.node.detail, duration(b.node.ns), percent(b.node.ns, this.root.ns)]
			.filter(Boolean).join(" \u00b7 ");
	}

	boxAt(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, level = Math.floor((e.clientY - r.top) / FLAME_ROW);
		return this.boxes.find(b => b.level === level && x >= b.x && x < b.x + b.w);
	}

	hover(e) {
		const b = this.boxAt(e);
		if (b) this.tell(b);
	}

	click(e) {
		const b = this.boxAt(e);
		if (b) this.render(b.node);
	}
}
