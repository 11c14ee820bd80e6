package training

import (
	"encoding/json"
	"time"
)

// Info describes one committed checkpoint.
type Info struct {
	Step      int64
	Directory string    // name below the root
	Time      time.Time // of the commit
	// Metrics are the numbers given at save, or nil.
	Metrics map[string]float64
	// Custom is the checkpoint's own metadata as JSON, or nil.
	Custom json.RawMessage
}
