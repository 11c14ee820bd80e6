package main

import "time"

// facts are what doctor learns about the machine. Tests make facts by hand.
type facts struct {
	Build  buildFacts
	Shared sharedFacts
	Limits limitFacts
	Clock  clockFacts
	FFmpeg ffmpegFacts
	Python pythonFacts
	Dirs   []dirFacts
	Stores []storeFacts
}

// buildFacts are about the running program.
type buildFacts struct {
	Version  string
	Go       string
	Platform string
	Cgo      bool
	JPEG     string // the decoder
	Advice   string // how to get another decoder
	Schemes  []string
}

// sharedFacts are about memory that processes share.
type sharedFacts struct {
	Known     bool // false if the system has neither memfd nor /dev/shm by design
	MemfdErr  error
	ShmErr    error
	ShmSize   int64
	ShmFree   int64
	Container bool
}

// limit is a limit of the process. A negative one means that the process has no limit.
type limit int64

// limitFacts are the limits of the process.
type limitFacts struct {
	Known        bool
	Files        limit // open files; the Go runtime has raised it to the hard limit
	Locked       limit // bytes of locked memory
	AddressSpace limit // bytes
	Memory       int64 // bytes that the machine has; 0: not known
	Cgroup       limit // bytes that the control group may take
	CgroupUsed   int64 // bytes that the control group takes, without the cache of files
}

// clockFacts are about the clocks of the machine.
type clockFacts struct {
	Wall         time.Time
	Built        time.Time     // when the source of the program was committed; zero: not known
	Jump         time.Duration // by which the wall clock moved against the monotonic clock during the checks
	Backwards    bool          // the monotonic clock went back
	SyncKnown    bool
	Synchronised bool
}

// ffmpegFacts are about the programs ffmpeg and ffprobe.
type ffmpegFacts struct {
	Found   bool
	Version string // of ffmpeg: its first line
	Err     error  // why it did not answer
	Probe   bool   // ffprobe is there
}

// pythonFacts are about the Python client.
type pythonFacts struct {
	Program   string // that was asked
	Found     bool
	Err       error  // why it did not answer
	Version   string // of Python
	Client    string // version of the client; "" if it is not installed
	Binary    string // of BIVOUAC_BINARY
	BinaryErr error
}

// dirFacts are what a trial in a directory showed.
type dirFacts struct {
	Path      string
	Err       error  // why nothing could be tried
	System    string // the file system; "" if it is not known
	Free      int64  // bytes
	FreeNames int64  // files that may be made; below 0: not known
	Direct    bool   // bytes were written past the cache
	Links     error  // why a hard link failed
	Lock      error  // why a lock failed
	Exclusive bool   // a second lock was refused
	Commit    time.Duration
	CommitErr error
	Left      error // what could not be removed
}

// storeFacts are what a trial in an object store showed.
type storeFacts struct {
	URL       string
	Err       error // of opening, asking or writing
	Replaced  bool  // a put on the condition that the name is free replaced the object
	Differs   bool  // what was read is not what was put
	Trip      time.Duration
	Skew      time.Duration // by which the clock of this machine is ahead of the server's
	SkewKnown bool
	Left      error // what could not be removed
}
