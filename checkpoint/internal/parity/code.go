package parity

import (
	"sync"

	"github.com/klauspost/reedsolomon"

	"github.com/bivouac-ml/bivouac/errs"
)

// codes are the codes in use, by their number of parity blocks.
var codes sync.Map // of int: reedsolomon.Encoder

func codeOf(parity int) (reedsolomon.Encoder, error) {
	if c, ok := codes.Load(parity); ok {
		return c.(reedsolomon.Encoder), nil
	}
	// One goroutine: those that save do so side by side already.
	c, err := reedsolomon.New(shards, parity, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
	}
	codes.Store(parity, c)
	return c, nil
}
