// Findings on the timeline: buttons at their cards, and a bar that goes from one occurrence to the
// next.

class Findings {
	constructor(timeline, bar) {
		this.t = timeline;
		this.bar = bar;
		this.items = timeline.data.meta.findings;
		this.current = null;
		this.at = 0;
		this.addButtons();
		this.addToRows();
	}

	// The less certain ones are rows of a table, in the order of the data behind those with cards.
	addToRows() {
		const cards = document.querySelectorAll(".finding").length;
		document.querySelectorAll("#also-seen tbody tr").forEach((row, i) => {
			const finding = this.items[cards + i], cell = row.cells[0];
			if (finding && finding.at.length && cell.textContent.trim() === finding.id)
				cell.append(" ", button("Show", "Show on the timeline: " + finding.title,
					() => this.show(finding, this.typical(finding)), { class: "tl-show" }));
		});
	}

	// The cards are headings "1. Title", likewise.
	addButtons() {
		const headings = [...document.querySelectorAll(".finding > h3")].filter(h => /^\d+\. /.test(h.textContent));
		for (const heading of headings) {
			const finding = this.items[parseInt(heading.textContent, 10) - 1];
			if (!finding || !finding.at.length || !heading.textContent.includes(finding.title.slice(0, 12))) continue;
			heading.append(" ", button("Show on the timeline", "Show on the timeline: " + finding.title,
				() => this.show(finding, this.typical(finding)), { class: "tl-show" }));
		}
	}

	count(finding) {
		return finding.at.length / 3;
	}

	// The page has the longest of them.
	which(finding) {
		const n = this.count(finding);
		return (n < finding.seen ? "the longest " : "") + n;
	}

	// The occurrence of median length, an example and not the extreme, of those whose surroundings the
	// page has in full.
	typical(finding) {
		const all = Array.from({ length: this.count(finding) }, (_, i) => i);
		const full = all.filter(i => this.t.data.isInFull(finding.at[3 * i])), order = full.length ? full : all;
		order.sort((a, b) => finding.at[3 * a + 1] - finding.at[3 * a] - finding.at[3 * b + 1] + finding.at[3 * b]);
		return order[order.length >> 1];
	}

	of(place) {
		return place ? this.items.find(f => f.place === place.index && f.at.length) : null;
	}

	async show(finding, at) {
		const t = this.t, n = this.count(finding);
		this.current = finding;
		this.at = (at + n) % n;
		const [from, to, row] = finding.at.slice(3 * this.at, 3 * this.at + 3);
		this.bar.replaceChildren(
			element("strong", {}, finding.title), " ",
			element("span", {}, "occurrence " + (this.at + 1) + " of " + this.which(finding)),
			button("\u2190 Previous", "Previous occurrence ([)", () => this.show(finding, this.at - 1)),
			button("Next \u2192", "Next occurrence (])", () => this.show(finding, this.at + 1)),
			button("Close", "Leave the finding", () => this.close()));
		this.bar.hidden = false;
		t.model.reveal(row);
		t.section.scrollIntoView({ block: "start" });
		if (!t.section.contains(document.activeElement)) t.canvas.focus({ preventScroll: true }); // for the keys
		const item = await t.data.itemFrom(row, from);
		t.gaps = await this.gapsOf(from, to);
		const last = Math.max(to, ...t.gaps.map(g => g.end)), first = Math.min(from, ...t.gaps.map(g => g.start));
		const pad = Math.max((last - first) * 1.2, 2000);
		t.setView(first - pad, last + pad);
		t.select(item || { row, start: from, end: to, label: 0, merged: 0, linkRow: -1, linkStart: 0 }, false);
		t.scrollTo(row);
		t.say(finding.title + ", occurrence " + (this.at + 1) + " of " + n);
	}

	// Idle times of the device that touch an occurrence, else the next one.
	async gapsOf(from, to) {
		const data = this.t.data, gaps = [], reach = Math.max(to - from, 1e6);
		const cover = await data.covered(from - 1, to + reach, 0);
		for (const row of data.rows) {
			if (row.lane !== LANE.BUSY) continue;
			const here = [], later = [];
			data.eachPiece(cover, row.index, from - 1, to + reach, (p, first, end) => {
				for (let i = first; i < end; i++) {
					if (data.labels[p.label[i]].kind !== KIND.IDLE) continue;
					const item = data.item(row.index, p, i);
					(item.start < to && item.end > from ? here : item.start >= to ? later : []).push(item);
				}
			});
			gaps.push(...(here.length ? here : later.slice(0, 1)));
		}
		return gaps;
	}

	step(way) {
		if (this.current) this.show(this.current, this.at + way);
	}

	close() {
		this.current = null;
		this.t.gaps = [];
		this.bar.hidden = true;
		this.t.changed();
	}
}
