package readers

import (
	"fmt"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
)

// cut says that each of Shards shards delivered its first Taken samples, or all its samples if it
// has fewer.
type cut struct {
	Shards int64 `json:"shards"`
	Taken  int64 `json:"taken"`
}

// remainder is the rest of an epoch after some cuts. Each cut divides the samples that the previous
// cut left into shards again.
//
//	0 1 2 3 4 5 6 7 8 9    3 shards took 2 each   left: 2 5 8 9
//	2 5 8 9                2 shards took 1 each   left: 5 9
type remainder struct {
	size   int64 // samples that are left
	levels []level
}

// level is a cut of a list.
type level struct {
	cut
	samples int64   // of the list
	before  []int64 // for each shard: the number of samples left in the shards before it
}

// The most cuts, and the most shards of one cut.
const (
	maxCuts   = 64
	maxShards = 1 << 20
)

// newRemainder returns what the cuts leave of n samples.
func newRemainder(n int64, cuts []cut) (remainder, error) {
	r := remainder{size: n}
	if len(cuts) > maxCuts {
		return r, &errs.Error{Kind: errs.Corrupt, Subject: "cuts", Want: fmt.Sprintf("at most %d cuts", maxCuts),
			Got: fmt.Sprint(len(cuts))}
	}
	for _, c := range cuts {
		if c.Shards < 1 || c.Shards > maxShards || c.Taken < 0 {
			return r, &errs.Error{Kind: errs.Corrupt, Subject: "cuts", Want: "valid numbers of shards and samples",
				Got: fmt.Sprintf("%d samples of %d shards", c.Taken, c.Shards)}
		}
		l := level{cut: c, samples: r.size}
		left := int64(0)
		for s := range c.Shards {
			l.before = append(l.before, left)
			left += max(0, l.first(s+1)-l.first(s)-c.Taken)
		}
		r.size, r.levels = left, append(r.levels, l)
	}
	return r, nil
}

// first returns the index in the list at which a shard begins.
func (l *level) first(shard int64) int64 { return l.samples * shard / l.Shards }

// part returns the range of the remaining samples that belongs to a shard.
func (r *remainder) part(shard, shards int64) (lo, hi int64) {
	return r.size * shard / shards, r.size * (shard + 1) / shards
}

// at returns the place of the i-th remaining sample in the whole epoch.
func (r *remainder) at(i int64) int64 {
	for k := len(r.levels) - 1; k >= 0; k-- {
		l := &r.levels[k]
		shard := int64(sort.Search(len(l.before), func(s int) bool { return l.before[s] > i })) - 1
		i = l.first(shard) + l.Taken + i - l.before[shard]
	}
	return i
}
