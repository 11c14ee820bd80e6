package layout

import (
	"context"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// once is the store of a checkpoint that is verified. Each directory is listed once, each name is
// described once, and each small file is read once. Of larger files, once notes the checksum of
// each range that was read, so that the checksum of the file needs only the ranges between them;
// see Checkpoint.CompareFiles. It may be used concurrently.
type once struct {
	store.Store
	root     string             // the name of the checkpoint
	manifest *manifest.Manifest // set when it was read; with it, ranges are noted

	mu      sync.Mutex
	lists   map[string][]store.Info // by directory
	infos   map[string]described    // by name, of names that no list describes
	small   map[string][]byte       // whole files
	failed  map[string]error        // why a small file was not kept
	kept    int                     // bytes of small files
	noted   map[string]*spans       // by file
	open    map[string]store.Reader // files that are not in use
	items   map[string]Item         // by name
	counted int64                   // bytes that were read
}

// described is the result of Stat: an Info, or errs.NotFound.
type described struct {
	info store.Info
	err  error
}

const (
	smallBytes = 64 << 10 // the size up to which a file is kept
	keptBytes  = 4 << 20  // the size of all files that are kept
)

func newOnce(st store.Store, root string) *once {
	return &once{Store: st, root: root, lists: map[string][]store.Info{}, infos: map[string]described{},
		small: map[string][]byte{}, failed: map[string]error{},
		noted: map[string]*spans{}, open: map[string]store.Reader{}, items: map[string]Item{}}
}

// List implements store.Store.
func (o *once) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		o.mu.Lock()
		list, known := o.lists[dir]
		o.mu.Unlock()
		if !known && o.absent(dir) {
			yield(store.Info{}, notListed("store.List", dir))
			return
		}
		if !known {
			for e, err := range o.Store.List(ctx, dir) {
				if err != nil {
					yield(e, err)
					return
				}
				list = append(list, e)
			}
			o.mu.Lock()
			o.lists[dir] = list
			o.mu.Unlock()
		}
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Stat implements store.Store.
func (o *once) Stat(ctx context.Context, name string) (store.Info, error) {
	info, ok, known := o.listed(name)
	switch {
	case ok:
		return info, nil
	case known && !o.wanted(name):
		return info, notListed("store.Stat", name)
	}
	o.mu.Lock()
	d, asked := o.infos[name]
	o.mu.Unlock()
	if asked {
		return d.info, d.err
	}
	info, err := o.Store.Stat(ctx, name)
	if err == nil || errs.KindOf(err) == errs.NotFound {
		o.mu.Lock()
		o.infos[name] = described{info, err}
		o.mu.Unlock()
	}
	return info, err
}

// listed returns what the list of its directory says of a name. known reports whether the directory
// was listed. ok is false for a name that is not there, and for one of which a list says too
// little, because it has no time.
func (o *once) listed(name string) (info store.Info, ok, known bool) {
	dir, base := path.Split(name)
	o.mu.Lock()
	list, known := o.lists[strings.TrimSuffix(dir, "/")]
	o.mu.Unlock()
	i, ok := slices.BinarySearchFunc(list, base, func(e store.Info, base string) int {
		return strings.Compare(e.Name, base)
	})
	if !ok {
		return store.Info{}, false, known
	}
	if info = list[i]; info.ModTime.IsZero() {
		return store.Info{}, false, false
	}
	info.Name = name
	return info, true, true
}

// notListed returns the error for a name that does not exist.
func notListed(op, name string) error {
	return &errs.Error{Kind: errs.NotFound, Op: op, Subject: name, Err: fs.ErrNotExist}
}

// absent reports whether the list of the directory above says that a directory does not exist, and
// the manifest does not list a file in it.
func (o *once) absent(dir string) bool {
	if _, ok, known := o.listed(dir); ok || !known || o.manifest == nil {
		return false
	}
	below := strings.TrimPrefix(strings.TrimPrefix(dir, o.root), "/") + "/"
	return !slices.ContainsFunc(o.manifest.Files, func(f manifest.File) bool { return strings.HasPrefix(f.Name, below) })
}

// wanted reports whether the manifest lists a file. If it does not exist, the store below says why.
func (o *once) wanted(name string) bool {
	if o.manifest == nil {
		return true
	}
	_, listed := o.manifest.File(strings.TrimPrefix(strings.TrimPrefix(name, o.root), "/"))
	return listed
}

// Open implements store.Store.
func (o *once) Open(ctx context.Context, name string) (store.Reader, error) {
	if b, ok := o.whole(name); ok {
		return keptReader{o, name, b}, nil
	}
	r := o.reopen(name)
	if r == nil {
		var err error
		if r, err = o.Store.Open(ctx, name); err != nil {
			return nil, err
		}
		if b, err := o.keep(ctx, name, r); b != nil || err != nil {
			if cerr := r.Close(); err == nil {
				err = cerr
			}
			return keptReader{o, name, b}, err
		}
	}
	n := notingReader{r, o, name, nil}
	if o.manifest != nil {
		n.into = o.spans(name)
	}
	if _, ok := r.(store.Scatterer); ok {
		return scatteringReader{n}, nil
	}
	return n, nil
}

// whole returns the bytes of a file that is kept.
func (o *once) whole(name string) ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, ok := o.small[name]
	return b, ok
}

// keep reads a small file and keeps it, if the manifest can say whether it is whole. It returns nil
// for other files, and for files with damage: parts of them may be whole. CompareFiles then tells
// of the damage, even if a second read finds none.
func (o *once) keep(ctx context.Context, name string, r store.Reader) ([]byte, error) {
	if o.manifest == nil || r.Size() > smallBytes {
		return nil, nil
	}
	size := int(r.Size())
	o.mu.Lock()
	room := o.kept+size <= keptBytes
	if room {
		o.kept += size
	}
	o.mu.Unlock()
	if !room {
		return nil, nil
	}
	b := make([]byte, size)
	err := r.ReadAt(ctx, b, 0)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.kept -= size
		if IsDamage(err) || IsUnreadable(err) {
			o.failed[name], err = err, nil
		}
		return nil, err
	}
	o.small[name] = b
	o.counted += int64(size)
	return b, nil
}

// item returns what describe says of an item. Once it has succeeded, it is not asked again.
func (o *once) item(name string, describe func() (Item, error)) (Item, error) {
	o.mu.Lock()
	it, known := o.items[name]
	o.mu.Unlock()
	if known {
		return it, nil
	}
	it, err := describe()
	if err == nil {
		o.mu.Lock()
		o.items[name] = it
		o.mu.Unlock()
	}
	return it, err
}

// failure returns why a small file could not be kept, or nil. A nil once has no failures.
func (o *once) failure(name string) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed[name]
}

// spans returns the ranges of a file that were read.
func (o *once) spans(name string) *spans {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.noted[name]
	if s == nil {
		s = &spans{}
		o.noted[name] = s
	}
	return s
}

// count counts bytes that were read.
func (o *once) count(n int) {
	o.mu.Lock()
	o.counted += int64(n)
	o.mu.Unlock()
}

// keptReader reads a file that is kept.
type keptReader struct {
	once *once
	name string
	b    []byte
}

// Size implements store.Reader.
func (r keptReader) Size() int64 { return int64(len(r.b)) }

// Close implements store.Reader.
func (r keptReader) Close() error { return nil }

// ReadAt implements store.Reader. The store below says what is wrong with a range beyond the file.
func (r keptReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if size := int64(len(r.b)); off >= 0 && off <= size && int64(len(p)) <= size-off {
		copy(p, r.b[off:])
		return nil
	}
	below, err := r.once.Store.Open(ctx, r.name)
	if err != nil {
		return err
	}
	defer below.Close() //nolint:errcheck // nothing was written
	return below.ReadAt(ctx, p, off)
}

// mostOpen is how many files that are not in use stay open. A checkpoint of few files needs to open
// each one once.
const mostOpen = 16

// reopen returns a file that is still open and not in use, or nil.
func (o *once) reopen(name string) store.Reader {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.open[name]
	delete(o.open, name)
	return r
}

// leaveOpen keeps a file open for reopen, if CompareFiles will need it. Otherwise it closes it.
func (o *once) leaveOpen(name string, r store.Reader) error {
	o.mu.Lock()
	left := o.manifest != nil && o.open[name] == nil && len(o.open) < mostOpen
	if left {
		o.open[name] = r
	}
	o.mu.Unlock()
	if left {
		return nil
	}
	return r.Close()
}

// close closes the files that are still open. None may be in use.
func (o *once) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.open {
		r.Close() //nolint:errcheck // nothing was written
	}
	clear(o.open)
}

// notingReader notes the checksums of the ranges that it reads.
type notingReader struct {
	store.Reader
	once *once
	name string
	into *spans // nil if nothing is noted
}

// Close implements store.Reader.
func (r notingReader) Close() error { return r.once.leaveOpen(r.name, r.Reader) }

// ReadAt implements store.Reader.
func (r notingReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	err := r.Reader.ReadAt(ctx, p, off)
	if err == nil {
		r.note(ctx, off, p)
	}
	return err
}

// note notes a range that was read into p. Its checksum goes to the reader's caller too, if the
// caller wants it.
func (r notingReader) note(ctx context.Context, off int64, p []byte) {
	r.once.count(len(p))
	if r.into != nil {
		r.into.add(span{off, off + int64(len(p)), handing(ctx).sumOf(p)})
	}
}

// scatteringReader is a notingReader of a store.Scatterer.
type scatteringReader struct{ notingReader }

// Scatter implements store.Scatterer.
func (r scatteringReader) Scatter(ctx context.Context, off int64, into ...[]byte) error {
	err := r.Reader.(store.Scatterer).Scatter(ctx, off, into...)
	if err != nil {
		return err
	}
	for _, p := range into {
		r.note(ctx, off, p)
		off += int64(len(p))
	}
	return nil
}

// unnoted returns a reader that notes nothing.
func unnoted(r store.Reader) store.Reader {
	switch n := r.(type) {
	case notingReader:
		n.into = nil
		return n
	case scatteringReader:
		n.into = nil
		return n
	}
	return r
}
