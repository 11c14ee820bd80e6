package options

import (
	"cmp"
	"context"
	"time"
)

// Padding returns whether arrays may be padded and truncated on load.
func (o Options) Padding() (pad, truncate bool) {
	both := o.Array.Loading.EnablePaddingAndTruncation
	pick := func(t Toggle) bool { return t.Or(both == On) }
	return pick(o.Bivouac.Pad), pick(o.Bivouac.Truncate)
}

// Budget returns the bound on the memory of a save beyond the state, in bytes, 0 = none:
// MemoryBudget, else TransferConcurrentBytes, less ExpectedSurgeBytes. A bound is at least 1.
func (o Options) Budget() int64 {
	b := cmp.Or(o.Bivouac.MemoryBudget, o.Memory.TransferConcurrentBytes)
	if b <= 0 {
		return 0
	}
	return max(1, int64(b)-o.Memory.ExpectedSurgeBytes)
}

// SaveBound returns how long a save may take, 0 = as long as it does: for one
// in the background the lesser of Timeout and SaveTimeout.
func (a Asynchronous) SaveBound(background bool) time.Duration {
	d := max(0, a.SaveTimeout)
	if background && a.Timeout > 0 && (d == 0 || a.Timeout < d) {
		d = a.Timeout
	}
	return d
}

// LoadBound returns how long a load may take, 0 = as long as it does.
func (a Asynchronous) LoadBound() time.Duration { return max(0, a.LoadTimeout) }

// InPlace reports whether the mode is CommitFile, under either of its names.
func (o Options) InPlace() bool {
	return o.Atomicity.Mode == CommitFile || o.File.TemporaryPath == CommitFile
}

// NeedsCommitFile reports whether only what has commit_success.txt is loaded.
func (o Options) NeedsCommitFile() bool {
	return o.InPlace() && o.Atomicity.AllowLegacyAtomicRename != On
}

// IsPrimary reports whether this process creates, commits and removes.
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
