package parity

import (
	"encoding/hex"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
)

// Prefix begins the name of each parity file, which lies at the root of a checkpoint.
const Prefix = ".bivouac.parity."

// Is reports whether the file of this name, relative to the checkpoint, is a parity file.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

// Name returns the name of the parity file that a large file has to itself.
func Name(file string) string {
	sum := manifest.HashOf([]byte(file))
	return Prefix + hex.EncodeToString(sum[:])
}

// MaxPercent bounds the redundancy: parity blocks for 100 data blocks.
const MaxPercent = 50

const (
	shards      = 100 // data blocks of a group, at most
	depth       = 16  // groups of a region, at most
	largeBlock  = 64 << 10
	smallBlock  = 4 << 10 // of files that share a parity file
	leastBlock  = 512
	leastParity = 64      // blocks of a region of small files, or as many as it has data blocks
	alignment   = 4 << 10 // of what lies in a parity file
)

// Sizes in bytes from which a file has a parity file to itself.
const (
	Large       = 1 << 20
	LargeLinked = 256 << 10 // where saves link what did not change
)

// shape says where the blocks of a parity file and of what it is for lie.
type shape struct {
	size    int64 // of the data
	block   int
	percent int
	shared  bool // by several files
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

// length is how many bytes data block i has.
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

// parityBlocks is how many there are.
func (s shape) parityBlocks() int {
	n := s.blocks()
	if n == 0 {
		return 0
	}
	last := s.region(n - 1)
	return last.at + last.groups*last.parity
}

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
