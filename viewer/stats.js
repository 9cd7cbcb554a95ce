// Statistics of a range of time: what lies inside of it; an item is counted where it begins.

class Sums {
	constructor() {
		this.byRow = new Map();
		this.exact = true;
	}

	add(row, label, count, ns, self) {
		let labels = this.byRow.get(row);
		if (!labels) this.byRow.set(row, labels = new Map());
		let sum = labels.get(label);
		if (!sum) labels.set(label, sum = { count: 0, ns: 0, self: 0 });
		sum.count += count;
		sum.ns += ns;
		sum.self += self;
	}
}

class Statistics {
	constructor(timeline) {
		this.t = timeline;
		this.data = timeline.data;
		this.busy = this.data.labels.findIndex(l => l.kind === KIND.BUSY);
	}

	addPiece(sums, row, p, first, end) {
		for (let i = first; i < end; i++) {
			const ns = p.end[i] - p.start[i];
			const label = this.data.labels[p.label[i]];
			if (p.merged && p.merged[i] && label.kind === KIND.IDLE) {
				const busy = ns * p.cover[i] / 255;
				sums.add(row, p.label[i], p.merged[i] >> 1, ns - busy, 0);
				sums.add(row, this.busy, p.merged[i] >> 1, busy, 0);
			} else if (p.merged && p.merged[i]) sums.add(row, p.label[i], p.merged[i], ns * p.cover[i] / 255, ns * p.cover[i] / 255);
			else sums.add(row, p.label[i], 1, ns, p.inside ? ns - p.inside[i] : ns);
		}
	}

	// What begins in [from, to), from the totals of whole nodes and the items of the others.
	async collect(from, to) {
		const data = this.data, sums = new Sums();
		const visit = async node => {
			if (!node.items || node.start >= to || node.start + node.length <= from) return;
			await data.load(node);
			const whole = from <= node.start && (to >= node.start + node.length || to >= data.end);
			if (!node.leaf && whole) {
				for (const [row, entries] of node.totals)
					for (const [label, count, ns, self] of entries) sums.add(row, label, count, ns, self);
				return;
			}
			if (node.leaf) {
				this.addNode(sums, node, Math.max(from, node.start), Math.min(to, node.start + node.length), false);
				return;
			}
			for (const child of node.children) {
				if (child.there) await visit(child);
				else if (child.items && child.start < to && child.start + child.length > from) {
					sums.exact = false;
					this.addNode(sums, node, Math.max(from, child.start), Math.min(to, child.start + child.length), true);
				}
			}
			// Items longer than a child begin in it and are only here.
			this.addLong(sums, node, from, to);
		};
		await visit(data.root);
		await this.clip(sums, from, to);
		return sums;
	}

	addNode(sums, node, from, to, short) {
		const quarter = node.length / 4;
		for (const [row, p] of node.rows) {
			const first = lowerBound(p.start, from, 0, p.count), end = lowerBound(p.start, to, first, p.count);
			if (!short) {
				this.addPiece(sums, row, p, first, end);
				continue;
			}
			for (let i = first; i < end; i++) if (p.end[i] - p.start[i] < quarter) this.addPiece(sums, row, p, i, i + 1);
		}
	}

	// Whole children have theirs in their totals.
	addLong(sums, node, from, to) {
		for (const [row, p] of node.rows)
			for (const i of p.big) {
				if (p.start[i] < from || p.start[i] >= to) continue;
				const child = node.children[Math.min(3, Math.floor((p.start[i] - node.start) / (node.length / 4)))];
				const whole = child && child.there && !child.leaf && from <= child.start &&
					(to >= child.start + child.length || to >= this.data.end);
				if (!whole) this.addPiece(sums, row, p, i, i + 1);
			}
	}

	// Time across an edge of the range counts as far as it lies inside; self time in proportion.
	async clip(sums, from, to) {
		const data = this.data;
		for (const edge of [from, to]) {
			const cover = await data.covered(edge, edge + 1, 0);
			for (const row of data.rows) {
				const item = data.itemAt(row.index, edge, 0, cover);
				if (!item || item.merged || item.start >= edge || item.end <= edge) continue;
				const length = item.end - item.start, self = (length - item.inside) / length;
				const ns = edge === from ? Math.min(item.end, to) - edge : item.start >= from ? edge - item.end : 0;
				if (ns) sums.add(row.index, item.label, 0, ns, ns * self);
			}
		}
	}

	// { label key: { name, detail, count, ns, self } } of the rows of some lanes, most first.
	table(sums, lanes, keyOf, by) {
		const found = new Map();
		for (const [row, labels] of sums.byRow) {
			if (!lanes.includes(this.data.rows[row].lane)) continue;
			for (const [index, sum] of labels) {
				const label = this.data.labels[index], key = keyOf(label);
				if (!key) continue;
				let entry = found.get(key[0]);
				if (!entry) found.set(key[0], entry = { name: key[1], detail: key[2] || "", count: 0, ns: 0, self: 0, label: index });
				entry.count += sum.count;
				entry.ns += sum.ns;
				entry.self += sum.self;
			}
		}
		return [...found.values()].filter(e => e.count || e.ns).sort((a, b) => b[by] - a[by] || (a.name < b.name ? -1 : 1));
	}

	placeOf(label, named) {
		const place = this.data.place(label.place);
		return place ? (named ? place.name + " \u2014 " : "") + place.file + ":" + place.line : "";
	}

	// Everything that is shown, and what tests compare with report.json.
	async of(from, to) {
		const sums = await this.collect(from, to);
		const kernel = l => l.kind === KIND.KERNEL && [l.full || l.name, l.name];
		const idle = l => l.kind === KIND.IDLE && [l.what + l.name + this.placeOf(l, true), l.name, this.placeOf(l, true)];
		const frame = l => (l.kind === KIND.FRAME || l.kind === KIND.SAMPLED) && [this.placeOf(l, true), l.name, this.placeOf(l)];
		const named = l => [labelName(l), labelName(l)];
		const frames = this.table(sums, [LANE.FRAMES], frame, "self");
		return {
			exact: sums.exact,
			ns: to - from,
			busy: this.table(sums, [LANE.BUSY], l => l.kind === KIND.BUSY && ["busy", "Busy"], "ns"),
			idle: this.table(sums, [LANE.BUSY], idle, "ns"),
			kernels: this.table(sums, [LANE.STREAM], kernel, "ns"),
			copies: this.table(sums, [LANE.STREAM], l => l.kind !== KIND.KERNEL && named(l), "ns"),
			functions: frames,
			sampled: this.table(sums, [LANE.SAMPLES], frame, "self"),
			waits: this.table(sums, [LANE.WAITS, LANE.SYNC], named, "ns"),
			calls: this.table(sums, [LANE.CALLS], named, "ns"),
			layers: this.table(sums, [LANE.LAYERS], named, "ns"),
			scopes: this.table(sums, [LANE.SCOPES], named, "ns"),
		};
	}
}

class StatisticsPanel {
	constructor(timeline, panel) {
		this.t = timeline;
		this.panel = panel;
		this.statistics = new Statistics(timeline);
		this.number = 0;
	}

	table(title, entries, whole, columns) {
		if (!entries.length) return null;
		const shown = entries.slice(0, 12);
		const head = element("tr", {}, element("th", { scope: "col" }, title),
			...columns.map(c => element("th", { scope: "col", class: "n" }, c.title)));
		const rows = shown.map(e => element("tr", {},
			element("td", { title: e.detail || e.name }, e.plain ? e.name : button(e.name, "Find " + e.name,
				() => this.t.search.set(e.name), { class: "tl-link" }), e.detail ? element("small", {}, " " + e.detail) : ""),
			...columns.map(c => element("td", { class: "n" }, c.text(e, whole)))));
		const more = entries.length - shown.length;
		return element("div", { class: "tl-table" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
			more > 0 ? element("p", { class: "tl-hint" }, plural(more, "more row").replace("rows", "rows")) : null);
	}

	async show(from, to) {
		const number = ++this.number;
		this.panel.replaceChildren(element("p", { class: "tl-hint" }, "Adding up\u2026"));
		const s = await this.statistics.of(from, to);
		if (number !== this.number) return;
		const count = { title: "count", text: e => e.count.toLocaleString("en") };
		const time = { title: "time", text: e => duration(e.ns) };
		const share = { title: "share", text: (e, whole) => percent(e.ns, whole) };
		const self = { title: "self", text: e => duration(e.self) };
		const busy = s.busy.reduce((sum, e) => sum + e.ns, 0), idle = s.idle.reduce((sum, e) => sum + e.ns, 0);
		const gpus = this.t.model.tracks.filter(track => track.type === TRACK.GPU).length;
		const parts = [element("h3", {}, "Selection of " + duration(s.ns) + ", from " + moment(from, 1000)),
			element("p", { class: "tl-actions" },
				button("Zoom to it", "Zoom to the selection (F)", () => this.t.zoomTo(from, to, 0)),
				button("Flame graph", "Flame graph of the selection", () => this.t.showTab("flame")))];
		if (gpus) parts.push(element("p", {}, "GPU busy " + duration(busy) + " (" + percent(busy, busy + idle) +
			"), idle " + duration(idle) + "."));
		if (!s.exact) parts.push(element("p", {}, "Estimated from levels of detail: not all events of this range are in the page."));
		const counters = this.t.model.tracks.filter(track => track.type === TRACK.COUNTER).map(track => {
			const values = this.t.model.counterIn(track.counter, from, to), unit = this.t.data.string(track.counter.unit);
			return values && { plain: true, name: track.title, detail: track.detail, low: quantity(values[0], unit), high: quantity(values[1], unit) };
		}).filter(Boolean);
		const tables = [
			this.table("GPU idle by cause", s.idle, busy + idle, [time, share]),
			this.table("Kernels", s.kernels, s.kernels.reduce((sum, e) => sum + e.ns, 0), [count, time, share]),
			this.table("Copies, memsets, graphs", s.copies, 0, [count, time]),
			this.table("Functions", s.functions, 0, [count, self]),
			this.table("Functions, by samples", s.sampled, 0, [self]),
			this.table("Waits", s.waits, 0, [count, time]),
			this.table("CUDA calls", s.calls, 0, [count, time]),
			this.table("Layers", s.layers, 0, [count, time]),
			this.table("Scopes", s.scopes, 0, [count, time]),
			this.table("Counters", counters, 0, [{ title: "least", text: e => e.low }, { title: "greatest", text: e => e.high }]),
		].filter(Boolean);
		this.panel.replaceChildren(...parts, element("div", { class: "tl-tables" }, ...tables));
		this.t.say("Selected " + duration(s.ns));
	}
}
