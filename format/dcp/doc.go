// Package dcp reads the metadata of checkpoints that PyTorch's torch.distributed.checkpoint writes.
//
//	.metadata        a pickle: entries, their chunks, and where each chunk lies
//	__0_0.distcp …   the data of the ranks: one archive of torch.save after the other
//
// An entry is a tensor or a value of Python. The chunks of a tensor are boxes that tile it. Each is
// an archive with one tensor; a value is an archive with the value. Package pt reads archives. An
// archive may be compressed as a whole (Chunk.Transforms).
//
// Writers flatten nested dictionaries and lists. The planner records for each key the path that it
// came from, and Entry.Path is this path.
//
// The pickle is read as data: no name of it is imported, and a name that is not in the list of this
// package is an error. See package pickle.
package dcp
