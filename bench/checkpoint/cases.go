package main

// side is one row of a table: a program and its task.
type side struct {
	name     string
	who      string // "raw", "bivouac", or a contender of peers.py
	config   string
	op       string
	baseline bool // the limit; ratios refer to the fastest of these
	// cold has the files of the checkpoint leave the cache before each round.
	cold bool
	keep bool // a checkpoint must be there
}

func (s side) peer() bool { return s.who != "raw" && s.who != "bivouac" }

// comparison is one table.
type comparison struct {
	name, title string
	tree        string
	sides       []side
}

func saves(more ...side) []side {
	return append(more,
		side{name: "Bivouac, step of a Checkpointer, waiting", who: "bivouac", config: "step", op: "save"},
		side{name: "Bivouac, step in the background", who: "bivouac", config: "async", op: "save"},
		side{name: "Bivouac, checkpoint.Save", who: "bivouac", config: "save", op: "save"},
		side{name: "Orbax", who: "orbax", config: "default", op: "save"},
		side{name: "Orbax, uncompressed", who: "orbax", config: "uncompressed", op: "save"},
	)
}

var (
	rawSaves = []side{
		{name: "raw, 1 file, buffered", who: "raw", config: "0", op: "save", baseline: true},
		{name: "raw, 4 files, buffered", who: "raw", config: "1", op: "save", baseline: true},
		{name: "raw, 1 file, direct, 4 writers", who: "raw", config: "2", op: "save", baseline: true},
		{name: "raw, 4 files, direct", who: "raw", config: "3", op: "save", baseline: true},
	}
	plainSaves = []side{
		{name: "safetensors, fsync", who: "safetensors", op: "save"},
		{name: "numpy, a file an array, fsync", who: "numpy", op: "save"},
		{name: "torch.save, fsync", who: "torch", op: "save"},
	}
)

func loads(cold bool) []side {
	list := []side{
		{name: "raw read, 1 thread", who: "raw", config: "1", op: "load", baseline: true},
		{name: "raw read, 2 threads", who: "raw", config: "2", op: "load", baseline: true},
		{name: "raw read, 2 threads, tiles, unverified", who: "raw", config: "2 tiles", op: "load"},
		{name: "raw read, 2 threads, new memory", who: "raw", config: "2 new", op: "load"},
		{name: "Bivouac, LoadInto", who: "bivouac", config: "into", op: "load"},
		{name: "Bivouac, Load into new memory", who: "bivouac", config: "load", op: "load"},
		{name: "Orbax", who: "orbax", config: "default", op: "load"},
		{name: "Orbax, uncompressed", who: "orbax", config: "uncompressed", op: "load"},
		{name: "safetensors", who: "safetensors", op: "load"},
		{name: "numpy", who: "numpy", op: "load"},
		{name: "torch.load", who: "torch", op: "load"},
	}
	for i := range list {
		list[i].cold, list[i].keep = cold, true
	}
	return list
}

// comparisons in the order in which they run.
var comparisons = []comparison{
	{"save16", "save, durable, 16 arrays", arrays16, append(saves(rawSaves...), plainSaves...)},
	{"save1500", "save, durable, 1,500 arrays", arrays1500, append(saves(rawSaves...), plainSaves...)},
	{"restore", "restore, 16 arrays, cold", arrays16, loads(true)},
	{"warm", "restore, 16 arrays, cached", arrays16, loads(false)},
	{"savescalars", "save 20,000 scalars", scalars, saves()},
	{"loadscalars", "load 20,000 scalars", scalars, []side{
		{name: "Bivouac, Load", who: "bivouac", config: "load", op: "load", keep: true},
		{name: "Bivouac, LoadInto", who: "bivouac", config: "into", op: "load", keep: true},
		{name: "Orbax", who: "orbax", config: "default", op: "load", keep: true},
	}},
	{"blocked", "trainer blocked by an asynchronous save", arrays16, []side{
		{name: "memcpy, 1 thread", who: "raw", config: "1", op: "copy", baseline: true},
		{name: "memcpy, 2 threads", who: "raw", config: "2", op: "copy", baseline: true},
		{name: "Bivouac, SaveAsync", who: "bivouac", op: "blocked"},
		{name: "Orbax, save_async", who: "orbax", config: "default", op: "blocked"},
	}},
	{"resave", "an unchanged state saved again", arrays16, []side{
		{name: "Bivouac, whole", who: "bivouac", config: "save", op: "save", baseline: true},
		{name: "Bivouac, Dedup", who: "bivouac", op: "resave"},
		{name: "Orbax", who: "orbax", config: "default", op: "resave"},
	}},
	{"leaf", "one leaf of 16, cached", arrays16, []side{
		{name: "Bivouac", who: "bivouac", op: "leaf", keep: true},
		{name: "Orbax", who: "orbax", config: "default", op: "leaf", keep: true},
		{name: "safetensors", who: "safetensors", op: "leaf", keep: true},
		{name: "numpy, a file an array", who: "numpy", op: "leaf", keep: true},
	}},
	{"reshard", "a matrix in eight parts, cached", matrix, []side{
		{name: "Bivouac, written and read whole", who: "bivouac", config: "load", op: "load", baseline: true, keep: true},
		{name: "Bivouac, written and read by rows", who: "bivouac", config: "rows", op: "reshard", keep: true},
		{name: "Bivouac, written by rows, read by columns", who: "bivouac", config: "columns", op: "reshard", keep: true},
		{name: "Orbax, written and read by rows", who: "orbax", config: "rows", op: "reshard", keep: true},
		{name: "Orbax, written by rows, read by columns", who: "orbax", config: "columns", op: "reshard", keep: true},
	}},
	{"jitter50", "a step beside a save, median", arrays16, jitter("50")},
	{"jitter99", "a step beside a save, percentile 99", arrays16, jitter("99")},
}

func jitter(percentile string) []side {
	return []side{
		{name: "idle", who: "bivouac", op: "idle" + percentile, baseline: true},
		{name: "while saving", who: "bivouac", op: "beside" + percentile},
		{name: "while saving, paced", who: "bivouac", config: "paced", op: "beside" + percentile},
	}
}
