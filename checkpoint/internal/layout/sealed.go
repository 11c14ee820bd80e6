package layout

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// sealed is the store of a checkpoint that is loaded with a key. It has only the files that the
// signed manifest lists, and each of these must exist. It returns no byte before the run of the
// byte was compared with its SHA-256. Every read of a checkpoint goes through its store, so the
// code above does not need to know about keys.
//
// A run is read as a whole. If only a part of it is wanted, the run is cached for a while.
type sealed struct {
	store.Store // its other methods are not called
	root        string
	manifest    *manifest.Manifest
	names       []string // of the files, ascending
	recent      *recentRuns
}

// seal makes all reads go through the manifest, whose signature was checked.
func (c *Checkpoint) seal() *sealed {
	s := &sealed{Store: c.st, root: c.name, manifest: c.Manifest, recent: newRecentRuns()}
	for _, f := range c.Manifest.Files {
		s.names = append(s.names, f.Name)
	}
	slices.Sort(s.names)
	c.st = s
	if c.once != nil { // what is noted was compared with its digest
		c.once = newOnce(s, c.name)
		c.st = c.once
	}
	return s
}

// below returns the name relative to the checkpoint.
func (s *sealed) below(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, s.root), "/")
}

// Open implements store.Store.
func (s *sealed) Open(ctx context.Context, name string) (store.Reader, error) {
	f, ok := s.manifest.File(s.below(name))
	if !ok {
		return nil, unlisted(name)
	}
	r, err := s.Store.Open(ctx, name)
	if errs.KindOf(err) == errs.NotFound {
		return nil, missingFile(name, err)
	}
	if err != nil {
		return nil, err
	}
	if r.Size() != f.Size {
		r.Close() //nolint:errcheck // nothing was written
		return nil, sizeError(name, f.Size, r.Size())
	}
	return &sealedReader{Reader: r, file: f, recent: s.recent}, nil
}

// Stat implements store.Store.
func (s *sealed) Stat(ctx context.Context, name string) (store.Info, error) {
	in := s.below(name)
	if _, ok := s.manifest.File(in); !ok && in != "" && !s.isDir(in) {
		return store.Info{}, unlisted(name)
	}
	info, err := s.Store.Stat(ctx, name)
	if errs.KindOf(err) == errs.NotFound {
		return info, missingFile(name, err)
	}
	return info, err
}

func unlisted(name string) error {
	return &errs.Error{Kind: errs.NotFound, Op: "checkpoint", Subject: name,
		Got: "no such name in the signed manifest"}
}

// from returns the index of the first name below a directory.
func (s *sealed) from(dir string) int {
	i, _ := slices.BinarySearch(s.names, dir+"/")
	return i
}

func (s *sealed) isDir(name string) bool {
	i := s.from(name)
	return i < len(s.names) && strings.HasPrefix(s.names[i], name+"/")
}

// List implements store.Store. It lists the files in the manifest, without their times.
func (s *sealed) List(_ context.Context, dir string) iter.Seq2[store.Info, error] {
	prefix, i := "", 0
	if in := s.below(dir); in != "" {
		prefix, i = in+"/", s.from(in)
	}
	return func(yield func(store.Info, error) bool) {
		if prefix != "" && !s.isDir(strings.TrimSuffix(prefix, "/")) {
			yield(store.Info{}, unlisted(dir))
			return
		}
		var found []store.Info
		last := ""
		for ; i < len(s.names) && strings.HasPrefix(s.names[i], prefix); i++ {
			name, _, deeper := strings.Cut(s.names[i][len(prefix):], "/")
			if deeper && name == last {
				continue
			}
			info := store.Info{Name: name, Dir: deeper}
			if !deeper {
				f, _ := s.manifest.File(s.names[i])
				info.Size = f.Size
			} else {
				last = name
			}
			found = append(found, info)
		}
		slices.SortFunc(found, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
		for _, info := range slices.CompactFunc(found, func(a, b store.Info) bool { return a.Name == b.Name }) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// listed returns the names at the root that the manifest lists. A listed name that does not exist
// is errs.Corrupt.
func (s *sealed) listed(in entries) (entries, error) {
	out := entries{}
	for e := range s.List(context.Background(), s.root) {
		dir, there := in[e.Name]
		if !there && parity.Is(e.Name) {
			continue // a lost parity file does not affect a load
		}
		if !there || dir != e.Dir {
			return nil, missingFile(path.Join(s.root, e.Name), nil)
		}
		out[e.Name] = dir
	}
	return out, nil
}

// sealedReader reads a file and compares what it reads with the digests.
type sealedReader struct {
	store.Reader
	file   manifest.File
	recent *recentRuns
}

// ReadAt implements store.Reader.
func (r *sealedReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	end := off + int64(len(p))
	if off < 0 || end > r.file.Size || end < off {
		return sizeError(r.file.Name, end, r.file.Size)
	}
	if len(p) == 0 {
		return nil
	}
	for _, run := range r.file.Touched(off, end) {
		from, to := max(run.Off, off), min(run.Off+run.Size, end)
		dst := p[from-off : to-off]
		if int64(len(dst)) == run.Size {
			if err := r.read(ctx, run, dst); err != nil {
				return err
			}
			continue
		}
		key := runKey{r.file.Name, run.Off}
		if r.recent.copy(key, dst, from-run.Off) {
			continue
		}
		b := r.recent.memory(run.Size)
		if err := r.read(ctx, run, b); err != nil {
			return err
		}
		copy(dst, b[from-run.Off:])
		r.recent.keep(key, b)
	}
	return nil
}

// read reads a run and compares it with its digest.
func (r *sealedReader) read(ctx context.Context, run manifest.Run, b []byte) error {
	if err := r.Reader.ReadAt(ctx, b, run.Off); err != nil {
		return err
	}
	if !run.Check(b) {
		return manifest.DigestError(r.file.Name, run)
	}
	return nil
}

// recentBytes is how many bytes of recent runs a checkpoint caches. These are runs of which only a
// part was wanted: usually the rest is wanted next.
const recentBytes = 8 << 20

// recentCount is the largest number of cached runs.
const recentCount = 64

// recentRuns are the runs that were read last, each verified. It is safe for concurrent use.
type recentRuns struct {
	mu    sync.Mutex
	used  int
	order []recentRun // oldest first
	free  [][]byte    // memory of dropped runs
}

// runKey is a run of a file.
type runKey struct {
	file string
	off  int64
}

type recentRun struct {
	key   runKey
	bytes []byte
}

func newRecentRuns() *recentRuns { return &recentRuns{} }

// copy fills dst with bytes of a cached run, starting at off. It reports whether the run was
// cached.
func (r *recentRuns) copy(key runKey, dst []byte, off int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.order) - 1; i >= 0; i-- {
		if run := r.order[i]; run.key == key {
			copy(dst, run.bytes[off:])
			r.order = append(slices.Delete(r.order, i, i+1), run)
			return true
		}
	}
	return false
}

// memory returns n bytes of any content for a run.
func (r *recentRuns) memory(n int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 && n > manifest.RunBytes/2 {
		b := r.free[last]
		r.free = r.free[:last]
		return b[:n]
	}
	if n > manifest.RunBytes/2 {
		return make([]byte, n, manifest.RunBytes)
	}
	return make([]byte, n)
}

// keep takes over the memory of a verified run. The caller must neither change nor read it any
// more.
func (r *recentRuns) keep(key runKey, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, recentRun{key, b})
	r.used += cap(b)
	for r.used > recentBytes || len(r.order) > recentCount {
		old := r.order[0]
		r.order = slices.Delete(r.order, 0, 1)
		r.used -= cap(old.bytes)
		if cap(old.bytes) == manifest.RunBytes {
			r.free = append(r.free, old.bytes)
		}
	}
}
