// Package arrowipc reads the layout of Arrow IPC files and streams: where the buffers of each
// record batch lie, and what they mean.
//
// A stream is a sequence of messages, and a file is a stream between the letters ARROW1 with a
// footer that says where the batches are. A message is
//
//	ffffffff          not in old files
//	size of metadata  int32
//	metadata          a FlatBuffers table: a schema, a dictionary or a record batch
//	body              the buffers of the batch, perhaps each compressed
//
// [Open] finds the batches of a file or stream. [Batch.Place] gives the buffers of a field, and
// [Expand] undoes their compression. The package reads metadata and no buffers, so that a caller
// can read the bytes of single rows.
package arrowipc
