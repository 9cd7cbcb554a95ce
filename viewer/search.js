// Search over names: which labels match, how many items those are, and the next one.

class Search {
	constructor(timeline, input, count) {
		this.t = timeline;
		this.input = input;
		this.count = count;
		input.addEventListener("input", () => this.update());
		input.addEventListener("keydown", e => {
			if (e.key === "Enter") this.next(e.shiftKey ? -1 : 1);
			if (e.key === "Escape") {
				this.set("");
				this.t.canvas.focus();
			}
		});
	}

	set(text) {
		this.input.value = text;
		this.update();
	}

	matches(label, text) {
		if (labelName(label).toLowerCase().includes(text) || label.full.toLowerCase().includes(text) ||
			label.layer.toLowerCase().includes(text)) return true;
		const place = this.t.data.place(label.place);
		return !!place && (label.kind === KIND.FRAME || label.kind === KIND.SAMPLED || label.kind === KIND.IDLE) &&
			(place.file + ":" + place.line).toLowerCase().includes(text);
	}

	async update() {
		const text = this.input.value.trim().toLowerCase(), t = this.t;
		t.matches = null;
		this.count.textContent = "";
		if (text) {
			t.matches = new Set();
			t.data.labels.forEach((label, i) => { if (this.matches(label, text)) t.matches.add(i); });
			const found = await this.number();
			if (text === this.input.value.trim().toLowerCase()) this.count.textContent = plural(found, "match").replace("matchs", "matches");
		}
		t.changed();
	}

	// Of all items, by the root's totals.
	async number() {
		const root = this.t.data.root, wanted = this.t.matches;
		await this.t.data.load(root);
		let n = 0;
		if (root.leaf) for (const p of root.rows.values()) for (let i = 0; i < p.count; i++) n += wanted.has(p.label[i]) ? 1 : 0;
		else for (const entries of root.totals.values()) for (const [label, count] of entries) n += wanted.has(label) ? count : 0;
		return n;
	}

	// Could a node have a match?  Its own totals, or its parent's, say so.
	has(node) {
		if (!node.totals || node.leaf) return true;
		for (const entries of node.totals.values()) for (const entry of entries) if (this.t.matches.has(entry[0])) return true;
		return false;
	}

	// The first match in a node that begins after a moment, or the last one before it.
	best(node, after, way) {
		let best = null;
		const shown = this.t.model.lineOf, steps = new Set(this.t.model.stepLines.map(l => l.row));
		for (const [row, p] of node.rows) {
			if (!shown.has(row) && !steps.has(row)) continue;
			for (let i = 0; i < p.count; i++) {
				if (!this.t.matches.has(p.label[i]) || (p.start[i] - after) * way <= 0) continue;
				if (!best || (p.start[i] - best.start) * way < 0) best = this.t.data.item(row, p, i);
			}
		}
		return best;
	}

	async find(node, after, way) {
		if (!node.there || !node.items || (way > 0 ? node.start + node.length <= after : node.start >= after)) return null;
		await this.t.data.load(node);
		let best = this.has(node) ? this.best(node, after, way) : null;
		if (node.leaf || !this.has(node)) return best;
		for (const child of way > 0 ? node.children : [...node.children].reverse()) {
			const found = await this.find(child, after, way);
			if (found && (!best || (found.start - best.start) * way < 0 || (found.start === best.start && best.merged))) best = found;
			if (found) break;
		}
		return best;
	}

	async next(way) {
		const t = this.t;
		if (!t.matches || !t.matches.size) return;
		const from = t.selected && t.matches.has(t.selected.label) ? t.selected.start : way > 0 ? t.from - 1 : t.to;
		let item = await this.find(t.data.root, from, way);
		if (!item) item = await this.find(t.data.root, way > 0 ? -1 : t.data.end + 1, way);
		if (item) t.select(item, true);
	}
}
