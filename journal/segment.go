package journal

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Segment returns an attempt that did no step, as its only segment: the name in the folder of the
// journal, and the contents. Attempt and Time of start have defaults, 1 and now. Version, ID,
// Segment and Rows are set.
func Segment(start Start, end End) (name string, b []byte) {
	for _, text := range start.texts() {
		*text = short(*text)
	}
	end.Error = short(end.Error)
	start.Version, start.ID, start.Segment, start.Rows = Version, newID(), 1, 0
	start.Attempt = cmp.Or(start.Attempt, 1)
	if start.Time.IsZero() {
		start.Time = time.Now().UTC().Round(0)
	}
	b = appendRow(nil, &Row{Kind: StartRow, Step: start.From, Start: &start})
	b = appendRow(b, &Row{Kind: EndRow, Step: start.From, End: &end})
	return segmentName(start.Attempt, start.ID, 1), b
}

// newID returns a random id of an attempt.
func newID() string {
	var id [idDigits / 2]byte
	rand.Read(id[:]) //nolint:errcheck // it never fails
	return hex.EncodeToString(id[:])
}

// texts returns the texts of a start row that are cut to a fit length.
func (s *Start) texts() []*string {
	list := []*string{&s.Identity, &s.Seed, &s.Bivouac, &s.Program, &s.Build, &s.Runtime}
	if s.Origin != nil {
		origin := *s.Origin // it belongs to the caller
		s.Origin = &origin
		list = append(list, &origin.Run, &origin.ID)
	}
	if s.Data != nil {
		data := *s.Data
		s.Data = &data
		list = append(list, &data.Base)
	}
	return list
}
