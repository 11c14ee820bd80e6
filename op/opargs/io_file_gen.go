// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

import ()

// IoFileRead are the arguments of io.file.read.
type IoFileRead struct {
	Name string `op:",name"` // of the node; random numbers are keyed by it

	// Whether files are read instead of mapped; has no effect, because files are always read. Default: false.
	DontUseMmap bool `op:"dont_use_mmap"`

	// Whether files are read past the cache of the system; has no effect. Default: false.
	UseODirect bool `op:"use_o_direct"`
}
