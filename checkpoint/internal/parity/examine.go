package parity

import (
	"context"
	"path"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// Has reports whether a checkpoint has parity.
func Has(m *manifest.Manifest) bool {
	return m != nil && slices.ContainsFunc(m.Files, func(f manifest.File) bool { return Is(f.Name) })
}

// Percent returns how many parity blocks a checkpoint has for 100 blocks of data, 0 for a
// checkpoint without parity. It reads the first readable parity file, and fails if none is
// readable.
func Percent(ctx context.Context, st store.Store, name string, m *manifest.Manifest) (int, error) {
	if m == nil {
		return 0, nil
	}
	var failed error
	for _, f := range m.Files {
		if !Is(f.Name) || f.Name == CopyName {
			continue
		}
		percent, err := percentOf(ctx, st, path.Join(name, f.Name))
		if err == nil {
			return percent, nil
		}
		failed = errs.Wrap("", f.Name, err)
	}
	if failed != nil {
		kind := errs.KindOf(failed)
		if kind == errs.NotFound || kind == errs.Invalid {
			kind = errs.Corrupt // the checkpoint exists, but its parity does not
		}
		failed = &errs.Error{Kind: kind, Op: "parity", Got: "no readable parity file", Err: failed,
			Remedy: "bivouac repair makes lost parity again"}
	}
	return 0, failed
}

func percentOf(ctx context.Context, st store.Store, name string) (int, error) {
	r, err := st.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	t, err := readTable(ctx, r)
	if err != nil {
		return 0, err
	}
	return t.percent, nil
}

// Bad is a file that differs from its record in the manifest.
type Bad struct {
	File manifest.File
	Why  error
	// Beyond says why the file cannot be mended. It is nil if its bytes can be computed from other
	// files and match the manifest.
	Beyond error
}

// Report is the result of Examine.
type Report struct {
	Bad []Bad // in the order of their names

	x *examination
}

// Beyond returns why the damage cannot be mended. It is nil if the damage can be mended, and if
// there is no damage.
func (r *Report) Beyond() error {
	for _, b := range r.Bad {
		if b.Beyond != nil {
			return errs.Wrap("", b.File.Name, b.Beyond)
		}
	}
	return nil
}

// Examine reads all files that the manifest m of the checkpoint name lists, and finds out which are
// damaged and whether they can be mended: each is computed and compared with the manifest, and
// nothing is written. progress, when not nil, receives how many bytes of how many were read.
func Examine(ctx context.Context, st store.Store, name string, m *manifest.Manifest,
	progress func(done, total int64)) (*Report, error) {
	x := &examination{st: st, name: name, m: m, bad: map[string]error{}}
	r := &Report{x: x}
	done, total := int64(0), int64(0)
	for _, f := range m.Files {
		total += f.Size
	}
	for _, f := range m.Files {
		why, err := x.check(ctx, f)
		if err != nil {
			return nil, err
		}
		if why != nil {
			x.bad[f.Name] = why
			r.Bad = append(r.Bad, Bad{File: f, Why: why})
		}
		if done += f.Size; progress != nil {
			progress(done, total)
		}
	}
	for i := range r.Bad {
		b := &r.Bad[i]
		if b.Beyond = x.write(ctx, nowhere{}, b.File); b.Beyond != nil && !lost(b.Beyond) {
			return nil, b.Beyond
		}
	}
	return r, nil
}

// Write writes the restored bytes of a damaged file into a transaction. If they do not match the
// manifest, it fails with errs.Corrupt, and the transaction must be aborted.
func (r *Report) Write(ctx context.Context, txn store.Txn, f manifest.File) error {
	return r.x.write(ctx, txn, f)
}

// examination is one call of Examine.
type examination struct {
	st   store.Store
	name string
	m    *manifest.Manifest
	bad  map[string]error
}

func (x *examination) open(ctx context.Context, file string) (store.Reader, error) {
	return x.st.Open(ctx, path.Join(x.name, file))
}

// check reads a file and returns what is wrong with it. err is why the file could not be checked.
func (x *examination) check(ctx context.Context, f manifest.File) (why, err error) {
	r, err := x.open(ctx, f.Name)
	if err == nil {
		defer r.Close() //nolint:errcheck // nothing was written
		if r.Size() != f.Size {
			return &errs.Error{Kind: errs.Corrupt, Subject: f.Name, Want: strconv.FormatInt(f.Size, 10) + " bytes",
				Got: strconv.FormatInt(r.Size(), 10)}, nil
		}
		err = copyOf(ctx, r, checked(f, nil))
	}
	if err != nil && lost(err) {
		return err, nil
	}
	return nil, err
}

// copyOf passes the bytes of a file to sink, and then nil.
func copyOf(ctx context.Context, r store.Reader, sink func(b []byte) error) error {
	buf := make([]byte, min(readBytes, r.Size()))
	for off := int64(0); off < r.Size(); off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), r.Size()-off)]
		if err := r.ReadAt(ctx, p, off); err != nil {
			return err
		}
		if err := sink(p); err != nil {
			return err
		}
	}
	return sink(nil)
}

// checked returns a sink that compares its input with the record of a file when it gets nil, at the
// end. next, when not nil, gets the bytes first.
func checked(f manifest.File, next func(b []byte) error) func(b []byte) error {
	sum, size, runs := uint32(0), int64(0), newDigests(f.Runs)
	return func(b []byte) error {
		sum, size = crc.Update(sum, b), size+int64(len(b))
		if err := runs.add(f.Name, b); err != nil {
			return err
		}
		if b == nil {
			switch {
			case size != f.Size:
				return &errs.Error{Kind: errs.Corrupt, Subject: f.Name, Want: strconv.FormatInt(f.Size, 10) + " bytes",
					Got: strconv.FormatInt(size, 10)}
			case sum != f.CRC:
				return manifest.ChecksumError(f.Name, f.CRC, sum)
			}
		}
		if next == nil {
			return nil
		}
		return next(b)
	}
}

// digests compares bytes, which arrive in order, with the runs of a file.
type digests struct {
	runs []manifest.Run
	held []byte
}

func newDigests(runs []manifest.Run) *digests { return &digests{runs: runs} }

func (d *digests) add(name string, b []byte) error {
	if len(d.runs) == 0 {
		return nil
	}
	d.held = append(d.held, b...)
	for len(d.runs) > 0 && int64(len(d.held)) >= d.runs[0].Size {
		r := d.runs[0]
		if !r.Check(d.held[:r.Size]) {
			return manifest.DigestError(name, r)
		}
		d.held, d.runs = append(d.held[:0], d.held[r.Size:]...), d.runs[1:]
	}
	return nil
}

// write writes the bytes of a file that the manifest lists, computed from other files.
func (x *examination) write(ctx context.Context, to files, f manifest.File) error {
	if Is(f.Name) {
		return x.remake(ctx, to, f)
	}
	w := &gathered{ctx: ctx, to: to, f: f}
	sink := checked(f, w.write)
	err := x.mended(ctx, f, sink)
	if err == nil {
		err = sink(nil)
	}
	if err != nil {
		w.abort()
	}
	return err
}

// stream passes the bytes of a file to sink, mended if it is damaged.
func (x *examination) stream(ctx context.Context, f manifest.File, sink func(b []byte) error) error {
	if x.bad[f.Name] != nil {
		return x.mended(ctx, f, sink)
	}
	r, err := x.open(ctx, f.Name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return copyOf(ctx, r, func(b []byte) error {
		if b == nil {
			return nil
		}
		return sink(b)
	})
}

// mended passes the mended bytes of a damaged file to sink.
func (x *examination) mended(ctx context.Context, f manifest.File, sink func(b []byte) error) error {
	v, err := x.volume(ctx, f.Name)
	if err != nil {
		return err
	}
	defer v.close()
	return v.stream(ctx, f.Name, sink)
}

// volume opens the parity file of a file.
func (x *examination) volume(ctx context.Context, file string) (*volume, error) {
	if own := Name(file); x.lists(own) {
		v, err := openVolume(ctx, own, file, x.open)
		if err != nil && lost(err) {
			err = &errs.Error{Kind: errs.Corrupt, Op: "parity", Subject: file, Got: "damaged parity", Err: err}
		}
		return v, err
	}
	var failed error
	for _, f := range x.m.Files {
		if !isShared(f.Name) {
			continue
		}
		v, err := openVolume(ctx, f.Name, "", x.open)
		if err != nil {
			if !lost(err) {
				return nil, err
			}
			failed = err
			continue
		}
		if slices.ContainsFunc(v.files, func(s span) bool { return s.name == file }) {
			return v, nil
		}
		v.close()
	}
	return nil, &errs.Error{Kind: errs.Corrupt, Op: "parity", Subject: file, Got: "no parity of the file", Err: failed}
}

func (x *examination) lists(name string) bool {
	_, ok := x.m.File(name)
	return ok
}

// remake computes a parity file from its data files.
func (x *examination) remake(ctx context.Context, to files, f manifest.File) error {
	signed := len(f.Runs) > 0
	if f.Name == CopyName {
		return x.remakeCopy(ctx, to, f)
	}
	if isShared(f.Name) {
		return x.remakeShared(ctx, to, f, signed)
	}
	i := slices.IndexFunc(x.m.Files, func(d manifest.File) bool { return Name(d.Name) == f.Name })
	if i < 0 {
		return damaged("the parity of a file that the manifest does not list")
	}
	data := x.m.Files[i]
	for percent := 1; percent <= MaxPercent; percent++ {
		s := shapeOf(data.Size, percent)
		if newTable(s, nil).fileSize() != f.Size {
			continue
		}
		l := newLarge(ctx, to, s, data.Name, signed)
		off := int64(0)
		err := x.stream(ctx, data, func(b []byte) error {
			err := l.enc.add(b, off)
			off += int64(len(b))
			return err
		})
		var made manifest.File
		if err == nil {
			made, err = l.out.finish(ctx)
		}
		if err == nil {
			err = same(made, f)
		}
		if err != nil {
			l.out.abort() //nolint:errcheck // the reason is already being returned
		}
		return err
	}
	return damaged("a parity file of unknown size")
}

func same(made, want manifest.File) error {
	if made.Size != want.Size || made.CRC != want.CRC {
		return manifest.ChecksumError(want.Name, want.CRC, made.CRC)
	}
	return nil
}

// remakeShared works like remake for a parity file that several files share: the files that it
// lists, or else the files that have no other parity file.
func (x *examination) remakeShared(ctx context.Context, to files, f manifest.File, signed bool) error {
	members, percent, err := x.members(ctx, f.Name)
	if err != nil {
		return err
	}
	first, last := percent, percent
	if percent == 0 {
		first, last = 1, MaxPercent
	}
	var small []blob
	for _, d := range members {
		b := make([]byte, 0, d.Size)
		if err := x.stream(ctx, d, func(p []byte) error { b = append(b, p...); return nil }); err != nil {
			return err
		}
		small = append(small, blob{d.Name, b})
	}
	for p := first; p <= last; p++ {
		if sharedTable(slices.Clone(members), p).fileSize() != f.Size {
			continue
		}
		made, err := writeShared(ctx, nowhere{}, slices.Clone(small), f.Name, p, signed)
		if err == nil && same(made, f) != nil {
			continue
		}
		if err == nil {
			_, err = writeShared(ctx, to, small, f.Name, p, signed)
		}
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "parity", Subject: f.Name,
		Got: "files that have another parity file"}
}

// members returns the files that share a parity file, and its redundancy, or 0 if its tables are
// damaged.
func (x *examination) members(ctx context.Context, name string) (members []manifest.File, percent int, err error) {
	if v, err := openVolume(ctx, name, "", x.open); err == nil {
		defer v.close()
		for _, s := range v.files {
			f, ok := x.m.File(s.name)
			if !ok || f.Size != s.size {
				return nil, 0, damaged("the parity of a file that the manifest does not list")
			}
			members = append(members, f)
		}
		return members, v.percent, nil
	} else if !lost(err) {
		return nil, 0, err
	}
	taken := map[string]bool{}
	for _, f := range x.m.Files {
		if !Is(f.Name) || !isShared(f.Name) || f.Name == name {
			continue
		}
		v, err := openVolume(ctx, f.Name, "", x.open)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range v.files {
			taken[s.name] = true
		}
		v.close()
	}
	for _, f := range x.m.Files {
		if !Is(f.Name) && !taken[f.Name] && !x.lists(Name(f.Name)) {
			members = append(members, f)
		}
	}
	return members, 0, nil
}

// gathered writes a file whose bytes arrive in order, in pieces of a size that suits a store.
type gathered struct {
	ctx context.Context
	to  files
	f   manifest.File
	buf []byte
	off int64
	w   store.Writer
}

// write takes bytes, and nil at the end.
func (g *gathered) write(b []byte) (err error) {
	g.buf = append(g.buf, b...)
	if g.f.Size <= putBytes {
		if b != nil {
			return nil
		}
		return g.to.Put(g.ctx, g.f.Name, g.buf)
	}
	if g.w == nil {
		if g.w, err = g.to.Create(g.ctx, g.f.Name, g.f.Size); err != nil {
			return err
		}
	}
	if n := len(g.buf) &^ (readBytes - 1); n > 0 || b == nil {
		if b == nil {
			n = len(g.buf)
		}
		if err := g.w.WriteAt(g.ctx, g.buf[:n], g.off); err != nil {
			return err
		}
		g.off += int64(n)
		g.buf = append(g.buf[:0], g.buf[n:]...)
	}
	if b == nil {
		return g.w.Seal(g.ctx)
	}
	return nil
}

func (g *gathered) abort() {
	if g.w != nil {
		g.w.Abort() //nolint:errcheck // the transaction aborts what is still open
	}
}

// nowhere accepts files and discards them.
type nowhere struct{}

// Create implements files.
func (nowhere) Create(context.Context, string, int64) (store.Writer, error) { return nowhere{}, nil }

// Put implements files.
func (nowhere) Put(context.Context, string, []byte) error { return nil }

// WriteAt implements store.Writer.
func (nowhere) WriteAt(context.Context, []byte, int64) error { return nil }

// Seal implements store.Writer.
func (nowhere) Seal(context.Context) error { return nil }

// Abort implements store.Writer.
func (nowhere) Abort() error { return nil }
