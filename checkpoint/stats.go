package checkpoint

import "time"

// SaveStats are the figures of a save.
type SaveStats struct {
	Bytes  int64 // of all files that were written
	Files  int   // that were written
	Direct int64 // bytes that were written past the cache of the system; 0 where the file system refuses that
	// Copied reports whether the state was copied before it was written. If not, it was read while it
	// was written: it was handed over, or a copy would have exceeded the budget and the caller was
	// blocked.
	Copied  bool
	Blocked time.Duration // until the call returned
	Copy    time.Duration // of the state; a part of Blocked
	Persist time.Duration // checksums, and writing the data files
	Commit  time.Duration // small files, syncs of directories, publication

	Linked      int   // data files that were linked from an earlier checkpoint, as they hold the same bytes
	LinkedBytes int64 // of these
	Verified    int   // of these, read back before they were linked
	Damaged     int   // files of the earlier checkpoint that were found damaged when they were read back, and written anew
	ParityBytes int64 // of the files with which bivouac repair mends others
	Refused     int   // files that were written because the file system refused to link them
}
