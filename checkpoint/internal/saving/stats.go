package saving

import "time"

// Stats has the statistics of a save. It has the fields of checkpoint.SaveStats in the same order,
// so that a conversion turns one into the other. checkpoint.SaveStats documents each field.
type Stats struct {
	Bytes   int64
	Files   int
	Direct  int64
	Copied  bool
	Blocked time.Duration
	Copy    time.Duration
	Persist time.Duration
	Commit  time.Duration

	Linked      int
	LinkedBytes int64
	Verified    int
	Damaged     int
	ParityBytes int64
	Refused     int
}

// Stats returns the statistics of the save after Write.
func (s *Save) Stats() Stats {
	made := s.Writer.Stats()
	return Stats{
		Bytes: made.Bytes, Files: made.Files, Direct: made.Direct, Copied: made.Copied,
		Blocked: made.Blocked, Copy: made.Snapshot, Persist: made.Persist, Commit: made.Commit,
		Linked: made.Linked, LinkedBytes: made.LinkedBytes, Verified: made.Verified, Damaged: made.Damaged,
		ParityBytes: made.ParityBytes, Refused: made.Refused,
	}
}
