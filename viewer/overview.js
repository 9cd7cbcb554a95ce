// The whole run in a strip above the tracks, and the part of it that is in sight.  A drag moves that
// part, a click anywhere else goes there.  Keys do the same on the canvas: the strip is for the eye.

const OVERVIEW_ROW = 8, OVERVIEW_LINES = 4;

class Overview {
	constructor(timeline, place) {
		this.t = timeline;
		this.element = place;
		this.canvas = element("canvas", {});
		this.window = element("div", { class: "tl-window" });
		this.element.append(element("span", {}, "All, " + duration(timeline.data.end)), this.canvas, this.window);
		this.lines = this.chooseLines();
		// The strip is a picture of its own: from 0 to the end, with nothing selected.
		this.painter = new Painter({ data: timeline.data, model: timeline.model, theme: timeline.theme, gutter: 0, from: 0,
			to: timeline.data.end, scroll: 0, selected: null, hovered: null, matches: null, gaps: [] }, this.canvas);
		this.width = 0;
		this.element.addEventListener("pointerdown", e => this.down(e));
		this.element.addEventListener("pointermove", e => this.move(e));
		for (const name of ["pointerup", "pointercancel"]) this.element.addEventListener(name, () => { this.held = null; });
		this.element.addEventListener("dblclick", () => timeline.setView(0, timeline.data.end));
	}

	// The steps and the devices; without a device, the outermost calls of the busiest threads.
	chooseLines() {
		const t = this.t, row = (track, lane) => track.lanes.filter(l => l.lane === lane).map(l => ({ row: l.rows[0], lane: l, track }));
		const gpus = t.model.tracks.filter(track => track.type === TRACK.GPU);
		const threads = t.model.tracks.filter(track => track.type === TRACK.THREAD).sort((a, b) => b.items - a.items);
		const lines = t.model.stepLines.slice(0, 1).map(l => ({ row: l.row, lane: l.lane, track: l.track }));
		for (const track of gpus) lines.push(...row(track, LANE.BUSY));
		for (const track of gpus.length ? [] : threads)
			lines.push(...track.lanes.filter(l => [LANE.LAYERS, LANE.FRAMES, LANE.SAMPLES].includes(l.lane)).slice(0, 1)
				.map(l => ({ row: l.rows[this.t.model.outerRows(l)], lane: l, track })));
		return lines.slice(0, OVERVIEW_LINES);
	}

	resize() {
		const left = this.t.gutter, width = this.t.painter.width - left - 1, height = Math.max(this.lines.length, 2) * OVERVIEW_ROW;
		this.canvas.style.left = left + "px";
		this.element.style.setProperty("--tl-gutter", left + "px");
		if (width === this.width || width < 10) return;
		this.width = width;
		this.element.style.height = height + "px";
		this.painter.resize(width, height);
		this.draw();
	}

	draw() {
		const p = this.painter, data = this.t.data;
		if (!this.width || !data.root.rows) return;
		p.perNs = this.width / data.end;
		p.cover = [{ node: data.root, whole: true, parts: null }];
		p.context.fillStyle = p.t.theme.page;
		p.context.fillRect(0, 0, this.width, p.height);
		this.lines.forEach((line, i) => p.drawLine({ ...line, height: OVERVIEW_ROW - 1 }, i * OVERVIEW_ROW));
	}

	// Each time that the view changes: an element moves, nothing is drawn.
	place() {
		const t = this.t, scale = this.width / t.data.end;
		const from = clamp(t.from, 0, t.data.end) * scale, to = clamp(t.to, 0, t.data.end) * scale;
		const width = Math.max(to - from, 5);
		this.window.style.left = t.gutter + Math.min(from, this.width - width) + "px";
		this.window.style.width = width + "px";
	}

	time(e) {
		return (e.clientX - this.canvas.getBoundingClientRect().left) / this.width * this.t.data.end;
	}

	down(e) {
		const t = this.t, time = this.time(e);
		if (e.button > 0 || time < 0) return;
		e.preventDefault();
		this.element.setPointerCapture(e.pointerId);
		this.held = e.target === this.window ? time - t.from : (t.to - t.from) / 2;
		this.move(e);
	}

	move(e) {
		const t = this.t;
		if (this.held === null || this.held === undefined) return;
		const from = this.time(e) - this.held;
		t.setView(from, from + t.to - t.from);
	}
}
