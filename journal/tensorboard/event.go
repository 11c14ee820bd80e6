package tensorboard

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/format/tfevents"
	"github.com/bivouac-ml/bivouac/journal"
)

// Endings of the names: who wrote the file.
const (
	byJob    = ".job"
	byExport = ".export"
)

// fileName returns the name of the event file of an attempt. TensorBoard reads the files of a
// directory in the order of their names. Names of at most 999999 attempts sort in the order that
// journal.Reader.Attempts has.
func fileName(s journal.Start, ending string) string {
	return fmt.Sprintf("events.out.tfevents.%06d-%011d-%s%s", s.Attempt, unix(s.Time), s.ID, ending)
}

// unix returns a time in whole seconds since 1970, and 0 for times before.
func unix(t time.Time) int64 { return max(t.Unix(), 0) }

// isEventFile reports whether TensorBoard reads a file of this name.
func isEventFile(name string) bool { return strings.Contains(name, "tfevents") }

// exportOf returns the id of the attempt whose event file Export wrote under a name.
func exportOf(name string) (id string, ok bool) {
	text, ok := strings.CutSuffix(name, byExport)
	if i := strings.LastIndexByte(text, '-'); ok && i >= 0 && strings.HasPrefix(text, "events.out.tfevents.") {
		return text[i+1:], true
	}
	return "", false
}

// wall returns a time in seconds since 1970, and 0 for a time that is not known.
func wall(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// appendHead appends what the event file of an attempt begins with. An attempt whose start is not
// known supersedes nothing.
func appendHead(dst []byte, s journal.Start, begin float64, known bool) []byte {
	dst = tfevents.AppendVersion(dst, begin)
	if known {
		dst = tfevents.AppendStart(dst, begin, s.From+1)
	}
	return dst
}

// appendStep appends the scalars of a step of an attempt.
func appendStep(dst []byte, begin float64, at journal.Seconds, step int64, scalars iter.Seq2[string, float64]) []byte {
	return tfevents.AppendScalars(dst, begin+float64(at), step, scalars)
}
