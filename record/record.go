// Package record writes down what a training job did in each step, for `bivouac crashtest`.
//
// # Basics
//
// A job records a step after it trained it, and before it saves it:
//
//	record.Step(step, ids, weights, nil)
//
// It may also say which step it resumed after, before its first step:
//
//	record.Resumed(step)
//
// The records go to a file in the directory that the environment variable BIVOUAC_RECORD names, one
// file a process. Without the variable these functions do nothing. The package bivouac of Python
// writes the same records; docs/format/record.md is their specification.
//
// # Caveats
//
// A job that records after it saves may be killed between the two. The step is then saved and not
// recorded, and crashtest counts its samples as lost.
//
// Each line is one write, so a kill tears at most the last line. Nothing is synced: records survive
// the death of the process, not a loss of power.
package record

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/recording"
)

// Options are what Step may record besides samples and weights. The zero value records nothing.
type Options struct {
	Epoch int64     // the epoch of the step: samples are then compared epoch by epoch
	Loss  []float64 // compared bit for bit
}

// Step records one step: its number, the ids of its samples in their order, and the weights after
// it. A negative step is an unknown number. Weights may be any value that a checkpoint takes, and
// nil records none; see Digest. o may be nil.
//
// Step may be called by several goroutines. Ids and weights are not kept.
//
// Errors: errs.Invalid for weights that a checkpoint does not take, and what the file system says.
func Step(step int64, ids []int64, weights any, o *Options) error {
	w := open()
	if w == nil {
		return nil
	}
	line := recording.Line{Count: len(ids), IDs: recording.EncodeIDs(ids)}
	if number := step; number >= 0 {
		line.Step = &number // a copy, so that calls without a directory allocate nothing
	}
	if o != nil {
		line.Epoch = o.Epoch
		for _, loss := range o.Loss {
			line.Loss = append(line.Loss, recording.EncodeLoss(loss))
		}
	}
	if weights != nil {
		digest, err := Digest(weights)
		if err != nil {
			return errs.Wrap("record.Step", "weights", err)
		}
		line.Weights = digest
	}
	return w.write(line)
}

// Resumed records that this process goes on after a step. Crashtest infers it from the numbers of
// the steps if a job does not say it.
func Resumed(step int64) error {
	w := open()
	if w == nil {
		return nil
	}
	number := step
	return w.write(recording.Line{Resumed: &number})
}

// On reports whether records are written. A job asks before it prepares what only a record needs.
func On() bool { return open() != nil }

// writer is the file of this process.
type writer struct {
	mu     sync.Mutex
	file   *os.File
	failed error // of the opening
}

// open returns the writer of this process, or nil without the environment variable.
var open = sync.OnceValue(func() *writer {
	dir := os.Getenv(recording.Variable)
	if dir == "" {
		return nil
	}
	w := &writer{}
	w.failed = w.create(dir)
	return w
})

// create makes the file and writes its header.
func (w *writer) create(dir string) error {
	var tail [6]byte
	_, _ = rand.Read(tail[:]) // it never fails
	name := filepath.Join(dir, fmt.Sprintf("%d-%s.jsonl", os.Getpid(), hex.EncodeToString(tail[:])))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: "record", Subject: recording.Variable, Err: err,
			Remedy: "name a directory that exists, or unset the variable"}
	}
	w.file = file
	return w.write(recording.Header{Format: recording.Format, Version: recording.Version, PID: os.Getpid(), Rank: rank()})
}

// rank returns the number of this process among those that train together, as launchers tell it.
func rank() int {
	for _, name := range []string{"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n >= 0 {
			return n
		}
	}
	return 0
}

// write appends one line with one write.
func (w *writer) write(line any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	text, err := recording.Append(nil, line)
	if err != nil {
		return err
	}
	if _, err := w.file.Write(text); err != nil {
		w.failed = &errs.Error{Kind: errs.IO, Op: "record", Subject: w.file.Name(), Err: err}
	}
	return w.failed
}
