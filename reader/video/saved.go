package video

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
)

// savedMagic begins a file of indices, with the version of its form.
const savedMagic = "BVVIDX1\n"

// saved is the index of one video in a file of indices.
type saved struct {
	name    string // of the file of the video, without its folder
	size    int64
	changed int64 // when the video was changed, in nanoseconds
	index   []byte
}

// key identifies a video in a file of indices.
func (s *saved) key() string { return fmt.Sprint(s.name, "\x00", s.size, "\x00", s.changed) }

// openFiles opens the file of each entry. With a path of saved indices, files that are there are
// not read, and indices that are missing are added.
func openFiles(ctx context.Context, entries []entry, indexPath string) (map[string]*file, error) {
	known := map[string]*saved{}
	if indexPath != "" {
		var err error
		if known, err = readSaved(indexPath); err != nil {
			return nil, errs.Wrap(readerName, indexPath, err)
		}
	}
	files := map[string]*file{}
	var paths []string
	for _, e := range entries {
		if files[e.path] == nil {
			files[e.path] = &file{path: e.path}
			paths = append(paths, e.path)
		}
	}
	var mu sync.Mutex
	added := false
	now := make([]*saved, len(paths))
	err := folders.Each(ctx, readerName, entries[0].path, len(paths), func(i int) error {
		f := files[paths[i]]
		info, err := os.Stat(f.path)
		if err != nil {
			return folders.Error(readerName, f.path, err)
		}
		f.size = info.Size()
		s := &saved{name: filepath.Base(f.path), size: f.size, changed: info.ModTime().UnixNano()}
		if old := known[s.key()]; old != nil {
			now[i] = old
			f.index, err = video.ParseIndex(old.index)
			return errs.Wrap(readerName, indexPath, err)
		}
		v, err := video.Open(ctx, f.path, video.Options{})
		if err != nil {
			return errs.Wrap(readerName, "", err)
		}
		f.index = v.Index
		if indexPath == "" {
			return nil
		}
		if s.index, err = v.AppendBinary(nil); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		now[i], added = s, true
		return nil
	})
	if err == nil && added {
		err = writeSaved(indexPath, known, now)
	}
	return files, err
}

// readSaved reads a file of indices. A file that is not there has none.
func readSaved(path string) (map[string]*saved, error) {
	known := map[string]*saved{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, folders.Error("", "", err)
	}
	bad := func(got string) (map[string]*saved, error) {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "indices of videos", Got: got,
			Remedy: "remove the file: it is made again"}
	}
	if len(b) < len(savedMagic) || string(b[:len(savedMagic)]) != savedMagic {
		return bad("another file")
	}
	rest := b[len(savedMagic):]
	number := func() (v uint64) {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			n, v = len(rest), 1<<62 // too much
		}
		rest = rest[n:]
		return v
	}
	bytes := func() (b []byte, ok bool) {
		n := number()
		if n > uint64(len(rest)) {
			return nil, false
		}
		b, rest = rest[:n], rest[n:]
		return b, true
	}
	for len(rest) > 0 {
		name, ok := bytes()
		s := &saved{name: string(name), size: int64(number()), changed: int64(number())}
		var complete bool
		if s.index, complete = bytes(); !ok || !complete {
			return bad("a file that is cut")
		}
		known[s.key()] = s
	}
	return known, nil
}

// writeSaved writes the indices of the files that are there now, and keeps the indices of other
// files. Readers see the old file or the new one. When two write at once, the later one stays: each
// has what its data set needs, and what is missing is made again.
func writeSaved(path string, known map[string]*saved, now []*saved) error {
	for _, s := range now {
		if s != nil {
			known[s.key()] = s
		}
	}
	keys := make([]string, 0, len(known))
	for k := range known {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b := []byte(savedMagic)
	for _, k := range keys {
		s := known[k]
		b = append(binary.AppendUvarint(b, uint64(len(s.name))), s.name...)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.size)), uint64(s.changed))
		b = append(binary.AppendUvarint(b, uint64(len(s.index))), s.index...)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-")
	if err != nil {
		return folders.Error(readerName, path, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if other := f.Close(); err == nil {
		err = other
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the other error is returned
		return folders.Error(readerName, path, err)
	}
	return nil
}
