// Package journal records what a training run does, step by step, in the directory of the run.
//
// The journal is the folder "journal" of the run. Each start of the program is an attempt. An
// attempt has files of its own, its segments:
//
//	RUN/journal/000003-5f2a9c1e00b7d431.000001.jsonl
//	            attempt  id of the attempt  segment
//
// A segment is JSON Lines: one [Row] a line. Its first line is the [Start] of the attempt. Then
// come the rows of steps with their scalars, of saves and of events. An attempt that ended by
// itself has an [End] as its last row. An attempt without an End was killed, or is still running:
// the lock of the run tells which. docs/format/journal.md has the form of each row.
//
// # Writing
//
// A [Writer] keeps rows in memory and puts the last segment again as a whole, at most every few
// seconds and in the background. When a segment has [SegmentBytes], the next one begins. So a store
// without append is enough, and nothing is compacted later. Adding a row never waits for the store.
// [Writer.Flush] waits: the caller uses it before a step is committed, so that a committed step
// never lacks its rows.
//
// A store that fails does not stop the training. The rows stay in memory, up to [PendingBytes], and
// are tried again. Rows beyond that are counted, and a [Lost] row says which ones are missing.
//
// # Two writers
//
// The lock of the run keeps a second writer out. If there is no lock, two attempts may get the same
// number. The id in the names is random, so no attempt ever replaces a file of another.
//
// # Reading
//
// [Open] lists the attempts and reads the first and last row of each. [Reader.Rows] yields the rows
// of one attempt, and [Reader.Current] the rows of the run as it counts: what an attempt did beyond
// the step where a later attempt began is superseded ([Spans]), and stays readable in its
// attempt.
//
// Each line ends with a checksum. A damaged line, a line that is cut off, a missing segment, a file
// of another program and a row of a newer version are reported, each with its place. Reading goes
// on after them.
package journal
