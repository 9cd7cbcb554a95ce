// Mouse, trackpad, touch and keyboard.

const KEYS = [
	["W / S", "zoom in, out (also + and \u2212, Ctrl + wheel, pinch)"],
	["A / D, \u2190 / \u2192", "move left, right (also drag, Shift + wheel)"],
	["\u2191 / \u2193", "scroll the tracks"],
	["F", "fit: the selection, the selected item, or everything"],
	["0", "everything"],
	["/", "search; Enter and Shift + Enter go to the next and previous match"],
	["M", "measure: the time of the selected item, or what is in sight; drag on the ruler, or with Shift, to choose"],
	["Enter", "select the item in the middle"],
	[", and .", "previous and next item of the row"],
	["Shift + \u2191 / \u2193", "select in the row above, below"],
	["G", "go to the launch, or to what was launched"],
	["[ and ]", "previous and next occurrence of a finding"],
	["X", "flame graph of the selection"],
	["Esc", "close, or clear the selection"],
	["?", "this list"],
];

class Input {
	constructor(timeline) {
		this.t = timeline;
		this.pointers = new Map();
		this.drag = null;
		const canvas = timeline.canvas, on = (name, f, options) => canvas.addEventListener(name, f, options);
		on("wheel", e => this.wheel(e), { passive: false });
		on("pointerdown", e => this.down(e));
		on("pointermove", e => this.move(e));
		on("pointerup", e => this.up(e));
		on("pointercancel", e => this.up(e));
		on("pointerleave", () => this.t.hover(null));
		on("dblclick", e => this.double(e));
		timeline.section.addEventListener("keydown", e => this.key(e));
	}

	at(e) {
		const r = this.t.canvas.getBoundingClientRect();
		return { x: e.clientX - r.left, y: e.clientY - r.top };
	}

	wheel(e) {
		const t = this.t, { x } = this.at(e), scale = e.deltaMode === 1 ? 30 : 1;
		if (e.ctrlKey || e.metaKey) {
			e.preventDefault();
			t.zoom(Math.exp(clamp(e.deltaY * scale, -120, 120) * 0.006), x);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			t.pan((e.deltaX || e.deltaY) * scale);
		}
		// Otherwise the tracks scroll, and at their end the page.
	}

	down(e) {
		const t = this.t, at = this.at(e);
		if (at.x < t.gutter || e.button > 0) return;
		this.pointers.set(e.pointerId, at);
		t.canvas.setPointerCapture(e.pointerId);
		const ranged = e.shiftKey || t.measuring || at.y < AXIS;
		this.drag = { start: at, last: at, moved: false, ranged, time: t.painter.time(at.x) };
		if (this.pointers.size === 2) this.drag.pinch = this.spread();
	}

	spread() {
		const [a, b] = [...this.pointers.values()];
		return { width: Math.max(Math.abs(a.x - b.x), 10), middle: (a.x + b.x) / 2 };
	}

	move(e) {
		const t = this.t, at = this.at(e), d = this.drag;
		if (!d || !this.pointers.has(e.pointerId)) {
			t.hover(at, e);
			return;
		}
		this.pointers.set(e.pointerId, at);
		if (Math.abs(at.x - d.start.x) > 4 || Math.abs(at.y - d.start.y) > 4) d.moved = true;
		if (this.pointers.size === 2 && d.pinch) {
			const now = this.spread();
			t.zoom(d.pinch.width / now.width, now.middle);
			t.pan(d.pinch.middle - now.middle);
			d.pinch = now;
		} else if (d.ranged && d.moved) {
			t.setRange(d.time, t.painter.time(at.x), true);
		} else if (d.moved) {
			t.pan(d.last.x - at.x);
			if (e.pointerType === "mouse") t.wrapper.scrollTop += d.last.y - at.y;
		}
		d.last = at;
	}

	up(e) {
		const t = this.t, d = this.drag;
		this.pointers.delete(e.pointerId);
		if (!d) return;
		if (this.pointers.size) {
			d.moved = true;
			return;
		}
		this.drag = null;
		if (d.ranged && d.moved) {
			t.setMeasuring(false);
			t.rangeDone();
		} else if (!d.moved && e.type === "pointerup") {
			const hit = t.painter.hit(d.start.x, d.start.y);
			if (hit && hit.item) t.select(hit.item, false);
			else t.clear();
		}
	}

	double(e) {
		const t = this.t, { x, y } = this.at(e), hit = t.painter.hit(x, y);
		if (hit && hit.item) t.zoomTo(hit.item.start, hit.item.end, hit.item.end > hit.item.start ? 0.03 : 0.2);
		else if (x >= t.gutter) t.zoom(0.5, x);
	}

	key(e) {
		const t = this.t, typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
		if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.target.tagName === "BUTTON" && (e.key === "Enter" || e.key === " ")) return;
		const span = t.painter.width - t.gutter, middle = t.gutter + span / 2;
		const shifted = { ArrowUp: () => t.selectRow(-1), ArrowDown: () => t.selectRow(1) };
		const actions = {
			w: () => t.zoom(0.7, middle), s: () => t.zoom(1 / 0.7, middle), "+": () => t.zoom(0.7, middle),
			"-": () => t.zoom(1 / 0.7, middle), a: () => t.pan(-span * 0.15), d: () => t.pan(span * 0.15),
			ArrowLeft: () => t.pan(-span * 0.1), ArrowRight: () => t.pan(span * 0.1),
			ArrowUp: () => { t.wrapper.scrollTop -= 40; }, ArrowDown: () => { t.wrapper.scrollTop += 40; },
			f: () => t.fit(), 0: () => t.setView(0, t.data.end), "/": () => t.search.input.focus(),
			m: () => t.measure(), "?": () => t.toggleHelp(), Enter: () => t.selectMiddle(), ",": () => t.selectNext(-1),
			".": () => t.selectNext(1), g: () => t.follow(), "[": () => t.findings.step(-1), "]": () => t.findings.step(1),
			x: () => t.showTab("flame"), Escape: () => t.escape(),
		};
		const action = (e.shiftKey && shifted[e.key]) || actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
		if (!action) return;
		e.preventDefault();
		action();
	}
}
