package stream

// Profiled is a Stream that tells what its operators do.
type Profiled interface {
	// Profile returns what the operators have done so far. It is safe for concurrent use with all
	// methods except Close.
	Profile() Profile
}

// Profile says what the operators of a stream have done since the stream was made.
type Profile struct {
	Operators []Operator `json:"operators"` // each after its inputs

	Batches int64 `json:"batches"` // delivered
	Samples int64 `json:"samples"`
	Faults  int64 `json:"faults,omitempty"` // samples that failed and were excused
	// Queue is the number of batches in the making or ready. Depth is its maximum.
	Queue int64 `json:"queue"`
	Depth int64 `json:"depth"`
	// ReadAhead is the number of bytes of fetched samples that are held now. ReadAheadPeak is its
	// largest value so far.
	ReadAhead     int64 `json:"read_ahead"`
	ReadAheadPeak int64 `json:"read_ahead_peak"`

	// Timed reports whether times were counted: Waited, Starved, and the Time of operators.
	Timed   bool  `json:"timed"`
	Waited  int64 `json:"waited_ns"` // nanoseconds for which the consumer waited for batches
	Starved int64 `json:"starved"`   // how often the next batch was not ready
	// Measured reports whether the memory of operators was counted.
	Measured bool `json:"measured"`
}

// Operator says what one operator has done.
type Operator struct {
	Name   string   `json:"name"`             // unique in the stream
	Kind   string   `json:"kind"`             // such as decoders.image
	Inputs []string `json:"inputs,omitempty"` // names of operators
	Reader bool     `json:"reader,omitempty"` // it reads the data
	Output bool     `json:"output,omitempty"` // the consumer gets what it makes

	Samples int64 `json:"samples"` // that were timed
	Time    int64 `json:"time_ns"` // nanoseconds of all workers
	Largest int64 `json:"largest"` // bytes of its largest batch, all outputs together
	Held    int64 `json:"held"`    // bytes that are set aside for its batches
}
