// Package broadcast lets one of several processes that want the same bytes read them, and send them
// to the others.
//
// # Groups
//
// The processes of a job lie on a mesh. One axis of the mesh is the axis of replicas: processes
// that differ only on this axis want the same boxes of the same arrays. They are a group. The
// process of the group at Options.Primary is the primary of the group. It reads; the others
// receive.
//
//	mesh 3 x 2, replicas along axis 0, primary 0
//
//	process 0 ──┬──▶ 2        process 1 ──┬──▶ 3
//	  reads     └──▶ 4          reads     └──▶ 5
//
// # Words
//
// All processes of the job exchange a word before each round of reads, and at the end. So all know
// the same, and decide the same:
//
//	read     this process wants to read: which checkpoint, under which options, which boxes
//	done     this process has all that it wants
//	failed   this process cannot go on, and why; the load is over for all
//
// Options and checkpoint must be the same in the words of all processes, and the boxes in the words
// of a group. The first difference is the error of all processes: it names process and field.
//
// # Frames
//
// Each receiver opens a stream of its primary. The primary reads into the memory of its caller, as
// it would alone. When a part of an array is read and verified, the part becomes frames, which are
// sent from the same memory. So nobody holds a copy. A stream is a list of frames:
//
//	data    part of an array: which one, where, and the bytes
//	beat    the primary is alive, and has nothing to send yet
//	fail    the read of the primary failed, and why
//	end     all was sent
//
// A frame is a header of 24 bytes and a payload. The CRC-32C of the header covers both. A receiver
// takes each byte once: a frame outside of an array, an overlap and a gap are errors.
//
// # Nothing waits forever
//
// A stream without any frame for Limits.Silence is an error, and so is a stream that has only beats
// for Limits.Deadline. A receiver that stops to read its stream is left behind after
// Limits.Silence, and one that does not come for its stream after half of it.
//
// A process that fails says so for twice Limits.Silence at most. A process that has all its bytes
// waits for the words of the others as long as Exchange does: give the cluster a deadline that is
// longer than a load. Each error names the process.
//
// A load succeeds on all processes or on none, except that a process may die after its last word.
package broadcast
