package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// Kind says what a training announces.
type Kind string

// The kinds of events.
const (
	Resumed     Kind = "resumed"        // Step was restored; absent where the run is fresh
	Quarantined Kind = "quarantined"    // Step was damaged and set aside; Text says why
	StepDone    Kind = "step"           // Step was executed: Loss, Order, Pixels
	SaveBegin   Kind = "save-begin"     // the state after Step was copied and is being written: Micros is the pause
	Committed   Kind = "save-committed" // Step is durable; Micros since the save began
	Done        Kind = "done"           // the training is complete: State, Accuracy
	Failed      Kind = "failed"         // the training failed: Text, Error
)

// Event is what a training announces, one JSON line each where it is another
// process.
type Event struct {
	Kind     Kind      `json:"event"`
	Step     int64     `json:"step"`
	Loss     float32   `json:"loss,omitempty"`
	Order    string    `json:"order,omitempty"`  // digest of the ids of the step's samples
	Pixels   string    `json:"pixels,omitempty"` // digest of the batch: decoded, augmented, normalised
	Micros   int64     `json:"micros,omitempty"`
	State    string    `json:"state,omitempty"` // checksum of the final state
	Accuracy float64   `json:"accuracy,omitempty"`
	Text     string    `json:"text,omitempty"`
	Error    errs.Kind `json:"error,omitempty"`
}

// readEvents calls f for each line of r until its end. A last line that was cut
// off, as a killed process leaves it, is no event.
func readEvents(r io.Reader, f func(Event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("event %q: %w", line, err)
		}
		f(e)
	}
}
