// What is looked at, in the address after #, so that a view can be shared: "#tl=from,to&sel=..".

class State {
	constructor(timeline) {
		this.t = timeline;
		this.timer = 0;
		this.last = ""; // as saved
		addEventListener("hashchange", () => this.restore());
	}

	text() {
		const t = this.t, parts = ["tl=" + Math.round(t.from) + "," + Math.round(t.to)];
		if (t.selected) parts.push("sel=" + t.selected.row + "," + t.selected.start);
		if (t.range) parts.push("range=" + Math.round(t.range.from) + "," + Math.round(t.range.to));
		if (t.tab !== "details") parts.push("tab=" + t.tab);
		if (t.search.input.value) parts.push("find=" + encodeURIComponent(t.search.input.value));
		if (t.model.filter) parts.push("tracks=" + encodeURIComponent(t.model.filter));
		const pinned = t.model.tracks.filter(track => track.pinned), closed = t.model.tracks.filter(track => track.collapsed);
		if (pinned.length) parts.push("pin=" + pinned.map(track => track.id));
		if (closed.length) parts.push("closed=" + closed.map(track => track.id));
		if (t.findings.current) parts.push("finding=" + t.findings.items.indexOf(t.findings.current) + "," + t.findings.at);
		return "#" + parts.join("&");
	}

	save() {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			const text = this.text();
			if (text !== this.last) history.replaceState(null, "", this.last = text);
		}, 300);
	}

	// The first view needs no address: a link to a chapter stays in it until something changes.
	begin() {
		this.last = this.text();
		return this.restore();
	}

	async restore() {
		const t = this.t, parts = new Map();
		if (!location.hash.startsWith("#tl=") || location.hash === this.text()) return;
		for (const part of location.hash.slice(1).split("&")) {
			const at = part.indexOf("=");
			if (at < 0) continue;
			try {
				parts.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
			} catch (_) {
				// Not ours: somebody cut it.
			}
		}
		this.t.section.scrollIntoView({ block: "start" });
		const numbers = key => (parts.get(key) || "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
		const [from, to] = numbers("tl"), [row, start] = numbers("sel"), range = numbers("range"), finding = numbers("finding");
		const pinned = new Set(numbers("pin")), closed = new Set(numbers("closed"));
		for (const track of t.model.tracks) {
			track.pinned = pinned.has(track.id);
			track.collapsed = closed.has(track.id);
		}
		t.setFilter(parts.get("tracks") || "");
		if (finding.length === 2 && t.findings.items[finding[0]]) await t.findings.show(t.findings.items[finding[0]], finding[1]);
		if (to > from) t.setView(from, to);
		if (parts.has("find")) t.search.set(parts.get("find"));
		if (range.length === 2 && range[1] > range[0]) t.setRange(range[0], range[1]);
		if (t.data.rows[row] && start >= 0) {
			const item = await t.data.itemFrom(row, start);
			if (item) t.select(item, false);
		}
		if (Object.hasOwn(t.panels, parts.get("tab") || "")) t.showTab(parts.get("tab"));
		t.layoutChanged();
	}
}
