package main

// request is what a contender's process is asked to do.
type request struct {
	Op     string `json:"op"`
	Who    string `json:"who,omitempty"`
	Config string `json:"config,omitempty"`
	Tree   string `json:"tree,omitempty"`
	MiB    int    `json:"mib,omitempty"`
	Path   string `json:"path,omitempty"`
}

// answer is what it did, by its own clock and counters.
type answer struct {
	Seconds  float64           `json:"seconds"`
	CPU      float64           `json:"cpu,omitempty"` // seconds of all threads; of a machine that others use they tell more
	Peak     int64             `json:"peak"`          // bytes of resident memory, beyond what was there before
	Read     int64             `json:"read"`          // bytes, by system calls; what is mapped does not count
	Written  int64             `json:"written"`       // bytes, by system calls
	Alloc    int64             `json:"alloc"`         // bytes of the Go heap, of Bivouac only
	Disk     int64             `json:"disk"`          // size of the files
	Skip     string            `json:"skip,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
}
