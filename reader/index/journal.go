package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Make finds the records of all files of a set and writes the index at path, in one step. Until it
// is written, the file path.journal keeps the index of each file that is done. So a run that was
// killed goes on: Make takes from the journal what belongs to files that did not change, and
// returns how many files this spared. The journal is removed at the end. Two runs at once write
// the same index. Make also removes what writers that were killed left of the index.
func Make(ctx context.Context, op, path string, set *shards.Set, f Format,
	o BuildOptions) (x *Index, reused int, err error) {
	j, err := openJournal(path+".journal", f.Name)
	if err != nil {
		return nil, 0, errs.Wrap(op, "", err)
	}
	if err := removeParts(path); err != nil {
		return nil, 0, errs.Wrap(op, "", err)
	}
	o.Done, o.Keep = j.done, j.keep
	x, err = Build(ctx, op, set, f, o)
	if err == nil {
		if err = Write(path, x); err == nil {
			x, err = Open(path)
		}
		err = errs.Wrap(op, "", err)
	}
	if closeErr := j.close(err == nil); err == nil && closeErr != nil {
		x.Close() //nolint:errcheck // the other error says more
		err = errs.Wrap(op, "", closeErr)
	}
	if err != nil {
		return nil, 0, err
	}
	return x, j.reused, nil
}

// entryHeader is the size of what comes before each index in a journal: its length and its CRC32C.
const entryHeader = 16

// journal keeps the indexes of files that are done.
type journal struct {
	path string
	old  map[File]*Index // of a run before, without their fingerprints
	size int64           // of the whole entries
	torn bool            // bytes follow them

	mu     sync.Mutex
	f      *os.File // nil until there is something to keep
	reused int
}

// openJournal reads the journal at path, or begins one.
func openJournal(path, format string) (*journal, error) {
	j := &journal{path: path, old: map[File]*Index{}}
	data, err := os.ReadFile(path) // not mapped: another run may cut it
	if errors.Is(err, os.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fileError("index.Make", path, err)
	}
	for len(data) >= entryHeader {
		size := binary.LittleEndian.Uint64(data)
		if size > uint64(len(data)-entryHeader) {
			break // the run was killed while it wrote
		}
		entry := data[entryHeader : entryHeader+size]
		if crc.Sum(entry) != binary.LittleEndian.Uint32(data[8:]) {
			break
		}
		data = data[entryHeader+size:]
		j.size += entryHeader + int64(size)
		if x, err := newIndex(entry, path, nil); err == nil && x.Format() == format && len(x.files) == 1 {
			j.old[known(x.files[0])] = x
		}
	}
	j.torn = len(data) > 0
	return j, nil
}

// known is what a journal knows a file by: what is known before a scan.
func known(f File) File { return File{Name: f.Name, Size: f.Size, Time: f.Time, Probe: f.Probe} }

func (j *journal) done(f File) *Index {
	x := j.old[known(f)]
	if x != nil {
		j.mu.Lock()
		j.reused++
		j.mu.Unlock()
	}
	return x
}

func (j *journal) keep(x *Index) error {
	b := bytes.NewBuffer(make([]byte, entryHeader))
	if err := merge(b, x.Format(), []*Index{x}); err != nil {
		return err
	}
	entry := b.Bytes()
	binary.LittleEndian.PutUint64(entry, uint64(len(entry)-entryHeader))
	binary.LittleEndian.PutUint32(entry[8:], crc.Sum(entry[entryHeader:]))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return fileError("index.Make", j.path, err)
		}
		j.f = f
		if j.torn {
			if err := f.Truncate(j.size); err != nil {
				return fileError("index.Make", j.path, err)
			}
		}
	}
	_, err := j.f.Write(entry)
	return fileError("index.Make", j.path, err)
}

// close ends the journal, and removes it if the index is there.
func (j *journal) close(remove bool) (err error) {
	if j.f != nil {
		err = j.f.Close()
	}
	if remove {
		if e := os.Remove(j.path); err == nil && !errors.Is(e, os.ErrNotExist) {
			err = e
		}
	}
	return fileError("index.Make", j.path, err)
}
