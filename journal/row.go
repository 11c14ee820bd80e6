package journal

import (
	"encoding/json"
	"time"
)

// Version is the version of the format that this package writes.
const Version = 1

// Folder is the name of the journal in the directory of a run.
const Folder = "journal"

// Kind says what a row is.
type Kind string

// The kinds of rows. A newer version may have further kinds.
const (
	StartRow Kind = "start" // the first row of each segment
	StepRow  Kind = "step"  // the scalars of a step that was done
	SaveRow  Kind = "save"  // a save that has ended
	EventRow Kind = "event" // something else that happened
	LostRow  Kind = "lost"  // rows that could not be kept
	EndRow   Kind = "end"   // the attempt ended by itself
)

// Seconds is a length of time in seconds.
type Seconds float64

// Duration returns s as a time.Duration, rounded to nanoseconds.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// Row is one line of a journal.
type Row struct {
	Kind Kind
	// Step is the number of steps done when the row was written. For StepRow and SaveRow it is the
	// step that the row is about.
	Step int64
	// At is the time since Start.Time of the attempt.
	At Seconds
	// Scalars are the numbers of a StepRow, in the order in which the attempt first recorded them.
	Scalars []Scalar

	Start *Start // of a StartRow, otherwise nil
	Save  *Save  // of a SaveRow, otherwise nil
	Event *Event // of an EventRow, otherwise nil
	Lost  *Lost  // of a LostRow, otherwise nil
	End   *End   // of an EndRow, otherwise nil

	// Raw is the line of a row whose Kind this version does not know, otherwise nil.
	Raw json.RawMessage
	// Next is where the row after this one begins.
	Next Position
}

// Value returns the scalar with a name.
func (r *Row) Value(name string) (v float64, ok bool) {
	for _, s := range r.Scalars {
		if s.Name == name {
			return s.Value, true
		}
	}
	return 0, false
}

// Position is a place between two rows of an attempt. The zero Position is before the first row.
type Position struct {
	Segment int   // from 1
	Offset  int64 // in bytes
}

// Scalar is a number with a name. The value may be NaN or infinite.
type Scalar struct {
	Name  string
	Value float64
}

// Start describes an attempt. Zero fields are not known.
type Start struct {
	Version int    `json:"version"` // of the format
	Attempt int    `json:"attempt"` // from 1
	ID      string `json:"id"`
	Segment int    `json:"segment"` // of the file that begins with this row
	// Rows is the number of rows in the segments before this one, without their start rows.
	Rows int64 `json:"rows"`
	// From is the number of steps done when the attempt began: it continued from this step.
	From int64     `json:"from"`
	Time time.Time `json:"time"`
	// Fresh is set if the attempt began anew on request, although the run had steps.
	Fresh     bool   `json:"fresh,omitempty"`
	Identity  string `json:"identity,omitempty"`   // of the run, as bivouac.Options has it
	Steps     int64  `json:"steps,omitempty"`      // how many the run has in total
	SaveEvery int64  `json:"save_every,omitempty"` // steps from one save to the next
	Batch     int64  `json:"batch,omitempty"`      // samples a step, of all ranks
	World     int    `json:"world,omitempty"`      // ranks
	Seed      string `json:"seed,omitempty"`       // of the data, as text
	Bivouac   string `json:"bivouac,omitempty"`    // version of Bivouac
	Program   string `json:"program,omitempty"`    // package path of the program
	Build     string `json:"build,omitempty"`      // version or revision of the program
	Runtime   string `json:"runtime,omitempty"`    // such as "go1.26.1 linux/amd64"

	Data   *Data   `json:"data,omitempty"`   // what the data was made from
	Origin *Origin `json:"origin,omitempty"` // of a run that was forked
}

// Data names the definition of the data of an attempt.
type Data struct {
	// Definition is the name of a file in the folder metadata of the run. It has the text of a
	// data.yaml, and its name ends with the SHA-256 of the text.
	Definition string `json:"definition,omitempty"`
	// Base is the directory to which paths in the text are relative, on the machine of the attempt.
	Base string `json:"base,omitempty"`
}

// Origin says where a run comes from.
type Origin struct {
	Run     string `json:"run"`               // the directory of the other run, as it was called then
	Step    int64  `json:"step"`              // of the other run
	Attempt int    `json:"attempt,omitempty"` // of the other run, that did the step; 0 if it is not known
	ID      string `json:"id,omitempty"`      // of that attempt
}

// Save describes a save that has ended.
type Save struct {
	Bytes   int64   `json:"bytes,omitempty"`
	Blocked Seconds `json:"blocked"` // how long the trainer waited
	Took    Seconds `json:"took,omitempty"`
	Error   string  `json:"error,omitempty"` // empty if the step is committed
}

// Event describes something that happened.
type Event struct {
	Name   string `json:"name"` // such as "damage found": a bivouac.EventKind in words
	Object string `json:"object,omitempty"`
	Tier   string `json:"tier,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Lost says which rows of steps could not be kept, because the store took no rows for too long.
type Lost struct {
	First int64 `json:"first"` // step
	Last  int64 `json:"last"`  // step
	Rows  int64 `json:"rows"`  // of any kind
}

// Outcome says how an attempt ended.
type Outcome string

// The outcomes. An attempt that was killed has no End.
const (
	Done      Outcome = "done"      // all steps are done
	Preempted Outcome = "preempted" // a signal ended it
	Failed    Outcome = "failed"    // an error ended it
	Stopped   Outcome = "stopped"   // the program left the loop early
	Forked    Outcome = "forked"    // the run was made from a step of another one; see Start.Origin
)

// End describes how an attempt ended.
type End struct {
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
}
