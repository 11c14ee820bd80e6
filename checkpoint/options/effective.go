package options

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/tree"
)

// Padding returns whether arrays may be padded and truncated on load.
func (o Options) Padding() (pad, truncate bool) {
	both := o.Array.Loading.EnablePaddingAndTruncation
	pick := func(t Toggle) bool { return t.Or(both == On) }
	return pick(o.Bivouac.Pad), pick(o.Bivouac.Truncate)
}

// Budget returns the bound on the memory of a save beyond the state, in bytes; 0 is no bound. It is
// MemoryBudget, else TransferConcurrentBytes, minus ExpectedSurgeBytes, and at least 1.
func (o Options) Budget() int64 {
	b := cmp.Or(o.Bivouac.MemoryBudget, o.Memory.TransferConcurrentBytes)
	if b <= 0 {
		return 0
	}
	return max(1, int64(b)-o.Memory.ExpectedSurgeBytes)
}

// SaveBound returns how long a save may take; 0 is no bound. For a save in the background it is the
// smaller one of Timeout and SaveTimeout.
func (a Asynchronous) SaveBound(background bool) time.Duration {
	d := max(0, a.SaveTimeout)
	if background && a.Timeout > 0 && (d == 0 || a.Timeout < d) {
		d = a.Timeout
	}
	return d
}

// LoadBound returns how long a load may take; 0 is no bound.
func (a Asynchronous) LoadBound() time.Duration { return max(0, a.LoadTimeout) }

// InPlace reports whether the mode is CommitFile, under either of its names.
func (o Options) InPlace() bool {
	return o.Atomicity.Mode == CommitFile || o.File.TemporaryPath == CommitFile
}

// NeedsCommitFile reports whether a checkpoint must have commit_success.txt to be loaded.
func (o Options) NeedsCommitFile() bool {
	return o.InPlace() && o.Atomicity.AllowLegacyAtomicRename != On
}

// IsPrimary reports whether this process is one that creates, commits and removes.
func (m Multiprocessing) IsPrimary() bool {
	primary, self := Host(0), Host(0)
	if m.PrimaryHost != nil {
		primary = *m.PrimaryHost
	}
	if m.ProcessIndex != nil {
		self = *m.ProcessIndex
	}
	return primary == EveryHost || primary == self
}

// Meet calls Barrier with the prefixed key. It returns at once if there is no Barrier, or if every
// process is on its own.
func (m Multiprocessing) Meet(ctx context.Context, key string) error {
	if m.Barrier == nil || m.PrimaryHost != nil && *m.PrimaryHost == EveryHost {
		return nil
	}
	return m.Barrier(ctx, m.BarrierSyncKeyPrefix+key)
}

// StorageFor returns the storage options and the compression of one leaf. Field by field,
// ScopedStorage comes first, then the first entry of LeafStorage that matches the key path, then
// the options of all arrays. The compression comes from that entry if it has one, else it is
// DefaultCompression, as for all arrays.
func (o Options) StorageFor(key tree.Path, leaf any) (out Storage, c Compression) {
	out = o.Array.Saving.Storage
	for _, l := range o.Bivouac.LeafStorage {
		if ok, _ := MatchPath(l.Match, key); ok { // Validate has checked the pattern
			out, c = l.Storage.above(out), l.Compression
			break
		}
	}
	if f := o.Array.Saving.ScopedStorage; f != nil {
		if s := f(key, leaf); s != nil {
			out = s.above(out)
		}
	}
	return out, c
}

func (s Storage) above(under Storage) Storage {
	s.DType, s.ChunkByteSize = cmp.Or(s.DType, under.DType), cmp.Or(s.ChunkByteSize, under.ChunkByteSize)
	if s.ShardAxes == nil {
		s.ShardAxes = under.ShardAxes
	}
	return s
}

// MatchPath reports whether pattern matches the key path. A pattern has one element per key,
// separated by "/". An element is a pattern of path.Match for the key, or "**" for any number of
// keys, including zero: "layers/*/w", "**/embedding", "opt/**". "" matches only the root. A
// malformed pattern is path.ErrBadPattern.
func MatchPath(pattern string, key tree.Path) (bool, error) {
	var elements []string
	if pattern != "" {
		elements = strings.Split(pattern, "/")
	}
	// reach[j]: the elements so far match the first j keys.
	reach := make([]bool, len(key)+1)
	reach[0] = true
	for _, e := range elements {
		if _, err := path.Match(e, ""); err != nil {
			return false, err
		}
		next := make([]bool, len(key)+1)
		for j, ok := range reach {
			switch {
			case !ok:
			case e == "**":
				for k := j; k <= len(key); k++ {
					next[k] = true
				}
			case j < len(key):
				// A slash in a key is a character like any other.
				ok, err := path.Match(e, strings.ReplaceAll(key[j].Name, "/", "\x00"))
				if err != nil {
					return false, err
				}
				next[j+1] = next[j+1] || ok
			}
		}
		reach = next
	}
	return reach[len(key)], nil
}
