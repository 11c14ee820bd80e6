package op

import (
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Limits bound the cost of one sample, and the memory that a pipeline holds at once. They stop
// damaged or hostile files and arguments from exhausting memory or time. A zero field means its
// default. NoLimit, or any negative number, lifts a limit.
//
// A sample beyond a limit is an error of kind errs.Exhausted. It names the sample, its size, the
// limit and the field. Limits never change the bytes of a sample that stays within them.
type Limits struct {
	// MaxPixels is the most pixels of a file that is decoded, before a window is cut out of it: width
	// times height, as its header says. It is checked before memory is taken. 0 means 2^28, a square
	// of 16,384.
	MaxPixels int64 `json:"max_pixels,omitempty" yaml:"max_pixels,omitempty"`
	// MaxBytes is the most bytes of one sample at one place: a file that is read, a sample of an
	// external source, an output of an operator, or one block of memory that an operator needs
	// besides. It is checked before memory is taken. 0 means 4 GiB, which 2^28 pixels of four float32
	// take.
	MaxBytes int64 `json:"max_bytes,omitempty" yaml:"max_bytes,omitempty"`
	// MaxTotalBytes is the most bytes that a pipeline, a compiled loop, one dynamic call or a dynamic
	// reader needs at once: for the batches in the making, ready and in use, their outputs, the
	// working memory of workers and the files read ahead. 0 means no limit, because the free memory
	// depends on the machine and on other programs.
	//
	// It is cut into equal parts: one for each of the Prefetch+1 batches, and one for workers and
	// reading. A batch that needs more than its part fails as a whole, under every policy for samples.
	// Only its data, the batch size and the prefetch depth decide this, and for the last part the
	// number of threads; other batches do not. It is checked before memory is taken. Memory that is
	// kept for later batches, at most as much again, and garbage that is not collected yet come on
	// top.
	MaxTotalBytes int64 `json:"max_total_bytes,omitempty" yaml:"max_total_bytes,omitempty"`
	// MaxTime is the longest time that reading one sample, or one operator, may take for it. An
	// operator of the whole batch has that time for each of its samples. 0 means no limit.
	//
	// Readers and decoders stop soon after it is over. Other operators are not interrupted: their
	// samples fail when they return. The time decides only whether a sample fails: positions, orders
	// and random numbers of all other samples stay the same.
	MaxTime time.Duration `json:"max_time,omitempty" yaml:"max_time,omitempty"`
}

// NoLimit as a field of Limits lifts the limit. A size that cannot be addressed is still an error.
const NoLimit = -1

// The defaults of Limits.
const (
	DefaultMaxPixels = 1 << 28
	DefaultMaxBytes  = 1 << 32
)

// unlimited stands for no limit: no memory has that size.
const unlimited = 1 << 62

// WithDefaults replaces zero fields by their defaults, and negative fields by numbers that nothing
// exceeds. A time of 0 means no limit.
func (l Limits) WithDefaults() Limits {
	limit := func(v, missing int64) int64 {
		switch {
		case v < 0:
			return unlimited
		case v == 0:
			return missing
		}
		return v
	}
	l.MaxPixels, l.MaxBytes = limit(l.MaxPixels, DefaultMaxPixels), limit(l.MaxBytes, DefaultMaxBytes)
	l.MaxTotalBytes = max(0, l.MaxTotalBytes)
	l.MaxTime = max(0, l.MaxTime)
	return l
}

// CheckBytes returns an error if n bytes exceed the limit. what names the object for the message.
func (l Limits) CheckBytes(what string, n int64) error {
	if n >= 0 && n <= l.WithDefaults().MaxBytes {
		return nil
	}
	got := fmt.Sprintf("%s of %d bytes", what, n)
	if n < 0 {
		got = what + " of more bytes than can be addressed"
	}
	return &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("at most %d bytes per sample", l.WithDefaults().MaxBytes), Got: got,
		Remedy: "raise Options.Limits.MaxBytes if the data is sound"}
}

// CheckTime returns an error if took exceeds the limit for n samples.
func (l Limits) CheckTime(took time.Duration, n int) error {
	if l.MaxTime <= 0 || took <= l.MaxTime*time.Duration(n) {
		return nil
	}
	want := fmt.Sprintf("at most %v per sample", l.MaxTime)
	got := took.String()
	if n > 1 {
		got += fmt.Sprintf(" for %d samples", n)
	}
	return &errs.Error{Kind: errs.Exhausted, Want: want, Got: got, Remedy: "raise Options.Limits.MaxTime if the data is sound"}
}
