// The timeline as a whole: its elements, its state, and what the other parts ask of it.

const PAPER_WIDTH = 670, PAPER_HEIGHT = 440; // of A4 or letter, in pixels: what is left below the breakdown

class Timeline {
	constructor(data) {
		this.data = data;
		this.model = new Model(data);
		this.theme = new Theme(data.meta.classes);
		this.from = 0;
		this.to = data.end;
		this.scroll = 0;
		this.gutter = 190;
		this.selected = this.hovered = this.range = this.matches = null;
		this.gaps = [];
		this.pointer = null;
		this.measuring = false;
		this.waiting = false;
		this.build();
		this.painter = new Painter(this, this.canvas);
		this.overview = new Overview(this, this.overviewElement);
		this.details = new Details(this, this.panels.details);
		this.statistics = new StatisticsPanel(this, this.panels.range);
		this.flame = new Flame(this, this.panels.flame);
		this.search = new Search(this, this.searchInput, this.searchCount);
		this.findings = new Findings(this, this.findingBar);
		this.input = new Input(this);
		this.state = new State(this);
		this.details.clear();
		data.onLoad = () => this.changed();
		this.legend();
		new ResizeObserver(() => this.resize()).observe(this.wrapper);
		this.wrapper.addEventListener("scroll", () => {
			this.scroll = this.wrapper.scrollTop;
			this.changed();
		}, { passive: true });
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.themeChanged());
		// Paper is white, whatever the screen is.
		addEventListener("beforeprint", () => this.printing(true));
		addEventListener("afterprint", () => this.printing(false));
	}

	themeChanged() {
		this.theme.read();
		this.legend();
		this.overview.draw();
		this.changed();
	}

	printing(on) {
		document.documentElement.classList.toggle("light", on);
		this.printed = on;
		if (on && this.large) this.enlarge();
		this.wrapper.style.width = this.overviewElement.style.width = on ? PAPER_WIDTH + "px" : "";
		this.themeChanged();
		this.resize(); // paints now: there is no further frame before the page is printed
	}

	legend() {
		const entry = ([colour, text, className]) => {
			const mark = element("i", { class: className || null, "aria-hidden": "true" });
			if (colour) mark.style.background = colour;
			return element("li", {}, mark, text);
		};
		this.legendList.replaceChildren(...legendGroups(this.data, this.theme).map(([name, entries]) =>
			element("ul", { "aria-label": name || "Items" }, name ? element("li", { class: "tl-group" }, name + ":") : null,
				...entries.map(entry))));
	}

	build() {
		const meta = this.data.meta;
		this.searchInput = element("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search names on the timeline" });
		this.searchCount = element("span", { class: "tl-count", role: "status" });
		this.filterInput = element("input", { type: "search", placeholder: "Filter tracks", "aria-label": "Filter tracks by name",
			on: { input: () => this.setFilter(this.filterInput.value) } });
		this.measureButton = button("Measure", "Measure: drag to select a range (M)", () => this.setMeasuring(!this.measuring),
			{ "aria-pressed": "false" });
		this.largeButton = button("Enlarge", "Fill the window with the timeline", () => this.enlarge(), { "aria-pressed": "false" });
		const bar = element("div", { class: "tl-bar", role: "toolbar", "aria-label": "Timeline" },
			button("\u2212", "Zoom out (S)", () => this.zoom(1 / 0.6)), button("+", "Zoom in (W)", () => this.zoom(0.6)),
			button("Fit", "Fit (F)", () => this.fit()), this.measureButton, this.searchInput,
			button("\u2191", "Previous match", () => this.search.next(-1)), button("\u2193", "Next match", () => this.search.next(1)),
			this.searchCount, this.filterInput, this.largeButton, button("?", "List of keys (?)", () => this.toggleHelp()));
		this.findingBar = element("div", { class: "tl-finding", role: "status", hidden: "" });
		this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-label":
			"Timeline of " + plural(meta.items, "event") + " on " + plural(this.model.tracks.length, "track") +
			". Keys: W and S zoom, A and D move, F fits, question mark lists all keys." });
		this.heads = element("div", { class: "tl-heads" });
		this.corner = element("div", { class: "tl-corner" });
		this.spacer = element("div", { class: "tl-spacer" }, this.heads);
		this.wrapper = element("div", { class: "tl-view" }, this.canvas, this.corner, this.spacer);
		this.overviewElement = element("div", { class: "tl-overview", "aria-hidden": "true" });
		this.legendList = element("div", {});
		this.legendElement = element("details", { class: "tl-legend", open: innerWidth > 640 ? "" : null },
			element("summary", {}, "Colours"), this.legendList);
		this.tip = element("div", { class: "tl-tip", hidden: "" });
		this.status = element("p", { class: "tl-hidden", role: "status", "aria-live": "polite" });
		this.tabs = {};
		this.panels = {};
		const tabs = element("div", { class: "tl-tabs", role: "tablist", "aria-label": "About the timeline" });
		const panels = [];
		for (const [key, name] of [["details", "Details"], ["range", "Statistics"], ["flame", "Flame graph"]]) {
			this.panels[key] = element("div", { class: "tl-panel", role: "tabpanel", id: "tl-panel-" + key, "aria-label": name, hidden: "" });
			this.tabs[key] = button(name, name, () => this.showTab(key), { role: "tab", "aria-selected": "false",
				"aria-controls": "tl-panel-" + key });
			tabs.append(this.tabs[key]);
			panels.push(this.panels[key]);
		}
		this.help = element("dialog", { class: "tl-help", "aria-label": "Keys of the timeline" }, element("h3", {}, "Keys"),
			element("dl", {}, ...KEYS.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)])),
			button("Close", "Close the list of keys", () => this.toggleHelp()));
		this.section = element("section", { id: "timeline", "aria-label": "Timeline" }, element("h2", {}, "Timeline"), bar,
			this.findingBar, this.overviewElement, this.wrapper, this.legendElement, tabs, ...panels, element("p", { class: "tl-hint" }, this.summary(meta)), this.tip, this.help,
			this.status);
		// Behind the breakdown, whose list names the same colours.
		const breakdown = document.querySelector("#timeline-breakdown"), first = document.querySelector("main > section");
		const link = element("a", { href: "#timeline" }, "Timeline"), before = document.querySelector("nav a[href='#timeline-breakdown']");
		if (breakdown) breakdown.after(this.section);
		else if (first) first.before(this.section);
		else document.querySelector("main").append(this.section);
		if (before) before.after(link);
		else if (document.querySelector("nav")) document.querySelector("nav").prepend(link);
		this.showTab("details");
		this.makeCorner();
		this.makeHeads();
	}

	// The first look: the steps, where most of the run is something else (imports, loading).
	begin() {
		let first = Infinity, last = 0;
		const line = this.model.stepLines[0], p = line && this.data.root.rows.get(line.row);
		if (p && p.count) {
			first = p.start[0];
			last = p.end[p.count - 1];
		}
		if (last > first && last - first < 0.5 * this.data.end && this.hasDeviceWork(first, last)) this.zoomTo(first, last, 0.04);
	}

	// Of a range; true as well where there is no device.
	hasDeviceWork(from, to) {
		const rows = this.data.rows.filter(row => row.lane === LANE.BUSY);
		const cover = [{ node: this.data.root, whole: true, parts: null }];
		let found = !rows.length;
		for (const row of rows) this.data.eachPiece(cover, row.index, from, to, () => { found = true; });
		return found;
	}

	summary(meta) {
		const parts = [plural(meta.items, "event") + " in " + duration(this.data.end) + "."];
		if (meta.whole < meta.items)
			parts.push((100 * meta.whole / meta.items).toFixed(0) + " % of them are in this page one by one: around findings and slow " +
				"steps, and the newest. The others are in it as levels of detail; their totals are exact. " +
				"inferscope view, or a greater --timeline-mb, shows more.");
		if (meta.deeper) parts.push(plural(meta.deeper, "very deep call") + " not drawn.");
		return parts.join(" ");
	}

	// The names of tracks and lanes beside the canvas: elements, so that they can be reached and read.
	makeHeads() {
		const heads = [];
		for (const track of this.model.shown) {
			const top = track.y, lanes = [];
			const fold = button(track.collapsed ? "\u25b8" : "\u25be", (track.collapsed ? "Open " : "Collapse ") + track.title, () => {
				track.collapsed = !track.collapsed;
				this.layoutChanged();
			}, { "aria-expanded": String(!track.collapsed) });
			const pin = button(track.pinned ? "\u2605" : "\u2606", (track.pinned ? "Unpin " : "Pin ") + track.title, () => {
				track.pinned = !track.pinned;
				this.layoutChanged();
			}, { "aria-pressed": String(track.pinned), class: "tl-pin" });
			for (const lane of track.collapsed ? [] : track.lanes) {
				if (!lane.name) continue;
				const change = () => {
					if (lane.closed) lane.closed = false;
					else if (lane.hidden || lane.all) lane.all = !lane.all;
					else lane.closed = true;
					this.layoutChanged();
				};
				const mark = lane.closed ? "\u25b8 " : lane.hidden ? "+" + lane.hidden + " " : "";
				const e = button(mark + lane.name, lane.closed ? "Open " + lane.name : lane.hidden ? "Show all rows of " + lane.name
					: lane.all ? "Show fewer rows of " + lane.name : "Close " + lane.name, change, { class: "tl-lane" });
				e.style.top = lane.y - top + "px";
				lanes.push(e);
			}
			const head = element("div", { class: "tl-head" }, fold, pin, element("span", { title: track.title + ", " + track.detail },
				track.title), ...lanes);
			head.style.top = top + "px";
			head.style.height = track.height + "px";
			heads.push(head);
		}
		this.heads.replaceChildren(...heads);
	}

	// Beside the ruler: what the steps of each row are.
	makeCorner() {
		const names = this.model.stepLines.map(line => {
			const p = this.data.root.rows.get(line.row);
			return p && p.count ? this.data.labels[p.label[0]].name : "";
		});
		this.corner.replaceChildren(...names.map((name, i) => {
			const e = element("span", { title: name }, i && names[i - 1] === name ? "" : name || "Steps");
			e.style.top = AXIS + i * ROW + "px";
			return e;
		}));
	}

	layoutChanged() {
		this.model.layout();
		this.makeHeads();
		this.resize();
	}

	resize() {
		const width = this.wrapper.clientWidth;
		if (!width || !this.painter) return;
		const narrow = width < 560;
		this.gutter = narrow ? 104 : 190;
		this.wrapper.classList.toggle("tl-narrow", narrow);
		const top = this.painter.top, room = this.printed ? PAPER_HEIGHT : this.large ? innerHeight * 0.62 : clamp(innerHeight * 0.62, 300, 640);
		const height = Math.round(Math.min(room, top + this.model.height));
		this.wrapper.style.height = height + 2 + "px"; // its border
		this.painter.resize(this.wrapper.clientWidth, height);
		this.wrapper.style.setProperty("--tl-gutter", this.gutter + "px");
		this.corner.style.height = top - 1 + "px";
		this.spacer.style.height = this.model.height + top + "px";
		this.heads.style.top = top + "px";
		this.overview.resize();
		this.paint();
	}

	// Draws at the next frame.
	changed() {
		if (this.waiting) return;
		this.waiting = true;
		requestAnimationFrame(() => {
			this.waiting = false;
			this.paint();
		});
	}

	paint() {
		if (!this.painter.width) return;
		this.painter.draw();
		this.overview.place();
		this.state.save();
	}

	setView(from, to) {
		const least = 20, whole = this.data.end, length = clamp(to - from, least, whole * 1.02);
		let start = (from + to) / 2 - length / 2;
		start = clamp(start, Math.min(0, whole - length) - whole * 0.01, Math.max(0, whole - length) + whole * 0.01);
		this.from = start;
		this.to = start + length;
		this.changed();
	}

	zoom(factor, x) {
		const at = x === undefined ? (this.from + this.to) / 2 : this.painter.time(clamp(x, this.gutter, this.painter.width));
		this.setView(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	zoomTo(from, to, margin) {
		const pad = Math.max((to - from) * margin, to > from ? 0 : 500);
		this.setView(from - pad, to + pad);
	}

	pan(pixels) {
		const ns = pixels / this.painter.perNs;
		this.setView(this.from + ns, this.to + ns);
	}

	fit() {
		if (this.range) this.zoomTo(this.range.from, this.range.to, 0);
		else if (this.selected) this.zoomTo(this.selected.start, this.selected.end, 0.3);
		else this.setView(0, this.data.end);
	}

	scrollTo(row) {
		const line = this.model.lineOf.get(row);
		if (!line) return;
		const room = this.painter.height - this.painter.top, y = line.y - this.wrapper.scrollTop;
		if (y < 10 || y > room - 30) this.wrapper.scrollTop = Math.max(0, line.y - room / 2);
	}

	select(item, move) {
		this.selected = item;
		if (move) {
			this.model.reveal(item.row);
			this.layoutChanged();
			if (item.start < this.from || item.end > this.to || (item.end - item.start) * this.painter.perNs < 3) {
				const length = clamp(this.to - this.from, item.end - item.start, Math.max((item.end - item.start) * 40, 20000));
				this.setView((item.start + item.end - length) / 2, (item.start + item.end + length) / 2);
			}
			this.scrollTo(item.row);
		}
		this.showTab("details");
		this.details.show(item);
		this.changed();
	}

	selectMiddle() {
		const p = this.painter, x = this.gutter + (p.width - this.gutter) / 2;
		const lines = this.model.lines.filter(l => !l.thin).concat(this.model.stepLines);
		const line = this.selected ? this.model.lineOf.get(this.selected.row) || lines[0] : lines[0];
		const item = [line, ...lines].map(l => l && this.data.itemAt(l.row, p.time(x), (this.to - this.from) / 2, p.cover)).find(Boolean);
		if (item) this.select(item, false);
	}

	async selectNext(way) {
		const s = this.selected;
		if (!s) return;
		for (let reach = this.to - this.from; ; reach *= 8) {
			const from = way > 0 ? s.end : s.start - reach, to = way > 0 ? s.end + reach : s.start;
			const cover = await this.data.covered(Math.max(from, 0), to, 0);
			let best = null;
			this.data.eachPiece(cover, s.row, from, to, (p, first, end) => {
				for (let i = first; i < end; i++)
					if ((p.start[i] - s.start) * way > 0 && (!best || (p.start[i] - best.start) * way < 0)) best = this.data.item(s.row, p, i);
			});
			if (best) return this.select(best, true);
			if (reach > this.data.end) return;
		}
	}

	selectRow(way) {
		const s = this.selected, lines = this.model.stepLines.concat(this.model.lines);
		if (!s) return this.selectMiddle();
		const middle = (Math.max(s.start, this.from) + Math.min(s.end, this.to)) / 2;
		for (let at = lines.findIndex(l => l.row === s.row) + way; lines[at]; at += way) {
			const item = this.data.itemAt(lines[at].row, middle, 0, this.painter.cover);
			if (!item) continue;
			this.select(item, false);
			this.scrollTo(item.row);
			return;
		}
	}

	async follow() {
		const s = this.selected;
		const item = s && s.linkRow >= 0 ? await this.data.itemFrom(s.linkRow, s.linkStart) : null;
		if (item) this.select(item, true);
	}

	clear() {
		this.selected = this.range = null;
		this.details.clear();
		this.changed();
	}

	escape() {
		if (this.help.open) this.toggleHelp();
		else if (this.measuring) this.setMeasuring(false);
		else if (this.selected || this.range) this.clear();
		else if (this.findings.current) this.findings.close();
		else if (this.large) this.enlarge();
	}

	setRange(from, to, moving) {
		const low = clamp(Math.min(from, to), 0, this.data.end), high = clamp(Math.max(from, to), 0, this.data.end);
		this.range = high > low ? { from: low, to: high } : null;
		this.changed();
		if (!moving) this.rangeDone();
	}

	rangeDone() {
		if (this.range) this.showTab(this.tab === "flame" ? "flame" : "range");
	}

	setMeasuring(on) {
		this.measuring = on;
		this.measureButton.setAttribute("aria-pressed", String(on));
		this.canvas.classList.toggle("tl-measuring", on);
	}

	// With keys alone: the selected item, else what is in sight.
	measure() {
		if (this.selected && this.selected.end > this.selected.start) this.setRange(this.selected.start, this.selected.end);
		else this.setRange(this.from, this.to);
		this.setMeasuring(true);
	}

	setFilter(text) {
		this.model.filter = text;
		if (this.filterInput.value !== text) this.filterInput.value = text;
		this.layoutChanged();
	}

	enlarge() {
		this.large = this.section.classList.toggle("tl-large");
		this.largeButton.setAttribute("aria-pressed", String(this.large));
		this.resize();
	}

	toggleHelp() {
		if (this.help.open) {
			this.help.close();
			this.canvas.focus();
		} else {
			this.help.showModal();
		}
	}

	showTab(tab) {
		this.tab = tab;
		for (const key of Object.keys(this.tabs)) {
			this.tabs[key].setAttribute("aria-selected", String(key === tab));
			this.panels[key].hidden = key !== tab;
		}
		if (!this.painter) return;
		const { from, to } = this.range || { from: Math.max(this.from, 0), to: Math.min(this.to, this.data.end) };
		if (tab === "range") this.statistics.show(from, to);
		if (tab === "flame") this.flame.show(from, to);
	}

	hover(at, e) {
		const hit = at && this.painter.cover && this.painter.hit(at.x, at.y), item = hit && hit.item;
		const pointer = at && e && e.pointerType !== "touch" ? at : null;
		if (pointer || this.pointer) this.changed();
		this.pointer = pointer;
		if (hit && hit.counter) {
			this.hovered = null;
			this.showTip(this.counterTip(hit.counter, this.painter.time(at.x)), e);
			return;
		}
		if ((item && item.start) !== (this.hovered && this.hovered.start) || (item && item.row) !== (this.hovered && this.hovered.row)) {
			this.hovered = item || null;
			this.changed();
		}
		this.tip.hidden = !item;
		if (!item) return;
		const label = this.data.labels[item.label], place = this.data.place(label.place);
		const lines = [(item.merged ? item.merged.toLocaleString("en") + " items, longest " : "") + labelName(label),
			duration(item.end - item.start) + " \u00b7 " + kindName(label)];
		if (place) lines.push(place.name + " \u2014 " + place.file + ":" + place.line);
		if (label.layer) lines.push(label.layer);
		this.showTip(lines, e);
	}

	counterTip(counter, time) {
		const values = this.model.counterAt(counter, time), unit = this.data.string(counter.unit);
		if (!values) return [];
		const [low, high] = values.map(x => quantity(x, unit));
		return [this.data.string(counter.name), low === high ? low : low + " to " + high];
	}

	showTip(lines, e) {
		this.tip.hidden = !lines.length;
		if (!lines.length) return;
		this.tip.replaceChildren(...lines.map(line => element("div", {}, line)));
		const width = this.tip.offsetWidth, left = Math.min(e.clientX + 14, innerWidth - width - 8);
		this.tip.style.left = Math.max(left, 4) + "px";
		this.tip.style.top = (e.clientY + 18 + this.tip.offsetHeight > innerHeight ? e.clientY - this.tip.offsetHeight - 10
			: e.clientY + 18) + "px";
	}

	say(text) {
		this.status.textContent = text;
	}
}

Data.open().then(async data => {
	await data.load(data.root);
	const timeline = new Timeline(data);
	timeline.resize();
	timeline.begin();
	await timeline.state.begin();
	// For tests and for those who measure.
	window.inferscopeTimeline = timeline;
	document.documentElement.setAttribute("data-timeline", "ready");
}, () => {
	// Without DecompressionStream the report is all there but its timeline.
	document.documentElement.setAttribute("data-timeline", "unavailable");
});
})();
