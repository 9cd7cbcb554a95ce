// What is known of the selected item: launch, kernel, layer, Python line, source text.

class Details {
	constructor(timeline, panel) {
		this.t = timeline;
		this.panel = panel;
	}

	placeText(place) {
		return place.name + (place.file ? " \u2014 " + place.file + (place.line ? ":" + place.line : "") : "");
	}

	lineOf(item) {
		const place = this.t.data.place(this.t.data.labels[item.label].place);
		return place && place.file ? " \u2014 " + place.file + ":" + place.line : "";
	}

	row(name, value) {
		return value ? [element("dt", {}, name), element("dd", {}, value)] : [];
	}

	// Nothing is selected: what there is to look at first.
	clear() {
		const found = this.t.findings.items.filter(f => f.at.length);
		this.panel.replaceChildren(element("p", { class: "tl-hint" },
			"Click an item for details. Drag on the ruler, or with Shift, to select a range."));
		if (found.length)
			this.panel.append(element("ul", { class: "tl-found", "aria-label": "Findings" }, ...found.slice(0, 6).map(f =>
				element("li", {}, button(f.title, "Show an example of this finding",
					() => this.t.findings.show(f, this.t.findings.typical(f)), { class: "tl-link" })))));
	}

	async show(item) {
		const t = this.t, data = t.data, label = data.labels[item.label];
		const line = t.model.trackOfRow(item.row), length = item.end - item.start;
		const name = item.merged ? plural(item.merged, "item") + ", longest " + labelName(label) : labelName(label);
		const list = element("dl", {});
		const add = (what, value) => list.append(...this.row(what, value));
		add("Kind", kindName(label) + (label.kind === KIND.KERNEL && label.what ? ", in a CUDA graph" : "") +
			(label.kind === KIND.STEP && label.what === 1 ? ", one of the slowest" : ""));
		add("On", line ? line.title + (line.detail ? ", " + line.detail : "") : "");
		add("Start", moment(item.start, 1000));
		add("Duration", duration(length));
		if (item.merged) add("Shown", "merged; zoom in to see each" +
			(t.data.meta.whole < t.data.meta.items ? " where the page has them" : ""));
		if (label.full && label.full !== label.name) add("Full name", label.full);
		add(label.kind === KIND.IDLE ? "In" : "Facts", label.more);
		const chain = await this.chain(item, label);
		if (t.selected !== item) return;
		this.panel.replaceChildren(element("h3", {}, name), this.actions(item),
			element("div", { class: "tl-two" }, list, element("div", {}, ...chain)));
		t.say(name + ", " + duration(length));
	}

	actions(item) {
		const t = this.t;
		return element("p", { class: "tl-actions" },
			button("Zoom to it", "Zoom to the selected item", () => t.zoomTo(item.start, item.end, 0.15)),
			button("Statistics of it", "Statistics of its time (M)", () => t.setRange(item.start, item.end)),
			button("\u2190", "Previous item of this row (,)", () => t.selectNext(-1)),
			button("\u2192", "Next item of this row (.)", () => t.selectNext(1)),
			button("Find the same", "Search for this name", () => t.search.set(labelName(t.data.labels[item.label]))));
	}

	// Launch -> device work -> layer -> line -> source, as far as each is known.
	async chain(item, label) {
		const t = this.t, data = t.data, out = [];
		const steps = element("ol", { class: "tl-chain" });
		const isCall = label.kind === KIND.CALL || label.kind === KIND.SYNC;
		const link = item.linkRow >= 0 ? await data.itemFrom(item.linkRow, item.linkStart) : null;
		const go = (what, to) => element("li", {}, element("span", {}, what),
			button(labelName(data.labels[to.label]), "Go to it", () => t.select(to, true), { class: "tl-link" }),
			" " + duration(to.end - to.start) + (what === "In the call" ? this.lineOf(to) : "") + (what === "Launch" ? ", " + duration(item.start - to.start) + " before" : ""));
		if (link && !isCall) steps.append(go("Launch", link));
		if (label.kind !== KIND.STEP && label.kind !== KIND.BUSY)
			steps.append(element("li", {}, element("span", {}, isCall ? "Launch" : kindName(label)),
				element("strong", {}, labelName(label))));
		if (link && isCall) steps.append(go("Starts", link));
		const next = label.kind === KIND.IDLE ? await this.after(item) : null;
		if (next) steps.append(go("Then runs", next));
		if (label.layer) steps.append(element("li", {}, element("span", {}, "Layer"), label.layer));
		const place = data.place(label.place), call = place ? null : await this.callAround(item);
		if (call) steps.append(go("In the call", call));
		if (place) steps.append(element("li", {}, element("span", {}, "Python"), element("code", {}, this.placeText(place))));
		out.push(steps);
		const at = place || (call && data.place(data.labels[call.label].place)), source = at && this.source(at);
		if (source) out.push(source);
		if (label.stack) out.push(this.stack(label.stack));
		const finding = this.t.findings.of(place);
		if (finding) out.push(element("p", {}, "Finding: ",
			button(finding.title, "Show this finding", () => t.findings.show(finding, 0), { class: "tl-link" })));
		return out;
	}

	// The innermost Python call of the same thread that surrounds an item without a place of its own.
	async callAround(item) {
		const t = this.t, track = t.model.trackOfRow(item.row), lanes = [LANE.WAITS, LANE.GC, LANE.COMPILE, LANE.SYNC, LANE.SCOPES];
		if (!lanes.includes(t.data.rows[item.row].lane)) return null;
		const cover = await t.data.covered(item.start, item.start + 1, 0);
		const calls = track.lanes.find(l => l.lane === LANE.FRAMES);
		for (const row of calls ? [...calls.rows].reverse() : []) {
			const call = t.data.itemAt(row, item.start, 0, cover);
			if (call && !call.merged && t.data.labels[call.label].kind === KIND.FRAME && call.end >= item.end) return call;
		}
		return null;
	}

	// What ended an idle time: the work of that process which begins when it is over.
	async after(item) {
		const t = this.t, process = t.model.trackOfRow(item.row).process;
		const cover = await t.data.covered(item.end, item.end + 1e6, 0);
		let best = null;
		for (const track of t.model.tracks) {
			if (track.type !== TRACK.STREAM || track.process !== process) continue;
			for (const lane of track.lanes)
				for (const row of lane.rows)
					t.data.eachPiece(cover, row, item.end, item.end + 1e6, (p, first, end) => {
						for (let i = first; i < end; i++)
							if (p.start[i] >= item.end && (!best || p.start[i] < best.start)) best = t.data.item(row, p, i);
					});
		}
		return best;
	}

	stack(index) {
		const frames = this.t.data.meta.stacks[index - 1];
		return element("details", {}, element("summary", {}, "Python stack, " + plural(frames.length, "frame")),
			element("ol", { class: "tl-stack" }, ...frames.map(p => element("li", {},
				element("code", {}, this.placeText(this.t.data.place(p)))))));
	}

	// Lines that a finding names; by file and line, for a place may be known under another function.
	source(place) {
		const data = this.t.data;
		for (const [key, lines] of Object.entries(data.meta.source)) {
			const of = data.place(Number(key)), [first, ...texts] = lines;
			if (of.file !== place.file || place.line < first || place.line >= first + texts.length) continue;
			return element("pre", { class: "tl-source", "aria-label": "Source of " + this.placeText(place) },
				...texts.map((text, i) => element("span", { class: first + i === place.line ? "tl-here" : null },
					String(first + i).padStart(5) + "  " + text + "\n")));
		}
		return null;
	}
}
