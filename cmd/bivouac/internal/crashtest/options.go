// Package crashtest runs a job of the caller once in peace and once killed again and again, and
// compares what both recorded: samples, losses and weights.
//
// A run is the job in a fresh directory, from its first start to its end. The unbroken run has one
// start. The killed run is started again after each kill. Each start has a directory for records of
// its own (package record), which is read while it grows: kills are timed by progress, not by the
// clock, so a job that saves rarely still gets on. docs/guide/crashtest.md defines what is
// counted.
package crashtest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Options of a crash test. The zero value of each field works, except Command.
type Options struct {
	Command []string      // program and arguments; {dir} is replaced by the directory of the run
	Kills   int           // 0 is 5
	Seed    uint64        // of the instants of the kills
	Signal  Signal        // KILL or TERM; empty is KILL
	Timeout time.Duration // of each start; 0 is an hour, and after a kill 3 unbroken runs and 30 s
	Grace   time.Duration // how long processes may stay after SIGTERM or the end of the job; 0 is 30 s
	Warmup  time.Duration // no kill in this time after a start
	Twice   bool          // run the job unbroken twice in any case
	Keep    bool          // keep the directories
	Dir     string        // makes the directories here; empty is the system's directory for temporary files
}

// Signal is the name of a signal.
type Signal string

// The signals.
const (
	SignalKill Signal = "KILL"
	SignalTerm Signal = "TERM"
)

const mostKills = 1000

// WithDefaults returns o with its zeros replaced.
func (o Options) WithDefaults() Options {
	if o.Kills == 0 {
		o.Kills = 5 // enough to hit a save in some of them, in minutes
	}
	if o.Signal == "" {
		o.Signal = SignalKill // nothing can prepare for it
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second // what Kubernetes gives
	}
	return o
}

// Validate reports the first field that makes no sense.
func (o Options) Validate() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "crashtest", Subject: field, Want: want, Got: got}
	}
	switch {
	case len(o.Command) == 0:
		return bad("command", "the command of a job", "none")
	case o.Kills < 1 || o.Kills > mostKills:
		return bad("kills", fmt.Sprint("1 to ", mostKills), strconv.Itoa(o.Kills))
	case o.Signal != SignalKill && o.Signal != SignalTerm:
		return bad("signal", "KILL or TERM", strconv.Quote(string(o.Signal)))
	case o.Timeout < 0:
		return bad("timeout", "0 or more", o.Timeout.String())
	case o.Grace < 0:
		return bad("grace", "0 or more", o.Grace.String())
	case o.Warmup < 0:
		return bad("warmup", "0 or more", o.Warmup.String())
	}
	return nil
}

// Environment variables of the job, besides recording.Variable.
const (
	dirVariable = "BIVOUAC_CRASHTEST_DIR" // the directory of the run
	runVariable = "BIVOUAC_CRASHTEST_RUN" // a secret that marks the processes of a start
)

// Limits of a start.
const (
	firstTimeout = time.Hour        // of a start without kills before it
	slack        = 30 * time.Second // what a restart may take beyond the time of unbroken runs
	slower       = 3                // how many unbroken runs it may take
	rounds       = 20               // how often one start may record a step
)
