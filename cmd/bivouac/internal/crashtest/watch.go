package crashtest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/recording"
)

// watcher reads the records of one start while they grow.
type watcher struct {
	dir   string
	files []*watched // in the order of their appearance
	known map[string]bool
	// repeated counts how often each step was recorded. most is the highest of these counts, of the
	// step worst.
	repeated map[number]int
	most     int
	worst    int64
}

// number is the number of a step of a rank.
type number struct {
	rank        int
	epoch, step int64
}

type watched struct {
	path   string
	offset int64
	reader recording.Reader
	seen   int // entries that repeated has
}

func newWatcher(dir string) *watcher {
	return &watcher{dir: dir, known: map[string]bool{}, repeated: map[number]int{}}
}

// poll reads what was written since the last call.
func (w *watcher) poll() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return system(w.dir, err)
	}
	type fresh struct {
		path string
		time time.Time
	}
	var found []fresh
	for _, e := range entries {
		path := filepath.Join(w.dir, e.Name())
		if filepath.Ext(path) != ".jsonl" || w.known[path] {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			w.known[path] = true
			found = append(found, fresh{path, info.ModTime()})
		}
	}
	slices.SortStableFunc(found, func(a, b fresh) int { return a.time.Compare(b.time) })
	for _, f := range found {
		w.files = append(w.files, &watched{path: f.path})
	}
	for _, f := range w.files {
		if err := f.poll(); err != nil {
			return err
		}
		for _, e := range f.reader.Entries[f.seen:] {
			if e.HasStep {
				w.repeat(number{f.reader.Header.Rank, e.Epoch, e.Step})
			}
		}
		f.seen = len(f.reader.Entries)
	}
	return nil
}

func (w *watcher) repeat(n number) {
	w.repeated[n]++
	if count := w.repeated[n]; count > w.most {
		w.most, w.worst = count, n.step
	}
}

func (f *watched) poll() error {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() == f.offset {
		return nil //nolint:nilerr // the job may remove its records: they are missing then
	}
	file, err := os.Open(f.path)
	if err != nil {
		return system(f.path, err)
	}
	defer file.Close() //nolint:errcheck // it was read only
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return system(f.path, err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return system(f.path, err)
	}
	f.offset += int64(len(data))
	if err := f.reader.Feed(data); err != nil {
		return errs.Wrap("crashtest", f.path, err)
	}
	return nil
}

// lives returns what each process of a rank recorded.
func (w *watcher) lives(rank int) []life {
	var out []life
	for _, f := range w.files {
		if f.reader.Header.Rank == rank && len(f.reader.Entries) > 0 {
			out = append(out, split(f.reader.Entries)...)
		}
	}
	return out
}

// ranks returns the ranks that recorded something, in order.
func (w *watcher) ranks() []int {
	var out []int
	for _, f := range w.files {
		if len(f.reader.Entries) > 0 && !slices.Contains(out, f.reader.Header.Rank) {
			out = append(out, f.reader.Header.Rank)
		}
	}
	slices.Sort(out)
	return out
}

// count returns how many records there are.
func (w *watcher) count() (n int) {
	for _, f := range w.files {
		n += len(f.reader.Entries)
	}
	return n
}

// latest returns the newest record of the first rank that has a number.
func (w *watcher) latest() (recording.Entry, bool) {
	ranks := w.ranks()
	if len(ranks) == 0 {
		return recording.Entry{}, false
	}
	for _, l := range slices.Backward(w.lives(ranks[0])) {
		for _, e := range slices.Backward(l) {
			if e.HasStep {
				return e, true
			}
		}
	}
	return recording.Entry{}, false
}

// system gives an error of the operating system its kind.
func system(subject string, err error) error {
	kind := errs.IO
	if errors.Is(err, fs.ErrPermission) {
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Op: "crashtest", Subject: subject, Err: err}
}
