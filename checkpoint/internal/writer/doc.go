// Package writer writes checkpoints: it turns the values of a caller into files, and hands
// these to a transaction of a store.
//
// # Stages
//
// A save has six stages, each with one verb. The frame of a save is in package saving, which
// calls this one; checkpoint.Save, training's steps and partial saves all go through it.
//
//	resolve   plan.Save           the options of the call become Options
//	collect   Handlers.Collect    values become Items; handlers isolate what is not a tree
//	plan      Plan                leaves become arrays, chunks and files; names and sizes are decided
//	snapshot  Writer.Snapshot     arrays are copied, so that the caller may change them
//	write     Writer.Write        arrays are encoded, checksummed, and written into data files
//	commit    store.Txn.Commit    called by Write, with the manifest as the last file
//
// Plan touches no storage. The caller of an asynchronous save waits until Snapshot is done;
// Write then runs in the background. Close follows Write, and stands for it when Write is not
// called. An item that a handler saves has its own handler.Commit, which Write calls. When
// several processes make one checkpoint, package crew calls Write on each of them, and
// Options.Join joins what they have written.
//
// # Words
//
// Each word has one meaning, in the order in which a value meets them:
//
//	leaf    one entry of the caller's tree: an array, a number, a string, or an empty container
//	source  where the elements of a leaf come from: one tensor, several Parts, or a function (Lazy)
//	array   a leaf as it is stored; form is what arrays of one dtype, shape and cut share
//	chunk   what is stored under one key; its sub-chunks have checksums of their own
//	piece   what is encoded at once: a chunk, a sub-chunk, an index, or a range of bytes
//	unit    what is written at once: neighbouring pieces of a file, about 4 MiB
//	file    a data file; schedule hands out the units of files to workers
//	entry   a key of a database, with the place of its chunk or the bytes themselves
//	draft   a checkpoint whose data files are written and whose documents are not
//
// # Memory
//
// Scalars, strings and arrays of up to 1024 bytes are copied by Plan. The other arrays belong
// to the caller. Their Mode says when the caller may change them: after Snapshot (Copy), after
// Write (InPlace), or when Options.OnRelease is called (HandOver). Without a copy, Write reads
// the caller's memory; nothing else differs, and the files are the same. Copies, and the room
// in which workers encode, come from Options.Memory, whose owner may reuse it after Write.
//
// # Concurrency
//
// The methods of a Writer are called one after the other. Inside, Snapshot copies with several
// goroutines, and Write encodes and writes units with up to eight, each with room for one
// unit; Pace slows them down. Both wait for their goroutines. Status, Progress, Lazy.Read and
// OnRelease are called from these goroutines.
//
// # Files
//
// The files of a tree item in the default layout are
//
//	_METADATA            one entry for each leaf
//	_strings.json        when there are strings
//	manifest.ocdbt       the database: generation 1
//	d/<32 hex>           one to four data files: arrays over 1024 bytes, then,
//	                     in one of them, the B+tree nodes
//
// Arrays are zarr v3, one shard for each array, uncompressed. Each sub-chunk is followed by its
// CRC-32C (codec "crc32c"), so that other readers notice damage too. Shards of 256 KiB and more
// begin on a multiple of 4096 in their data file. Other layouts place chunks elsewhere: in files
// of their own, or behind each other in a safetensors file.
package writer
