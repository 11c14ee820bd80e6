package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Open maps an index into memory. It reads the description of the files and no record.
func Open(path string) (*Index, error) { return openPath(context.Background(), path) }

// openPath works like Open. An index in a bucket is read into memory.
func openPath(ctx context.Context, path string) (*Index, error) {
	var data []byte
	var err error
	unmap := func() error { return nil }
	if datafs.IsURL(path) {
		data, err = datafs.ReadFile(ctx, path)
	} else {
		data, unmap, err = mapFile(datafs.Local(path))
	}
	if err != nil {
		return nil, fileError("index.Open", path, err)
	}
	x, err := newIndex(data, path, unmap)
	if err != nil {
		unmap() //nolint:errcheck // the other error says more
		return nil, err
	}
	return x, nil
}

// Is reports whether the file at path begins like an index that Write made.
func Is(ctx context.Context, path string) bool {
	f, err := datafs.OpenText(ctx, path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	var head [len(magic)]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == magic
}

// IsIndex reports whether a file begins like an index of any version.
func IsIndex(path string) (bool, error) {
	f, err := datafs.OpenText(context.Background(), path)
	if err != nil {
		return false, fileError("index.IsIndex", path, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fileError("index.IsIndex", path, err)
	}
	return n == len(magic) && string(head) == magic, nil
}

func fileError(op, path string, err error) error {
	var own *errs.Error
	if err == nil {
		return nil
	}
	if errors.As(err, &own) {
		if own.Op == "" {
			return errs.Wrap(op, "", err)
		}
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: shards.Kind(err), Op: op, Subject: path, Err: err}
}

// Write makes a file of an index that Build returned, or replaces it, in one step. The file is
// durable when Write returns.
func Write(path string, x *Index) (err error) {
	defer func() { err = fileError("index.Write", path, err) }()
	f, unlock, err := createPart(path)
	if err != nil {
		return err
	}
	defer unlock()
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // the first error says more
			os.Remove(f.Name()) //nolint:errcheck // the first error says more
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := merge(w, x.Format(), []*Index{x}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Find returns where the records of a set are: from the index at path, or if path is "" from the
// file bivouac.index beside the first file or in the folder that all files are below, or else from
// the files. An index may be about more files than the set. Files that the index beside the data
// lacks are scanned. Fails with errs.Mismatch if a file was changed since, and if the index at path
// is of another format or lacks a file of the set.
func Find(ctx context.Context, op string, set *shards.Set, f Format, path string) (*Index, error) {
	given := path != ""
	if !given {
		path = beside(ctx, set)
	}
	x, err := openPath(ctx, path)
	if err != nil {
		if !given && errors.Is(err, errs.NotFound) {
			warnFar(op, path, set)
			return inMemory(ctx, op, set, f)
		}
		return nil, errs.Wrap(op, "", err)
	}
	found, err := x.of(ctx, op, set, f, path, !given)
	if err != nil {
		x.Close() //nolint:errcheck // the other error says more
		if !given && errors.Is(err, errAnother) {
			slog.Warn("the index beside the data is not used, and all files are scanned", "from", op,
				"index", path, "error", err)
			return inMemory(ctx, op, set, f)
		}
		return nil, err
	}
	found.show(set)
	return found, nil
}

// warnFar warns of a scan that requests many bytes of a bucket.
func warnFar(op, path string, set *shards.Set) {
	const much = 64 << 20
	total := int64(0)
	for i := range set.Len() {
		total += set.Size(i)
	}
	if set.Far() && total > much {
		slog.Warn("there is no index beside the data, and files of a bucket are read to find the records", "from", op,
			"index", path, "files", set.Len(), "bytes", total, "remedy", "make the index once with bivouac index")
	}
}

// beside returns the path of the index beside the files of a set.
func beside(ctx context.Context, set *shards.Set) string {
	dir := datafs.Dir(set.Path(0))
	path := datafs.Join(dir, Name)
	if _, err := datafs.Stat(ctx, path); err == nil {
		return path
	}
	for i := range set.Len() {
		for !within(dir, datafs.Dir(set.Path(i))) {
			up := datafs.Dir(dir)
			if up == dir {
				return path
			}
			dir = up
		}
	}
	return datafs.Join(dir, Name)
}

// absolute returns the path from the root, if the system tells where the process is.
func absolute(path string) string {
	if abs, err := datafs.Abs(path); err == nil {
		return abs
	}
	return datafs.Clean(path)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := datafs.Rel(absolute(dir), absolute(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// errAnother is in the chain of an error about an index of other files than the set.
var errAnother = errors.New("the index is of other data")

// of returns an index of the files of a set. It takes the place of x. With scan, files that x lacks
// are scanned, unless x has none of the files.
func (x *Index) of(ctx context.Context, op string, set *shards.Set, f Format, path string, scan bool) (*Index, error) {
	const again = "make the index again with bivouac index"
	if x.Format() != f.Name {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: op, Subject: path, Want: "an index of " + f.Name,
			Got: "an index of " + x.Format(),
			Err: errAnother, Remedy: again}
	}
	root, places := absolute(datafs.Dir(path)), make(map[string]int, len(x.files))
	for i, file := range x.files {
		name := filepath.FromSlash(file.Name)
		if !datafs.IsAbs(name) {
			name = datafs.Join(root, name)
		}
		places[absolute(name)] = i
	}
	var lacks []int
	chosen, same := make([]int, set.Len()), set.Len() == len(x.files)
	for i := range chosen {
		at, ok := places[absolute(set.Path(i))]
		if !ok && scan {
			chosen[i] = -1
			lacks = append(lacks, i)
			continue
		}
		if !ok {
			return nil, &errs.Error{Kind: errs.Mismatch, Op: op, Subject: path, Want: "an index that has " + set.Path(i),
				Got: fmt.Sprintf("an index of %d other files", len(x.files)), Err: errAnother, Remedy: again}
		}
		if err := x.unchanged(ctx, op, set, i, x.files[at]); err != nil {
			return nil, err
		}
		chosen[i], same = at, same && at == i
	}
	switch {
	case len(lacks) == set.Len():
		return nil, &errs.Error{Kind: errs.Mismatch, Op: op, Subject: path, Want: "an index that has " + set.Path(0),
			Got: fmt.Sprintf("an index of %d other files", len(x.files)), Err: errAnother, Remedy: again}
	case len(lacks) > 0:
		return x.scanRest(ctx, op, set, f, path, chosen, lacks)
	case same:
		return x, nil
	}
	return x.choose(chosen), nil
}

// scanRest returns an index of a set of which x has the files of chosen that are not -1. It scans
// the others, which lacks lists.
func (x *Index) scanRest(ctx context.Context, op string, set *shards.Set, f Format, path string,
	chosen, lacks []int) (*Index, error) {
	slog.Warn("the index beside the data lacks files, which are scanned", "from", op, "index", path,
		"files", len(lacks), "first", set.Path(lacks[0]), "remedy", "make the index again with bivouac index")
	paths := make([]string, len(lacks))
	for i, at := range lacks {
		paths[i] = set.Path(at)
	}
	rest, err := shards.Open(ctx, op, paths)
	if err != nil {
		return nil, err
	}
	defer rest.Close() //nolint:errcheck // nothing was written
	more, err := inMemory(ctx, op, rest, f)
	if err != nil {
		return nil, err
	}
	pieces := make([]piece, len(chosen))
	for i, at := range chosen {
		pieces[i] = piece{x, at}
	}
	for i, at := range lacks {
		pieces[at] = piece{more, i}
	}
	return join(x, pieces), nil
}

// unchanged checks that file i of the set is the file that the index knows.
func (x *Index) unchanged(ctx context.Context, op string, set *shards.Set, i int, want File) error {
	got := set.File(i)
	if got.Size == want.Size && got.ModTime.UnixNano() == want.Time {
		return nil
	}
	changed := func(what, was, is string) error {
		return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: got.Path,
			Want: what + was + ", as when its index was made", Got: is,
			Remedy: "make the index again with bivouac index"}
	}
	if got.Size != want.Size {
		return changed("", fmt.Sprintf("%d bytes", want.Size), fmt.Sprintf("%d bytes", got.Size))
	}
	probe, err := probeOf(ctx, set, i)
	if err != nil {
		return errs.Wrap(op, "", err)
	}
	if probe != want.Probe {
		return changed("contents ", "of "+time.Unix(0, want.Time).UTC().Format(time.RFC3339),
			"other contents, changed at "+got.ModTime.UTC().Format(time.RFC3339))
	}
	return nil
}
