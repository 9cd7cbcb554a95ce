// Draws what is in sight onto one canvas: the axis and the steps, which stay, and the tracks below.

const AXIS = 24;
const CHARACTER = 6.1; // a width of the canvas' font, in pixels
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

class Painter {
	constructor(timeline, canvas) {
		this.t = timeline;
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.frames = [];
		this.drawn = 0;
	}

	resize(width, height) {
		const scale = window.devicePixelRatio || 1;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.round(width * scale);
		this.canvas.height = Math.round(height * scale);
		this.canvas.style.width = width + "px";
		this.canvas.style.height = height + "px";
		this.context.setTransform(scale, 0, 0, scale, 0, 0);
	}

	x(ns) {
		return this.t.gutter + (ns - this.t.from) * this.perNs;
	}

	time(x) {
		return this.t.from + (x - this.t.gutter) / this.perNs;
	}

	get top() {
		return AXIS + this.t.model.stepLines.length * ROW + 4;
	}

	draw() {
		const began = performance.now();
		const t = this.t, c = this.context, theme = t.theme;
		this.perNs = Math.max(this.width - t.gutter, 10) / (t.to - t.from);
		this.cover = t.data.cover(t.from, t.to, 1 / this.perNs);
		this.drawn = 0;
		c.font = FONT;
		c.textBaseline = "middle";
		c.fillStyle = theme.card;
		c.fillRect(0, 0, this.width, this.height);
		c.save();
		c.beginPath();
		c.rect(t.gutter, 0, this.width - t.gutter, this.height);
		c.clip();
		this.drawGrid();
		c.save();
		c.beginPath();
		c.rect(t.gutter, this.top, this.width - t.gutter, this.height - this.top);
		c.clip();
		this.drawTracks();
		this.drawArrows();
		c.restore();
		c.fillStyle = theme.card;
		c.fillRect(t.gutter, 0, this.width - t.gutter, this.top - 1);
		this.drawAxis();
		for (const line of t.model.stepLines) this.drawLine(line, AXIS + line.y);
		this.drawRange();
		this.drawPointer();
		c.restore();
		c.fillStyle = theme.line;
		c.fillRect(0, this.top - 1, this.width, 1);
		c.fillRect(t.gutter - 1, 0, 1, this.height);
		this.frames.push(performance.now() - began);
		if (this.frames.length > 240) this.frames.shift();
	}

	// A step of 1, 2 or 5 times a power of ten, wide enough for its label.
	gridStep() {
		const digits = clamp(10 - Math.log10(110 / this.perNs), 0, 9);
		const rough = (44 + digits * 7) / this.perNs, power = 10 ** Math.floor(Math.log10(rough));
		return power * [1, 2, 5, 10].find(x => x * power >= rough * 0.999) || 1;
	}

	drawGrid() {
		const c = this.context, step = this.gridStep();
		c.fillStyle = this.t.theme.line;
		for (let ns = Math.ceil(this.t.from / step) * step; ns < this.t.to; ns += step)
			c.fillRect(Math.round(this.x(ns)), this.top, 1, this.height);
	}

	drawAxis() {
		const c = this.context, step = this.gridStep();
		c.fillStyle = this.t.theme.soft;
		c.textAlign = "left";
		for (let ns = Math.max(Math.ceil(this.t.from / step), 0) * step; ns < this.t.to; ns += step) {
			const x = Math.round(this.x(ns)), text = moment(ns, step);
			c.fillRect(x, AXIS - 7, 1, 5);
			if (x + 3 + text.length * CHARACTER <= this.width) c.fillText(text, x + 3, 9);
		}
	}

	// Where the mouse is, on the axis and across the tracks.
	drawPointer() {
		const c = this.context, at = this.t.pointer, theme = this.t.theme;
		if (!at || at.x < this.t.gutter) return;
		const text = moment(this.time(at.x), 1 / this.perNs), half = text.length * CHARACTER / 2 + 5;
		const middle = clamp(at.x, this.t.gutter + half, this.width - half);
		c.fillStyle = theme.soft;
		c.fillRect(Math.round(at.x), AXIS - 7, 1, this.height);
		c.fillRect(middle - half, 1, 2 * half, AXIS - 8);
		c.fillStyle = inkOn(theme.soft);
		c.textAlign = "center";
		c.fillText(text, middle, 9);
	}

	drawTracks() {
		const c = this.context, t = this.t, offset = this.top - t.scroll;
		for (const track of t.model.shown) {
			const y = track.y + offset;
			if (y > this.height || y + track.height < this.top) continue;
			c.fillStyle = t.theme.page;
			c.fillRect(t.gutter, y, this.width - t.gutter, HEAD - 3);
			if (t.model.firsts.has(track)) {
				c.fillStyle = t.theme.soft;
				c.textAlign = "left";
				c.fillText(track.detail, t.gutter + 4, y + HEAD / 2 - 1);
			}
			if (track.type === TRACK.COUNTER && !track.collapsed) this.drawCounter(track, track.bodyY + offset);
		}
		for (const line of t.model.lines) {
			const y = line.y + offset;
			if (y < this.height && y + line.height > this.top) this.drawLine(line, y);
		}
		for (const track of t.model.shown) this.drawPauses(track, track.y + offset);
	}

	// The items of a row; those narrower than a pixel once for each pixel.
	drawLine(line, y) {
		const c = this.context, t = this.t, labels = t.data.labels, height = line.height;
		const left = t.gutter, width = this.width, from = t.from, perNs = this.perNs;
		const found = t.matches, dim = found && found.size >= 0;
		const texts = [], device = line.lane.lane === LANE.BUSY;
		let last = -1, style = "", alpha = 1;
		c.textAlign = "left";
		t.data.eachPiece(this.cover, line.row, t.from, t.to, (p, first, end) => {
			for (let i = first; i < end; i++) {
				let x = left + (p.start[i] - from) * perNs, right = left + (p.end[i] - from) * perNs;
				const pixel = x | 0;
				if (right - x < 1) {
					if (pixel === last && !(dim && found.has(p.label[i]))) continue;
					last = pixel;
					x = pixel;
					right = x + 1;
				} else {
					last = -1;
				}
				const index = p.label[i], label = labels[index];
				const colour = t.theme.colour(index, labels);
				const merged = p.merged ? p.merged[i] : 0;
				const wanted = dim && !found.has(index) ? 0.2
					: label.kind === KIND.SAMPLED ? 0.5
						: merged && !device ? 0.35 + 0.65 * p.cover[i] / 255 : 1;
				if (wanted !== alpha) c.globalAlpha = alpha = wanted;
				if (colour[0] !== style) c.fillStyle = style = colour[0];
				if (x < left) x = left;
				if (right > width) right = width;
				const gap = right - x > 3 ? 0.6 : 0;
				if (label.kind === KIND.PAUSE) this.hatch(x, y, right - x, height);
				else c.fillRect(x, y, right - x - gap, height);
				this.drawn++;
				if (merged && device && p.cover[i] && label.kind === KIND.IDLE) {
					// The busy part of what was merged.
					const part = Math.max(1, height * p.cover[i] / 255);
					c.fillStyle = style = t.theme.busy;
					c.fillRect(x, y + height - part, right - x - gap, part);
				}
				if (label.kind === KIND.SAMPLED && right - x > 4) {
					c.fillRect(x, y + height - 2, right - x - gap, 2);
				}
				if (right - x > 26 && height > 10) texts.push(x, right, index, p.end[i] - p.start[i], alpha);
			}
		});
		c.globalAlpha = 1;
		for (let k = 0; k < texts.length; k += 5) {
			const label = labels[texts[k + 2]], room = Math.floor((texts[k + 1] - texts[k] - 6) / CHARACTER);
			let text = this.textOf(label, texts[k + 1] - texts[k], texts[k + 3]);
			if (text.length > room) text = room > 2 ? text.slice(0, room - 1) + "\u2026" : "";
			const ink = texts[k + 4] < 1 ? t.theme.ink : t.theme.colour(texts[k + 2], labels)[1];
			c.fillStyle = ink;
			if (text) c.fillText(text, texts[k] + 3, y + height / 2 + 0.5, texts[k + 1] - texts[k] - 4);
		}
		this.drawSelected(line, y);
	}

	textOf(label, width, ns) {
		const name = labelName(label);
		if (label.kind === KIND.STEP && width > 120) return name + "  " + duration(ns);
		if (label.kind === KIND.IDLE && label.place) {
			const place = this.t.data.place(label.place);
			return name + " \u00b7 " + place.name + (place.line ? ":" + place.line : "");
		}
		return name;
	}

	drawSelected(line, y) {
		const c = this.context, t = this.t;
		const frame = (item, colour, wide) => {
			const x = Math.max(this.x(item.start), t.gutter - 4), right = Math.min(this.x(item.end), this.width + 4);
			c.strokeStyle = colour;
			c.lineWidth = wide;
			c.strokeRect(x - 0.5, y - 0.5, Math.max(right - x, 2) + 1, line.height + 1);
		};
		if (t.selected && t.selected.row === line.row) frame(t.selected, t.theme.ink, 2);
		// Gaps with nothing to see between them have one frame.
		let united = null;
		for (const gap of t.gaps) {
			if (gap.row !== line.row) continue;
			if (united && this.x(gap.start) - this.x(united.end) < 8) {
				united.end = gap.end;
				continue;
			}
			if (united) frame(united, t.theme.mark, 3);
			united = { start: gap.start, end: gap.end };
		}
		if (united) frame(united, t.theme.mark, 3);
		if (t.hovered && t.hovered.row === line.row) frame(t.hovered, t.theme.soft, 1);
	}

	drawPauses(track, y) {
		const t = this.t, frames = track.lanes.find(l => l.lane === LANE.FRAMES);
		const open = frames && !track.collapsed && !frames.closed;
		const top = open ? y - track.y + frames.y : y + HEAD - 3, height = open ? frames.end - frames.y - 2 : 6;
		for (const row of track.pauses)
			t.data.eachPiece(this.cover, row, t.from, t.to, (p, first, end) => {
				for (let i = first; i < end; i++) {
					const x = Math.max(this.x(p.start[i]), t.gutter), right = Math.min(this.x(p.end[i]), this.width);
					if (right - x >= 2) this.hatch(x, top, right - x, height);
				}
			});
	}

	hatch(x, y, width, height) {
		const c = this.context;
		c.save();
		c.beginPath();
		c.rect(x, y, width, height);
		c.clip();
		c.globalAlpha = 0.35;
		c.strokeStyle = this.t.theme.soft;
		c.lineWidth = 1;
		c.beginPath();
		for (let at = x - height - (x - height) % 8; at < x + width; at += 8) {
			c.moveTo(at, y + height);
			c.lineTo(at + height, y);
		}
		c.stroke();
		c.restore();
	}

	drawCounter(track, y) {
		const c = this.context, t = this.t, points = track.counter.points;
		let high = 0;
		for (let i = 0; i < points.length; i += 3) high = Math.max(high, points[i + 2]);
		const scale = high > 0 ? (COUNTER_HEIGHT - 14) / high : 0, bottom = y + COUNTER_HEIGHT - 2;
		c.beginPath();
		c.moveTo(this.x(points[0]), bottom);
		for (let i = 0; i < points.length; i += 3) {
			const x = this.x(points[i]);
			if (i) c.lineTo(x, bottom - points[i - 1] * scale);
			c.lineTo(x, bottom - points[i + 2] * scale);
			c.lineTo(x, bottom - points[i + 1] * scale);
		}
		c.lineTo(this.x(points[points.length - 3]), bottom);
		c.closePath();
		c.fillStyle = t.theme.accentSoft;
		c.fill();
		c.strokeStyle = t.theme.accent;
		c.lineWidth = 1;
		c.stroke();
		c.fillStyle = t.theme.soft;
		c.textAlign = "right";
		c.fillText(quantity(high, t.data.string(track.counter.unit)), this.width - 4, y + 5);
	}

	// Where a row is on the canvas; null: out of sight.
	lineY(row) {
		const line = this.t.model.lineOf.get(row);
		return line ? line.y + line.height / 2 + this.top - this.t.scroll : null;
	}

	arrow(fromRow, fromNs, toRow, toNs) {
		const c = this.context, y = this.lineY(fromRow), end = this.lineY(toRow);
		if (y === null || end === null) return;
		const x = this.x(fromNs), right = this.x(toNs), bend = Math.max(20, Math.abs(right - x) / 2);
		c.beginPath();
		c.moveTo(x, y);
		c.bezierCurveTo(x + bend, y, right - bend, end, right - 3, end);
		c.stroke();
		c.beginPath();
		c.moveTo(right, end);
		c.lineTo(right - 7, end - 4);
		c.lineTo(right - 7, end + 4);
		c.fill();
	}

	// From a launch to what it started; from a kernel's launch to the kernel.
	drawArrows() {
		const t = this.t, s = t.selected;
		if (!s || s.linkRow < 0) return;
		const c = this.context;
		c.strokeStyle = c.fillStyle = t.theme.mark;
		c.lineWidth = 1.5;
		const kind = t.data.labels[s.label].kind;
		if (kind !== KIND.CALL && kind !== KIND.SYNC) {
			this.arrow(s.linkRow, s.linkStart, s.row, s.start);
			return;
		}
		let left = 200;
		for (const line of t.model.lines) {
			if (line.lane.lane !== LANE.STREAM) continue;
			t.data.eachPiece(this.cover, line.row, t.from, t.to, (p, first, end) => {
				for (let i = first; i < end && left > 0; i++)
					if (p.linkRow && p.linkRow[i] === s.row && p.linkStart[i] === s.start) {
						this.arrow(s.row, s.start, line.row, p.start[i]);
						left--;
					}
			});
		}
		if (left === 200) this.arrow(s.row, s.start, s.linkRow, s.linkStart);
	}

	drawRange() {
		const c = this.context, range = this.t.range;
		if (!range) return;
		const x = this.x(range.from), right = this.x(range.to);
		c.fillStyle = this.t.theme.accentSoft;
		c.fillRect(x, 0, right - x, this.height);
		c.fillStyle = this.t.theme.accent;
		c.fillRect(x, 0, 1, this.height);
		c.fillRect(right, 0, 1, this.height);
		c.textAlign = "center";
		const text = duration(range.to - range.from), half = text.length * CHARACTER / 2 + 6;
		const middle = clamp((x + right) / 2, this.t.gutter + half, this.width - half);
		c.fillRect(middle - half, this.height - 24, 2 * half, 18);
		c.fillStyle = inkOn(this.t.theme.accent);
		c.fillText(text, middle, this.height - 14.5);
	}

	// The line and the item under a point; the item may be null.  Or the counter.
	hit(x, y) {
		const t = this.t;
		if (x < t.gutter || y < 0 || y > this.height) return null;
		const counter = y < this.top ? null : t.model.shown.find(track => track.type === TRACK.COUNTER && !track.collapsed &&
			y - this.top + t.scroll >= track.y && y - this.top + t.scroll < track.y + track.height);
		if (counter) return { counter: counter.counter, line: null, item: null };
		const lines = y < this.top ? t.model.stepLines : t.model.lines;
		const at = y < this.top ? y - AXIS : y - this.top + t.scroll;
		const line = lines.find(l => at >= l.y - 1 && at < l.y + l.height + 1);
		if (!line) return null;
		return { line, item: t.data.itemAt(line.row, this.time(x), 3 / this.perNs, this.cover) };
	}
}
