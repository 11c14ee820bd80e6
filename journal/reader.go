package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// maxSegment is the largest file that is read as a segment.
const maxSegment = 256 << 20

// Reader reads the journal of a run. It sees what was there when Open or Refresh was called.
type Reader struct {
	st       store.Store
	dir      string
	attempts []*Attempt
	problems []error
}

// Attempt is one start of the program.
type Attempt struct {
	Number int
	ID     string
	// Start is the first row of the attempt. If it cannot be read, only Attempt and ID are set, and
	// Known is false.
	Start Start
	Known bool
	// Last is the last row that can be read: an EndRow if the attempt ended by itself. Its Kind is ""
	// if the attempt has no row.
	Last Row
	// Files are the segments, ascending.
	Files []File
}

// End returns how the attempt ended, or nil if it was killed or is still running.
func (a *Attempt) End() *End { return a.Last.End }

// Bytes returns the size of all segments.
func (a *Attempt) Bytes() (n int64) {
	for _, f := range a.Files {
		n += f.Size
	}
	return n
}

// File is a segment of an attempt.
type File struct {
	Name   string // in the folder of the journal
	Number int
	Size   int64
}

// Open reads the list of attempts of the run in dir of st, and the first and the last row of each.
// A run without a journal has no attempts. Damage is no error: see Problems.
func Open(ctx context.Context, st store.Store, dir string) (*Reader, error) {
	r := &Reader{st: st, dir: path.Join(dir, Folder)}
	return r, r.Refresh(ctx)
}

// Attempts returns the attempts in the order of their numbers. Attempts with the same number are in
// the order of their times.
func (r *Reader) Attempts() []*Attempt { return r.attempts }

// Problems returns what Open or Refresh found: files that are not of a journal, missing segments,
// attempts of a newer version, and segments whose first or last row is damaged. Rows reports damage
// between them.
func (r *Reader) Problems() []error { return r.problems }

// Refresh reads the list of attempts again. Attempts that have not changed are not read again.
func (r *Reader) Refresh(ctx context.Context) error {
	attempts, problems, err := r.list(ctx)
	if err != nil {
		return errs.Wrap("journal.Open", r.dir, err)
	}
	before := map[string]*Attempt{}
	for _, a := range r.attempts {
		before[a.ID] = a
	}
	for i, a := range attempts {
		if b := before[a.ID]; b != nil && b.Number == a.Number && b.Known && b.Last.Kind != "" &&
			slices.Equal(a.Files, b.Files) {
			attempts[i] = b
		}
	}
	found, err := r.readEnds(ctx, attempts, before)
	if err != nil {
		return errs.Wrap("journal.Open", r.dir, err)
	}
	slices.SortStableFunc(attempts, func(a, b *Attempt) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), a.Start.Time.Compare(b.Start.Time))
	})
	r.attempts, r.problems = attempts, append(problems, found...)
	return nil
}

// list finds the segments of all attempts.
func (r *Reader) list(ctx context.Context) (attempts []*Attempt, problems []error, err error) {
	byName := map[string]*Attempt{}
	for info, err := range r.st.List(ctx, r.dir) {
		if err != nil {
			if errs.KindOf(err) == errs.NotFound && !errors.Is(err, store.ErrNoStore) {
				break
			}
			return nil, nil, err
		}
		number, id, n, ok := parseName(info.Name)
		if store.IsStaging(info.Name) {
			continue // a Put under way, or its remains
		}
		if !ok || info.Dir || info.Size > maxSegment {
			problems = append(problems, &errs.Error{Kind: errs.Invalid, Op: "journal.Open",
				Subject: join(r.dir, info.Name), Want: "a segment of a journal", Got: "something else, which is not read",
				Remedy: "move it away"})
			continue
		}
		key := strconv.Itoa(number) + id
		a := byName[key]
		if a == nil {
			a = &Attempt{Number: number, ID: id, Start: Start{Attempt: number, ID: id}}
			byName[key] = a
			attempts = append(attempts, a)
		}
		a.Files = append(a.Files, File{info.Name, n, info.Size})
	}
	for _, a := range attempts {
		slices.SortFunc(a.Files, func(x, y File) int { return cmp.Compare(x.Number, y.Number) })
		for i, f := range a.Files {
			if after := i + 1; f.Number != after && (i == 0 || f.Number != a.Files[i-1].Number+1) {
				problems = append(problems, &errs.Error{Kind: errs.Corrupt, Op: "journal.Open",
					Subject: join(r.dir, f.Name), Want: "the segment before it", Got: "no such file",
					Remedy: "its rows are lost, unless another copy of the run has it"})
			}
		}
	}
	return attempts, problems, nil
}

// readers is how many attempts are read at once: a bucket takes a while for each.
const readers = 16

// readEnds reads the first and the last row of the attempts that are not in before.
func (r *Reader) readEnds(ctx context.Context, attempts []*Attempt, before map[string]*Attempt) ([]error, error) {
	var work sync.WaitGroup
	found, failed := make([][]error, len(attempts)), make([]error, len(attempts))
	turn := make(chan struct{}, readers)
	for i, a := range attempts {
		if before[a.ID] == a {
			found[i] = a.versionProblem(r.dir)
			continue
		}
		turn <- struct{}{}
		work.Go(func() {
			defer func() { <-turn }()
			found[i], failed[i] = r.readEnd(ctx, a)
		})
	}
	work.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(found...), nil
}

// readEnd reads the first and the last row of an attempt.
func (r *Reader) readEnd(ctx context.Context, a *Attempt) (problems []error, err error) {
	for _, f := range a.Files { // each segment begins with the start row
		row, err := r.first(ctx, f)
		if errs.KindOf(err) == errs.NotFound || ctx.Err() != nil || errs.KindOf(err) == errs.Permission {
			return nil, err
		}
		if err == nil && (row.Start.ID != a.ID || row.Start.Attempt != a.Number || row.Start.Segment != f.Number) {
			err = &errs.Error{Kind: errs.Mismatch, Op: "journal.Open", Subject: join(r.dir, f.Name),
				Want: "the name " + segmentName(row.Start.Attempt, row.Start.ID, row.Start.Segment),
				Got:  f.Name, Remedy: "rename it back"}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		a.Start, a.Known = *row.Start, true
		break
	}
	for _, f := range slices.Backward(a.Files) {
		row, found, err := r.last(ctx, f)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
		if row.Kind != "" {
			a.Last = row
			break
		}
	}
	return append(problems, a.versionProblem(r.dir)...), nil
}

func (a *Attempt) versionProblem(dir string) []error {
	if a.Start.Version <= Version {
		return nil
	}
	return []error{&errs.Error{Kind: errs.Unsupported, Op: "journal.Open", Subject: join(dir, a.Files[0].Name),
		Want: "a journal of version " + strconv.Itoa(Version), Got: "version " + strconv.Itoa(a.Start.Version),
		Remedy: "use a newer Bivouac; rows that this version knows are read"}}
}

// ends is how many bytes of a segment are read to find its first or last row. A segment whose row
// is longer is read as a whole.
const ends = 16 << 10

// part reads the first or the last n bytes of a file, or all of a shorter one.
func (r *Reader) part(ctx context.Context, f File, n int64, fromEnd bool) (b []byte, whole bool, err error) {
	file, err := r.st.Open(ctx, join(r.dir, f.Name))
	if err != nil {
		return nil, false, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	size := min(file.Size(), maxSegment)
	b = make([]byte, min(n, size))
	off := int64(0)
	if fromEnd {
		off = size - int64(len(b))
	}
	return b, int64(len(b)) == size, file.ReadAt(ctx, b, off)
}

// first reads the start row of a segment.
func (r *Reader) first(ctx context.Context, f File) (Row, error) {
	for n := int64(ends); ; n = maxSegment {
		b, whole, err := r.part(ctx, f, n, false)
		if err != nil {
			return Row{}, err
		}
		line, _, ended := bytes.Cut(b, []byte("\n"))
		if !ended && !whole {
			continue
		}
		row, err := ParseLine(line)
		if err == nil && (row.Start == nil || !ended) {
			err = &errs.Error{Kind: errs.Corrupt, Want: "a start row", Got: excerpt(line)}
		}
		if err != nil {
			return row, r.damaged(f, 1, err)
		}
		return row, nil
	}
}

// last reads the last row of a segment that is not damaged.
func (r *Reader) last(ctx context.Context, f File) (Row, []error, error) {
	for n := int64(ends); ; n = maxSegment {
		b, whole, err := r.part(ctx, f, n, true)
		if err != nil {
			return Row{}, nil, err
		}
		if row, problems := r.lastIn(f, b, whole); whole || row.Kind != "" {
			return row, problems, nil
		}
	}
}

// lastIn finds the last row in the end of a segment, or in the whole segment.
func (r *Reader) lastIn(f File, b []byte, whole bool) (Row, []error) {
	var problems []error
	if i := bytes.LastIndexByte(b, '\n'); i != len(b)-1 {
		problems = append(problems, r.torn(f, b[i+1:]))
		b = b[:i+1]
	}
	for len(b) > 0 {
		b = b[:len(b)-1]
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 && !whole {
			break // the line may begin earlier
		}
		if row, err := ParseLine(b[i+1:]); err != nil {
			problems = append(problems, r.damaged(f, 0, err))
		} else if row.Start == nil || row.Start.Segment == 1 {
			return row, problems
		}
		b = b[:i+1]
	}
	return Row{}, problems
}

// damaged adds the place of a line to its error. Lines count from 1; 0 is not known.
func (r *Reader) damaged(f File, line int, err error) error {
	subject := join(r.dir, f.Name)
	if line > 0 {
		subject += ":" + strconv.Itoa(line)
	}
	return &errs.Error{Op: "journal", Subject: subject, Err: err,
		Remedy: "reading goes on after it; another copy of the run may have it whole"}
}

// torn returns the error for a last line without a newline.
func (r *Reader) torn(f File, line []byte) error {
	return r.damaged(f, 0, &errs.Error{Kind: errs.Corrupt, Want: "a newline after the last line",
		Got: excerpt(line) + ", which is cut off"})
}
