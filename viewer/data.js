// The data of the page: names, rows, and the tree of levels of detail, whose nodes are unpacked when
// they are needed.  src/report/viewdata/view_tree.h describes the bytes.

const CACHED_ITEMS = 6e6; // about 200 MB

async function unpack(id) {
	const text = document.getElementById(id).textContent;
	let bytes;
	if (Uint8Array.fromBase64) {
		bytes = Uint8Array.fromBase64(text);
	} else {
		const binary = atob(text);
		bytes = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
	}
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		const b = this.bytes;
		let byte = b[this.at++];
		if (byte < 128) return byte;
		let value = byte & 127, factor = 128;
		do {
			byte = b[this.at++];
			value += (byte & 127) * factor;
			factor *= 128;
		} while (byte >= 128);
		return value;
	}

	signed() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

// Of a row in a node: columns, and which of its items are too long for the node's parts.
function readPiece(r, node, lane, links, childLength) {
	const count = r.number();
	const p = {
		count: count, start: new Float64Array(count), end: new Float64Array(count),
		label: new Uint32Array(count), merged: null, cover: null, inside: null, linkRow: null,
		linkStart: null, big: [], parts: null
	};
	let last = node.start + r.number();
	for (let i = 0; i < count; i++) p.start[i] = r.number();
	for (let i = 0; i < count; i++) {
		p.start[i] += last;
		last = p.end[i] = p.start[i] + r.number();
	}
	for (let i = 0; i < count; i++) p.label[i] = r.number();
	if (!node.leaf) {
		p.merged = new Uint32Array(count);
		p.cover = new Uint8Array(count);
		for (let i = 0; i < count; i++) {
			p.merged[i] = r.number();
			p.cover[i] = p.merged[i] ? r.bytes[r.at++] : 255;
			if (p.end[i] - p.start[i] >= childLength) p.big.push(i);
		}
		p.parts = [0, 1, 2, 3, 4].map(k => lowerBound(p.start, node.start + k * childLength, 0, count));
	} else if (lane === LANE.FRAMES || lane === LANE.SAMPLES) {
		p.inside = new Float64Array(count);
		for (let i = 0; i < count; i++) p.inside[i] = r.number();
	}
	if (links) {
		p.linkRow = new Int32Array(count);
		p.linkStart = new Float64Array(count);
		for (let i = 0; i < count; i++) {
			const row = r.number();
			p.linkRow[i] = row - 1;
			if (row) p.linkStart[i] = p.start[i] + r.signed();
		}
	}
	return p;
}

class Data {
	// Names and rows; nodes come later.
	static async open() {
		const d = new Data();
		const meta = JSON.parse(new TextDecoder().decode(await unpack("tl-meta")));
		d.meta = meta;
		d.end = meta.end_ns;
		d.onLoad = () => {};
		d.makeNames(meta);
		d.makeNodes(meta);
		return d;
	}

	string(i) {
		return i ? this.meta.strings[i - 1] : "";
	}

	makeNames(meta) {
		const wide = 8;
		this.labels = [];
		for (let i = 0; i < meta.labels.length; i += wide) {
			const [kind, what, name, place, stack, layer, full, more] = meta.labels.slice(i, i + wide);
			this.labels.push({ kind, what, name: this.string(name), place, stack, layer: this.string(layer),
				full: this.string(full), more: this.string(more), class: meta.classes[what] });
		}
		this.rows = [];
		for (let i = 0; i < meta.rows.length; i += 5) {
			const [track, lane, depth, count, links] = meta.rows.slice(i, i + 5);
			this.rows.push({ index: this.rows.length, track, lane, depth, count, links: !!links });
		}
	}

	// Time of all items by label, by the root, which is unpacked.
	timeOfLabels() {
		const used = new Map(), add = (label, ns) => used.set(label, (used.get(label) || 0) + ns);
		for (const entries of this.root.totals.values()) for (const [label, , ns] of entries) add(label, ns);
		for (const p of this.root.leaf ? this.root.rows.values() : [])
			for (let i = 0; i < p.count; i++) add(p.label[i], p.end[i] - p.start[i]);
		return used;
	}

	// { name, file, line } of a place; null for none.
	place(i) {
		const p = this.meta.places;
		return i ? { name: this.string(p[3 * i - 3]), file: this.string(p[3 * i - 2]), line: p[3 * i - 1], index: i }
			: null;
	}

	makeNodes(meta) {
		const at = new Map();
		this.nodes = [];
		this.used = 0;
		this.cached = 0;
		for (let i = 0; i < meta.nodes.length; i += 5) {
			const [level, index, leaf, items, there] = meta.nodes.slice(i, i + 5);
			const length = meta.unit_ns * 4 ** (meta.levels - level);
			const node = { id: i / 5, level, leaf: !!leaf, items, there: !!there, start: index * length, length,
				grain: leaf ? 0 : length / 2048, children: [], rows: null, totals: null, loading: null, used: 0 };
			this.nodes.push(node);
			at.set(level * 1e6 + index, node);
			const parent = level && at.get((level - 1) * 1e6 + (index >> 2));
			if (parent) parent.children.push(node);
		}
		this.root = this.nodes[0];
	}

	// Resolves when the node is unpacked.
	load(node) {
		node.used = ++this.used;
		if (node.rows || !node.there) return Promise.resolve();
		if (!node.loading)
			node.loading = unpack("tl-" + node.id).then(bytes => {
				this.read(node, bytes);
				node.loading = null;
				this.forgetOld();
				this.onLoad();
			});
		return node.loading;
	}

	read(node, bytes) {
		const r = new Reader(bytes);
		const rows = new Map();
		node.totals = new Map();
		for (let tag = r.number(); tag; tag = r.number()) {
			const row = r.number();
			if (tag === 1) {
				rows.set(row, readPiece(r, node, this.rows[row].lane, this.rows[row].links, node.length / 4));
				continue;
			}
			const entries = [];
			for (let n = r.number(); n > 0; n--) entries.push([r.number(), r.number(), r.number(), r.number()]);
			node.totals.set(row, entries);
		}
		node.rows = rows;
		node.held = 0;
		for (const p of rows.values()) node.held += p.count;
		this.cached += node.held;
	}

	// Nodes that were not used for long are unpacked again when they are.
	forgetOld() {
		if (this.cached < CACHED_ITEMS) return;
		const old = this.nodes.filter(n => n.rows && n.level > 1).sort((a, b) => a.used - b.used);
		for (const n of old) {
			if (this.cached < CACHED_ITEMS / 2 || n.used > this.used - 64) break;
			this.cached -= n.held;
			n.rows = n.totals = null;
		}
	}

	// The nodes to draw [from, to) from so that nothing is coarser than `grain`; each with the
	// parts that stand for children that are not unpacked.  Starts unpacking those.
	cover(from, to, grain) {
		const found = [];
		const visit = node => {
			if (node.start >= to || node.start + 2 * node.length < from) return;
			if (!node.rows) {
				this.load(node);
				return;
			}
			node.used = ++this.used;
			if (node.leaf || node.grain <= grain) {
				found.push({ node, whole: true, parts: null });
				return;
			}
			const parts = [true, true, true, true];
			for (const child of node.children) {
				const k = Math.round((child.start - node.start) / child.length);
				if (!child.items || child.rows) parts[k] = false;
				else if (child.there && child.start < to && child.start + 2 * child.length >= from) this.load(child);
			}
			found.push({ node, whole: false, parts });
			for (const child of node.children) if (child.rows) visit(child);
		};
		visit(this.root);
		return found;
	}

	// The same when everything is unpacked.
	async covered(from, to, grain) {
		for (;;) {
			const waiting = [];
			const visit = node => {
				if (!node.there || !node.items || node.start >= to || node.start + 2 * node.length < from) return;
				if (!node.rows) waiting.push(this.load(node));
				else if (!node.leaf && node.grain > grain) node.children.forEach(visit);
			};
			visit(this.root);
			if (!waiting.length) return this.cover(from, to, grain);
			await Promise.all(waiting);
		}
	}

	// Calls f(piece, first, end) or f(piece, i, i + 1) for what of a row may touch [from, to).
	eachPiece(cover, row, from, to, f) {
		for (const { node, whole, parts } of cover) {
			const p = node.rows && node.rows.get(row);
			if (!p) continue;
			if (whole) {
				let first = lowerBound(p.end, from, 0, p.count);
				const end = lowerBound(p.start, to, first, p.count);
				if (first < end) f(p, first, end, node);
				continue;
			}
			for (const i of p.big) {
				const k = Math.min(3, Math.floor((p.start[i] - node.start) / (node.length / 4)));
				if (!parts[k] && p.start[i] < to && p.end[i] >= from) f(p, i, i + 1, node);
			}
			for (let k = 0; k < 4; k++) {
				if (!parts[k]) continue;
				const first = lowerBound(p.end, from, p.parts[k], p.parts[k + 1]);
				const end = lowerBound(p.start, to, first, p.parts[k + 1]);
				if (first < end) f(p, first, end, node);
			}
		}
	}

	// Does the page have the items at a moment one by one?
	isInFull(time) {
		let node = this.root;
		while (node && node.there && !node.leaf) node = node.children.find(child => time >= child.start && time < child.start + child.length);
		return !!node && node.there;
	}

	item(row, p, i) {
		return { row, start: p.start[i], end: p.end[i], label: p.label[i], merged: p.merged ? p.merged[i] : 0,
			inside: p.inside ? p.inside[i] : 0, linkRow: p.linkRow ? p.linkRow[i] : -1, linkStart: p.linkStart ? p.linkStart[i] : 0 };
	}

	// The item of a row at a moment, or the nearest that is no further than `reach`.
	itemAt(row, time, reach, cover) {
		let best = null, distance = Infinity;
		this.eachPiece(cover, row, time - reach, time + reach, (p, first, end) => {
			for (let i = first; i < end; i++) {
				const d = time < p.start[i] ? p.start[i] - time : time > p.end[i] ? time - p.end[i] : 0;
				if (d < distance || (d === distance && best && p.start[i] > best.start)) {
					distance = d;
					best = this.item(row, p, i);
				}
			}
		});
		return distance <= reach ? best : null;
	}

	// The item that begins at a moment, in full detail as far as the page has it.
	async itemFrom(row, start) {
		const cover = await this.covered(start, start + 1, 0);
		return this.itemAt(row, start, 1, cover);
	}
}
