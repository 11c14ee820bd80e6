package parity

import (
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/klauspost/reedsolomon"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
)

// codes are the codes in use, by their number of parity blocks.
var codes sync.Map // of int: reedsolomon.Encoder

func codeOf(parity int) (reedsolomon.Encoder, error) {
	if c, ok := codes.Load(parity); ok {
		return c.(reedsolomon.Encoder), nil
	}
	// One goroutine: saves already run several of them side by side.
	c, err := reedsolomon.New(shards, parity, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
	}
	codes.Store(parity, c)
	return c, nil
}

const (
	columns = 10       // largest number of shards that the kernels multiply together
	tile    = 16 << 10 // bytes of each shard that are multiplied at once, so that they stay in the cache
)

// shardRun is a run of consecutive shards of a code.
type shardRun struct{ parity, first, n int }

// parts are the parts of codes in use.
var parts sync.Map // of shardRun: reedsolomon.Encoder

// partOf returns the code of n shards starting with first, with the coefficients that they have in
// the whole code: its parity is their contribution to the parity of the group.
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

// rooms has memory for the contribution of some shards to the parity of a group.
var rooms sync.Pool // of *[]byte

// addShards adds shards of equal length, starting with first, to the parity blocks of their group,
// which mu guards.
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

// Prefix begins the name of each parity file, which lies at the root of a checkpoint.
const Prefix = ".bivouac.parity."

// Is reports whether the file of this name, relative to the checkpoint, is a parity file.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

// Name returns the name of the parity file of a large file.
func Name(file string) string {
	sum := manifest.HashOf([]byte(file))
	return Prefix + hex.EncodeToString(sum[:])
}

// MaxPercent bounds the redundancy: parity blocks for 100 data blocks.
const MaxPercent = 50

const (
	shards      = 100 // largest number of data blocks of a group
	depth       = 16  // largest number of groups of a region
	largeBlock  = 64 << 10
	smallBlock  = 4 << 10 // of files that share a parity file
	leastBlock  = 512
	leastParity = 64      // parity blocks of a region of small files, but at most one per data block
	alignment   = 4 << 10 // of the sections of a parity file
)

// Sizes in bytes from which a file has its own parity file.
const (
	Large       = 1 << 20
	LargeLinked = 256 << 10 // if saves link unchanged files
)

// shape says where the blocks of a parity file and of its data lie.
type shape struct {
	size    int64 // of the data
	block   int
	percent int
	shared  bool // several files share the parity file
}

// shapeOf returns the shape for one large file.
func shapeOf(size int64, percent int) shape {
	block := int64(largeBlock)
	if size < largeBlock*shards {
		block = max(1, (size+shards*leastBlock-1)/(shards*leastBlock)) * leastBlock
	}
	return shape{size: size, block: int(block), percent: percent}
}

func (s shape) blocks() int { return int((s.size + int64(s.block) - 1) / int64(s.block)) }

// length returns the number of bytes of data block i.
func (s shape) length(i int) int { return int(min(int64(s.block), s.size-int64(i)*int64(s.block))) }

// region is a run of blocks whose groups are interleaved.
type region struct {
	first, n int // data blocks
	groups   int
	parity   int // blocks of each group
	at       int // the first parity block
}

// region returns the region with the data block i.
func (s shape) region(i int) region {
	const full = shards * depth
	r := region{first: i / full * full}
	r.n = min(full, s.blocks()-r.first)
	r.groups, r.parity = s.cut(r.n)
	if before := r.first / full; before > 0 {
		g, m := s.cut(full)
		r.at = before * g * m
	}
	return r
}

// cut divides n data blocks into groups.
func (s shape) cut(n int) (groups, parity int) {
	groups = max(1, (n+shards-1)/shards)
	parity = s.percent
	if s.shared {
		parity = max(parity, (min(n, leastParity)+groups-1)/groups)
	}
	return groups, parity
}

// place returns the group and the shard of a data block.
func (r region) place(i int) (group, shard int) {
	i -= r.first
	return i % r.groups, i / r.groups
}

// parityAt returns the parity block p of a group.
func (r region) parityAt(group, p int) int { return r.at + p*r.groups + group }

// parityBlocks returns the number of parity blocks.
func (s shape) parityBlocks() int {
	n := s.blocks()
	if n == 0 {
		return 0
	}
	last := s.region(n - 1)
	return last.at + last.groups*last.parity
}

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
