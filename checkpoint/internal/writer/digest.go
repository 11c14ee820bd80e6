package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/store"
)

// A signature covers SHA-256 digests of all data. They are computed for each unit, from the memory
// from which it is written, while it is in the cache. Unsigned checkpoints have no digests.

// signed reports whether digests are wanted.
func (w *Writer) signed() bool { return w.opts.Signing != nil }

// digest computes the digests of a unit with the bytes b. Each piece and the tail have their own
// digests, because readers read them one by one.
func (u *unit) digest(b []byte) {
	parts := make([]int, 0, len(u.pieces)+1)
	for _, p := range u.pieces {
		parts = append(parts, int(p.off-u.off))
	}
	u.digests = manifest.Runs(b, u.off, append(parts, len(b)-len(u.tail))...)
}

// digests returns the digests of the file, after all units have theirs.
func (f *file) digests() []manifest.Run {
	var runs []manifest.Run
	for _, u := range f.units {
		runs = append(runs, u.digests...)
	}
	return runs
}

// same reports whether the file that r reads still has the bytes of the unit, by their digests. It
// returns false for unreadable bytes.
func (u *unit) same(ctx context.Context, r store.Reader, buf []byte) (bool, error) {
	for _, run := range u.digests {
		b := buf[:run.Size]
		if err := r.ReadAt(ctx, b, run.Off); err != nil {
			return false, canceled(err)
		}
		if !run.Check(b) {
			return false, nil
		}
	}
	return true, nil
}

// listSmall lists a small file in the manifest.
func (w *Writer) listSmall(m *manifest.Manifest, name string, content []byte) {
	m.Add(name, content)
	if w.signed() {
		m.Files[len(m.Files)-1].Runs = manifest.Runs(content, 0)
	}
}
