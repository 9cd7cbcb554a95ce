// What there is to draw: kinds, lanes and tracks.  The numbers are those of
// src/report/viewdata/view_names.h and view_rows.h.

const KIND = { STEP: 0, SCOPE: 1, FRAME: 2, SAMPLED: 3, LAYER: 4, CALL: 5, KERNEL: 6, COPY: 7, MEMSET: 8, GRAPH: 9,
	BUSY: 10, IDLE: 11, WAIT: 12, SYNC: 13, GC: 14, COMPILE: 15, PAUSE: 16 };
const LANE = { STEPS: 0, BUSY: 1, STREAM: 2, SCOPES: 3, WAITS: 4, SYNC: 5, GC: 6, LAYERS: 7, CALLS: 8, FRAMES: 9,
	SAMPLES: 10, PAUSES: 11, COMPILE: 12 };
const TRACK = { STEPS: 0, GPU: 1, STREAM: 2, THREAD: 3, COUNTER: 4 };

const KIND_NAMES = ["Step", "Scope", "Python call", "Python frame (sampled)", "Layer", "CUDA call", "Kernel", "Copy",
	"Memset", "CUDA graph", "GPU busy", "GPU idle", "Wait", "CUDA call that waits", "Garbage collection",
	"Compilation", "Not recorded"];
// What an item is called, its colour, what the legend calls it.
const WAITS = { 2: ["Waits for the GIL", "gil_wait", "GIL"], 3: ["Waits for a lock", "lock_wait", "lock"],
	4: ["Waits for I/O", "io_wait", "I/O"], 5: ["Waits", "idle", "other"], 6: ["Sleeps", "sleep", "sleep"],
	100: ["Waits for the GPU", "sync_wait", "GPU"] };
// By enum cuda_call.
const CALL_CLASSES = ["framework", "launch", "launch", "h2d", "launch", "sync_wait", "sync_wait", "sync_wait",
	"allocation", "allocation", "allocation", "allocation", "launch", "compile", "compile", "compile"];
const COPIES = { 1: "h2d", 2: "d2h" };

// From top to bottom of a thread.  rows: how many of them are shown unless all are asked for.
const LANES = [
	{ lane: LANE.SCOPES, name: "Scopes, NVTX", rows: 8 },
	{ lane: LANE.WAITS, name: "Waits (sampled)", rows: 1 },
	{ lane: LANE.SYNC, name: "GPU waits", rows: 1 },
	{ lane: LANE.GC, name: "GC", rows: 1 },
	{ lane: LANE.COMPILE, name: "Compile, loader", rows: 1 },
	{ lane: LANE.LAYERS, name: "Layers", rows: 6 },
	{ lane: LANE.CALLS, name: "CUDA calls", rows: 2 },
	{ lane: LANE.FRAMES, name: "Python calls", rows: 10 },
	{ lane: LANE.SAMPLES, name: "Python (sampled)", rows: 10 },
];
const THREADS_OPEN = 12;
const MINOR_STREAM = 0.01; // of the items of its process' greatest stream: one with less begins collapsed
const ROW = 17, THIN = 5, COUNTER_HEIGHT = 38, TRACK_GAP = 5, HEAD = 18;

function kindName(label) {
	return label.kind === KIND.COMPILE && label.class !== "compile" ? "Wait" : KIND_NAMES[label.kind];
}

function labelName(label) {
	if (label.kind === KIND.WAIT) return (WAITS[label.what] || WAITS[5])[0];
	if (label.kind === KIND.GC) return "GC generation " + label.what;
	if (label.kind === KIND.COMPILE) return label.class === "compile" ? "Compilation" : "DataLoader wait";
	if (label.kind === KIND.COPY) return "Copy " + label.name;
	return label.name || KIND_NAMES[label.kind];
}

class Model {
	constructor(data) {
		this.data = data;
		this.makeTracks();
		this.collapseMost();
		this.filter = "";
		this.layout();
	}

	processName(i) {
		const p = i ? this.data.meta.processes[i - 1] : null;
		return p ? shorten(this.data.string(p[0]), 60) + " (" + p[1] + ")" : "Machine";
	}

	makeTracks() {
		const meta = this.data.meta;
		this.tracks = meta.tracks.map(([type, name, process, number, device], i) => ({
			id: i, type, name: this.data.string(name), process, number, device, lanes: [], pauses: [], items: 0,
			pinned: false, collapsed: false, title: "", detail: ""
		}));
		for (const row of this.data.rows) {
			const track = this.tracks[row.track];
			track.items += row.count;
			if (row.lane === LANE.PAUSES) {
				track.pauses.push(row.index);
				continue;
			}
			let lane = track.lanes.find(l => l.lane === row.lane);
			if (!lane) {
				const known = LANES.find(l => l.lane === row.lane);
				lane = { lane: row.lane, name: known ? known.name : "", limit: known ? known.rows : 16, all: false,
					closed: false, rows: [] };
				track.lanes.push(lane);
			}
			lane.rows.push(row.index);
		}
		for (const track of this.tracks) this.finishTrack(track);
		meta.counters.forEach((counter, i) => this.tracks.push({
			id: meta.tracks.length + i, type: TRACK.COUNTER, process: counter.process, number: i, lanes: [], pauses: [],
			items: 0, pinned: false, collapsed: false, counter, title: this.data.string(counter.name),
			detail: this.processName(counter.process)
		}));
		const order = t => [t.type === TRACK.STEPS ? 0 : t.process || 1e9, t.type, -t.items];
		this.steps = this.tracks.find(t => t.type === TRACK.STEPS);
		this.tracks = this.tracks.filter(t => t.type === TRACK.COUNTER || t.lanes.length || t.pauses.length)
			.sort((a, b) => {
				const x = order(a), y = order(b);
				return x[0] - y[0] || x[1] - y[1] || x[2] - y[2] || a.id - b.id;
			});
	}

	// A server may have a thread for each request, a framework many streams: those with most items are open.
	collapseMost() {
		const streams = this.tracks.filter(t => t.type === TRACK.STREAM);
		for (const track of streams)
			track.collapsed = streams.some(t => t.process === track.process && t.items * MINOR_STREAM > track.items);

		const threads = this.tracks.filter(t => t.type === TRACK.THREAD).sort((a, b) => b.items - a.items);
		for (const track of threads.slice(THREADS_OPEN)) track.collapsed = true;
	}

	finishTrack(track) {
		const place = lane => LANES.findIndex(l => l.lane === lane.lane);
		track.lanes.sort((a, b) => place(a) - place(b));
		for (const lane of track.lanes) lane.rows.sort((a, b) => this.data.rows[a].depth - this.data.rows[b].depth);
		// Samples repeat what calls say where calls were recorded.
		const samples = track.lanes.find(l => l.lane === LANE.SAMPLES);
		const frames = track.lanes.find(l => l.lane === LANE.FRAMES);
		if (samples && frames && track.pauses.length) frames.limit = 3;
		else if (samples && frames) samples.closed = true;
		track.detail = this.processName(track.process);
		if (track.type === TRACK.STEPS) [track.title, track.detail] = ["Steps", ""];
		else if (track.type === TRACK.GPU) track.title = "GPU" + (track.name ? " \u00b7 " + track.name : "");
		else if (track.type === TRACK.STREAM) track.title = "GPU " + track.device + ", stream " + track.number;
		else track.title = track.name.includes(track.number) ? track.name : (track.name || "Thread") + " " + track.number;
	}

	// Where everything is, from y = 0 down; steps stand above by themselves.
	layout() {
		const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
		const shown = this.tracks.filter(t => t !== this.steps &&
			words.every(w => (t.title + " " + t.detail).toLowerCase().includes(w)));
		let y = 0;
		this.shown = shown.filter(t => t.pinned).concat(shown.filter(t => !t.pinned));
		// Where a process begins, if there are several.
		const processes = new Set(this.tracks.filter(t => t.process).map(t => t.process));
		this.firsts = new Set(processes.size < 2 ? [] : this.shown.filter((t, i) => t.process && (!i || this.shown[i - 1].process !== t.process)));
		this.lines = []; // rows that are drawn: { row, y, height }
		for (const track of this.shown) {
			track.y = y;
			y += HEAD;
			if (track.type === TRACK.COUNTER) {
				track.bodyY = y;
				if (!track.collapsed) y += COUNTER_HEIGHT;
			} else {
				y = this.layoutLanes(track, y);
			}
			track.height = y - track.y;
			y += TRACK_GAP;
		}
		this.height = y;
		this.stepLines = [];
		const lanes = this.steps ? this.steps.lanes : [];
		for (const lane of lanes)
			for (const row of lane.rows.slice(0, 4))
				this.stepLines.push({ row, y: this.stepLines.length * ROW, height: ROW - 2, track: this.steps, lane });
		this.lineOf = new Map(this.lines.map(line => [line.row, line]));
	}

	// Of a lane with more rows than are shown: the outermost calls that last for all of the run, such as
	// <module> and main.  They are drawn thin, so that what they call is in sight.
	outerRows(lane) {
		const calls = lane.lane === LANE.FRAMES || lane.lane === LANE.SAMPLES || lane.lane === LANE.LAYERS;
		if (!calls || lane.all || lane.rows.length <= lane.limit) return 0;
		const first = lane.rows.findIndex(row => this.data.rows[row].count > 1);
		return first < 0 ? 0 : Math.min(first, lane.rows.length - lane.limit);
	}

	layoutLanes(track, y) {
		if (track.collapsed && track.lanes.length === 1) {
			// In the line of its name.
			this.lines.push({ row: track.lanes[0].rows[0], y: track.y + 5, height: 5, track, lane: track.lanes[0], thin: true });
			return y;
		}
		for (const lane of track.lanes) {
			const outer = this.outerRows(lane);
			const rows = lane.all ? lane.rows : lane.rows.slice(0, lane.limit + outer);
			lane.y = y;
			lane.hidden = lane.rows.length - rows.length + outer;
			if (track.collapsed) {
				// A thin band that shows where something is.
				if (rows.length) this.lines.push({ row: rows[0], y: y, height: 5, track, lane, thin: true });
				y += 6;
				continue;
			}
			if (lane.closed) {
				this.lines.push({ row: rows[0], y: y + 1, height: 6, track, lane, thin: true });
				y += 12;
				continue;
			}
			rows.forEach((row, i) => {
				const height = i < outer ? THIN : ROW;
				this.lines.push({ row, y, height: height - (i < outer ? 1 : 2), track, lane, thin: i < outer });
				y += height;
			});
			lane.end = y;
			y += 2;
		}
		return y;
	}

	// Least and greatest value of a counter at a moment; null before the first and after the last.
	counterAt(counter, time) {
		const p = counter.points;
		if (time < p[0] || time > p[p.length - 3]) return null;
		let low = 0, high = p.length / 3;
		while (high - low > 1) {
			const middle = (low + high) >> 1;
			if (p[3 * middle] <= time) low = middle;
			else high = middle;
		}
		return [p[3 * low + 1], p[3 * low + 2]];
	}

	// The same for a range.
	counterIn(counter, from, to) {
		const p = counter.points, found = [];
		for (const edge of [this.counterAt(counter, from), this.counterAt(counter, to)]) if (edge) found.push(...edge);
		for (let i = 0; i < p.length; i += 3) if (p[i] >= from && p[i] < to) found.push(p[i + 1], p[i + 2]);
		return found.length ? [Math.min(...found), Math.max(...found)] : null;
	}

	trackOfRow(row) {
		return this.tracks.find(t => t.id === this.data.rows[row].track);
	}

	// Opens whatever hides a row.
	reveal(row) {
		const track = this.trackOfRow(row);
		if (!track || track === this.steps) return;
		const lane = track.lanes.find(l => l.rows.includes(row));
		track.collapsed = false;
		if (lane) {
			lane.closed = false;
			const at = lane.rows.indexOf(row), outer = this.outerRows(lane);
			if (at < outer || at >= lane.limit + outer) lane.all = true;
		}
		if (!this.shown.includes(track)) this.filter = "";
		this.layout();
	}
}
