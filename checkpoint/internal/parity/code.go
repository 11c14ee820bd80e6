package parity

import (
	"crypto/subtle"
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

const (
	columns = 10       // shards that are multiplied together, at most: what the kernels take
	tile    = 16 << 10 // bytes of each that are: they stay in the cache
)

// shardRun is some shards of a code that follow each other.
type shardRun struct{ parity, first, n int }

// parts are the parts of codes in use.
var parts sync.Map // of shardRun: reedsolomon.Encoder

// partOf returns the code of n shards from first on, with the coefficients that they have in the
// whole code: its parity is what they add to the parity of the group.
func partOf(parity, first, n int) (reedsolomon.Encoder, error) {
	at := shardRun{parity, first, n}
	if c, ok := parts.Load(at); ok {
		return c.(reedsolomon.Encoder), nil
	}
	whole, err := codeOf(parity)
	if err != nil {
		return nil, err
	}
	matrix, column := make([][]byte, parity), make([][]byte, parity)
	for p := range matrix {
		matrix[p], column[p] = make([]byte, n), make([]byte, 1)
	}
	for i := range n {
		for p := range column {
			column[p][0] = 0
		}
		if err := whole.EncodeIdx([]byte{1}, first+i, column); err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
		}
		for p := range column {
			matrix[p][i] = column[p][0]
		}
	}
	c, err := reedsolomon.New(n, parity, reedsolomon.WithMaxGoroutines(1), reedsolomon.WithCustomMatrix(matrix),
		reedsolomon.WithInversionCache(false))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
	}
	parts.Store(at, c)
	return c, nil
}

// rooms are the memory for what some shards add to the parity of a group.
var rooms sync.Pool // of *[]byte

// addShards adds shards of one length, from first on, to the parity blocks of their
// group, which mu guards.
func addShards(shards [][]byte, first int, parity [][]byte, mu *sync.Mutex) error {
	code, err := partOf(len(parity), first, len(shards))
	if err != nil {
		return err
	}
	room, _ := rooms.Get().(*[]byte)
	if room == nil || len(*room) < len(parity)*tile {
		room = new(make([]byte, len(parity)*tile))
	}
	defer rooms.Put(room)
	var all [columns + MaxPercent + leastParity][]byte
	for from := 0; from < len(shards[0]); from += tile {
		to := min(from+tile, len(shards[0]))
		list := all[:0]
		for _, s := range shards {
			list = append(list, s[from:to])
		}
		for p := range parity {
			list = append(list, (*room)[p*tile:][:to-from])
		}
		if err := code.Encode(list); err != nil {
			return &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
		}
		mu.Lock()
		for p, b := range parity {
			subtle.XORBytes(b[from:to], b[from:to], list[len(shards)+p])
		}
		mu.Unlock()
	}
	return nil
}
