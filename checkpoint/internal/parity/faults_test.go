package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// faulty makes one call of a store fail: the n-th, from 1.
type faulty struct {
	n    int
	kind errs.Kind
	all  []string // the calls
	hit  string   // the call that failed; "" when there were fewer
}

func (f *faulty) call(what string) error {
	if f.all = append(f.all, what); len(f.all) != f.n {
		return nil
	}
	f.hit = what
	return &errs.Error{Kind: f.kind, Subject: what, Got: "a call that fails"}
}

// chosen returns the numbers of calls, the first two and the last one of each file and
// kind.
func (f *faulty) chosen() (numbers []int) {
	of := map[string][]int{}
	for i, what := range f.all {
		of[what] = append(of[what], i+1)
	}
	for _, n := range of {
		numbers = append(numbers, n[:min(2, len(n))]...)
		numbers = append(numbers, n[len(n)-1])
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

type faultyStore struct {
	store.Store
	*faulty
}

func (s faultyStore) Open(ctx context.Context, name string) (store.Reader, error) {
	if err := s.call("open of " + name); err != nil {
		return nil, err
	}
	r, err := s.Store.Open(ctx, name)
	return faultyReader{r, s.faulty, name}, err
}

type faultyReader struct {
	store.Reader
	*faulty
	name string
}

func (r faultyReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := r.call("read of " + r.name); err != nil {
		return err
	}
	return r.Reader.ReadAt(ctx, p, off)
}

// faultyTxn is a transaction of a kept: what is linked is a name without bytes.
type faultyTxn struct {
	store.Txn
	kept
	*faulty
	open int // writers that were neither sealed nor aborted
}

func (t *faultyTxn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	if err := t.call("create of " + name); err != nil {
		return nil, err
	}
	t.open++
	return &faultyWriter{keptWriter{t.kept, name, make([]byte, size)}, t, false}, nil
}

func (t *faultyTxn) Put(ctx context.Context, name string, b []byte) error {
	if err := t.call("put of " + name); err != nil {
		return err
	}
	return t.kept.Put(ctx, name, b)
}

func (t *faultyTxn) Link(_ context.Context, name, _ string) error {
	if err := t.call("link of " + name); err != nil {
		return err
	}
	t.kept[name] = nil
	return nil
}

type faultyWriter struct {
	keptWriter
	t    *faultyTxn
	over bool
}

func (w *faultyWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	if err := w.t.call("write of " + w.name); err != nil {
		return err
	}
	return w.keptWriter.WriteAt(ctx, p, off)
}

func (w *faultyWriter) end() {
	if !w.over {
		w.over = true
		w.t.open--
	}
}

func (w *faultyWriter) Seal(ctx context.Context) error {
	if err := w.t.call("seal of " + w.name); err != nil {
		return err
	}
	w.end()
	return w.keptWriter.Seal(ctx)
}

func (w *faultyWriter) Abort() error {
	w.end()
	return nil
}

// TestEveryFailureOfASaveIsTold: whichever call of the store fails while parity is made,
// of what is put, written, linked and marked, is told at once.
func TestEveryFailureOfASaveIsTold(t *testing.T) {
	ctx := t.Context()
	const percent, large = 50, 256 << 10
	random := rand.New(rand.NewPCG(7, 8))
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	// A committed checkpoint to link from: small has no parity file to itself, twin has one.
	st := local.New(vfstest.NewMem(), "/", nil)
	txn, err := st.Begin(ctx, "old", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := &manifest.Manifest{}
	with := Wrap(txn, Options{Percent: percent, Large: large})
	for name, n := range map[string]int{"small": 5000, "twin": large, "alone": 2300 << 10} {
		b, to := bytesOf(n), store.Txn(with)
		if name == "alone" {
			to = txn
		}
		if err := to.Put(ctx, name, b); err != nil {
			t.Fatal(err)
		}
		old.Add(name, b)
	}
	made, err := with.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	old.Files = append(old.Files, made...)
	doc := old.Append(nil)
	if err := txn.Commit(ctx, store.Blob{Name: manifest.Name, Data: doc}); err != nil {
		t.Fatal(err)
	}
	if old, err = manifest.Parse(doc); err != nil {
		t.Fatal(err)
	}
	write := func(to store.Txn, name string, b []byte, piece int) error {
		w, err := to.Create(ctx, name, int64(len(b)))
		for off := 0; off < len(b) && err == nil; off += piece {
			err = w.WriteAt(ctx, b[off:min(len(b), off+piece)], int64(off))
		}
		if err != nil {
			return err
		}
		return w.Seal(ctx)
	}
	tiny, medium, huge := bytesOf(8192), bytesOf(large), bytesOf(2300<<10)
	for name, do := range map[string]func(to *Txn) error{
		"files with parity files to themselves": func(to *Txn) error {
			for name, b := range map[string][]byte{"put": medium, "huge": huge} {
				if err := to.Put(ctx, name, b); err != nil {
					return err
				}
			}
			return write(to, "written", huge, 1<<20)
		},
		"small files": func(to *Txn) error {
			if err := to.Put(ctx, "put", tiny); err != nil {
				return err
			}
			return write(to, "written", tiny, 4096)
		},
		"small files of several regions": func(to *Txn) error {
			to.o.Percent, to.o.Large = 17, Large
			for i := range 7 {
				if err := to.Put(ctx, fmt.Sprint(i), huge[:Large-1-i]); err != nil {
					return err
				}
			}
			return nil
		},
		"small files whose last block is full": func(to *Txn) error {
			to.o.Large = 4 << 20
			return to.Put(ctx, "put", huge[:2300<<10&^4095])
		},
		"links": func(to *Txn) error {
			for _, name := range []string{"small", "twin", "alone"} {
				if err := to.Link(ctx, name, "old/"+name); err != nil {
					return err
				}
			}
			return nil
		},
		"a large marker": func(*Txn) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				f := &faulty{n: n, kind: errs.IO}
				to := Wrap(&faultyTxn{kept: kept{}, faulty: f},
					Options{Percent: percent, Large: large, Store: faultyStore{st, f}, Bases: []Base{{"old", old}}})
				err := do(to)
				if err == nil {
					mark := store.Blob{Name: "mark", Data: medium}
					if name != "a large marker" {
						mark.Data = medium[:10]
					}
					_, err = to.Finish(ctx, mark)
				}
				if f.hit == "" {
					if err != nil || n < 2 {
						t.Fatalf("%v after %d calls", err, n-1)
					}
					return
				}
				if !errors.Is(err, errs.IO) {
					t.Errorf("call %d, the %s, failed: %v", n, f.hit, err)
				}
			}
		})
	}
}

// damages are ways to lose bytes that parity brings back, or not.
var damages = []struct {
	name   string
	damage func(d *disk)
}{
	{"a bit of each file", func(d *disk) {
		for n, b := range d.files {
			if len(b) > 0 && !Is(path.Base(n)) {
				b[len(b)/2] ^= 1
			}
		}
	}},
	{"all parity files", func(d *disk) {
		for n := range d.files {
			if Is(path.Base(n)) {
				delete(d.files, n)
			}
		}
	}},
	{"both tables of each parity file, and a document", func(d *disk) {
		for n, b := range d.files {
			if Is(path.Base(n)) {
				clear(b[:32])
				clear(b[len(b)-64:])
			}
		}
	}},
	{"a bit of each parity file and the mark", func(d *disk) {
		for n, b := range d.files {
			if Is(path.Base(n)) {
				b[len(b)/2] ^= 1
			}
		}
		delete(d.files, "ckpt/mark")
	}},
	{"the first table of each parity file and a bit of each file", func(d *disk) {
		for n, b := range d.files {
			if Is(path.Base(n)) {
				clear(b[:32])
			} else {
				b[0] ^= 1
			}
		}
	}},
}

// TestEveryFailureOfAMendIsTold: a call that fails for another reason than damage, of
// whatever is read or written, ends the look or the repair with that reason. A file that
// cannot be read for an instant is damage of that instant: nothing wrong is written for it.
func TestEveryFailureOfAMendIsTold(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	d, m := saved(t, random, 4, true, 10, 5000, 70_000, 1<<20+9)
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) { everyFailureIsTold(t, d, m, c.damage) })
	}
	t.Run("large parity", func(t *testing.T) {
		d, m := saved(t, random, 50, false, 10, 2300<<10)
		everyFailureIsTold(t, d, m, func(d *disk) { delete(d.files, "ckpt/"+Name("d/01")) })
	})
}

func everyFailureIsTold(t *testing.T, d *disk, m *manifest.Manifest, damage func(d *disk)) {
	ctx := t.Context()
	hurt := d.clone()
	damage(hurt)
	calls := &faulty{}
	whole, err := Examine(ctx, faultyStore{hurt, calls}, "ckpt", m, nil)
	if err != nil || len(whole.Bad) == 0 {
		t.Fatalf("%v, %v", whole, err)
	}
	for _, n := range calls.chosen() {
		for _, kind := range []errs.Kind{errs.Permission, errs.IO} {
			f := &faulty{n: n, kind: kind}
			r, err := Examine(ctx, faultyStore{hurt, f}, "ckpt", m, nil)
			if f.hit == "" || kind == errs.Permission && !errors.Is(err, kind) || kind == errs.IO && err != nil {
				t.Fatalf("call %d, the %s, failed as %v: Examine says %v", n, f.hit, kind, err)
			}
			if err == nil && len(r.Bad) < len(whole.Bad) {
				t.Fatalf("call %d, the %s, failed as %v: %d of %d bad files were found", n, f.hit, kind, len(r.Bad), len(whole.Bad))
			}
		}
	}
	for _, b := range whole.Bad {
		f := &faulty{}
		mendsOrTells(t, hurt, whole, b, d.files["ckpt/"+b.File.Name], f)
		for _, n := range f.chosen() {
			for _, kind := range []errs.Kind{errs.Permission, errs.IO} {
				mendsOrTells(t, hurt, whole, b, d.files["ckpt/"+b.File.Name], &faulty{n: n, kind: kind})
			}
		}
	}
}

// mendsOrTells repairs one file while a call fails.
func mendsOrTells(t *testing.T, hurt *disk, r *Report, b Bad, want []byte, f *faulty) {
	t.Helper()
	to := &faultyTxn{kept: kept{}, faulty: f}
	r.x.st = faultyStore{hurt, f}
	err := r.Write(t.Context(), to, b.File)
	read := strings.HasPrefix(f.hit, "read") || strings.HasPrefix(f.hit, "open")
	switch {
	case err == nil && (b.Beyond != nil || !bytes.Equal(to.kept[b.File.Name], want)):
		t.Fatalf("%s, call %d, the %s, failed as %v: other bytes were written, and nothing was told", b.File.Name, f.n, f.hit,
			f.kind)
	case f.hit != "" && (f.kind == errs.Permission || !read) && !errors.Is(err, f.kind):
		t.Fatalf("%s, call %d, the %s, failed as %v: it was not told, but %v", b.File.Name, f.n, f.hit, f.kind, err)
	case to.open > 0:
		t.Fatalf("%s, call %d, the %s, failed as %v: %d files were left open", b.File.Name, f.n, f.hit, f.kind, to.open)
	}
}

// TestForgedDigest: bytes with the checksum of the manifest and not its digest are damage.
func TestForgedDigest(t *testing.T) {
	d, m := saved(t, rand.New(rand.NewPCG(11, 12)), 4, true, 5000)
	i := slices.IndexFunc(m.Files, func(f manifest.File) bool { return f.Name == "d/00" })
	m.Files[i].Runs = slices.Clone(m.Files[i].Runs)
	m.Files[i].Runs[0].Sum[0] ^= 1
	r, err := Examine(t.Context(), d, "ckpt", m, nil)
	if err != nil || len(r.Bad) != 1 || !errors.Is(r.Beyond(), errs.Corrupt) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLostTables: what is found where several files share parity and all of that is lost,
// and where a parity file is one of another kind.
func TestLostTables(t *testing.T) {
	ctx := t.Context()
	d, m := saved(t, rand.New(rand.NewPCG(13, 14)), 2, false, append(slices.Repeat([]int{1<<20 - 1}, 17), 1<<20)...)
	own, first, second := "ckpt/"+Name("d/17"), "ckpt/"+sharedName("", 0), "ckpt/"+sharedName("", 1)
	for name, c := range map[string]struct {
		damage func(d *disk)
		beyond []string
		says   string
	}{
		"one of the shared parity files": {func(d *disk) { delete(d.files, first) }, nil, ""},
		"all shared parity files": {func(d *disk) {
			delete(d.files, first)
			delete(d.files, second)
		}, []string{first, second}, "not found"},
		"a shared one for one of its own": {func(d *disk) {
			d.files[own] = d.files[first]
			d.files["ckpt/d/17"][5] ^= 1
		}, []string{own, "ckpt/d/17"}, "a table of the wrong kind"},
		"one of its own for a shared one": {func(d *disk) {
			d.files[second] = d.files[own]
			d.files["ckpt/mark"][0] ^= 1
		}, []string{second, "ckpt/mark"}, "a table of the wrong kind"},
	} {
		t.Run(name, func(t *testing.T) {
			hurt := d.clone()
			c.damage(hurt)
			r, err := Examine(ctx, hurt, "ckpt", m, nil)
			if err != nil {
				t.Fatal(err)
			}
			var beyond []string
			said := ""
			for _, b := range r.Bad {
				if b.Beyond != nil {
					beyond = append(beyond, "ckpt/"+b.File.Name)
					said += b.Beyond.Error()
				}
			}
			slices.Sort(beyond)
			slices.Sort(c.beyond)
			if !slices.Equal(beyond, c.beyond) || !strings.Contains(said, c.says) {
				t.Errorf("beyond repair are %q, want %q: %s", beyond, c.beyond, said)
			}
		})
	}
}

// TestLongTable: a table that is longer than what is read of it at first is read whole, the
// first one and the second one; where neither can be, that is told.
func TestLongTable(t *testing.T) {
	ctx := t.Context()
	st := local.New(vfstest.NewMem(), "/", nil)
	txn, err := st.Begin(ctx, "ckpt", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, p := &manifest.Manifest{}, Wrap(txn, Options{Percent: 5})
	d := &disk{files: map[string][]byte{}}
	for i := range 2000 {
		name, b := fmt.Sprintf("%s/%04d", strings.Repeat("n", 150), i), bytes.Repeat([]byte{byte(i)}, i%20/19)
		m.Add(name, b)
		d.files["ckpt/"+name] = b
		if err := p.share(ctx, name, b); err != nil {
			t.Fatal(err)
		}
	}
	files, err := p.Finish(ctx)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	m.Files = append(m.Files, files...)
	doc := m.Append(nil)
	if err := p.Commit(ctx, store.Blob{Name: manifest.Name, Data: doc}); err != nil {
		t.Fatal(err)
	}
	if m, err = manifest.Parse(doc); err != nil {
		t.Fatal(err)
	}
	own := "ckpt/" + files[0].Name
	if d.files[own], err = store.ReadAll(ctx, st, own); err != nil {
		t.Fatal(err)
	}
	lost := "ckpt/" + strings.Repeat("n", 150) + "/0019"
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		bad    int
		beyond bool
	}{
		"a file":                           {func(b []byte) []byte { return b }, 1, false},
		"a file and the first table":       {func(b []byte) []byte { b[9] ^= 1; return b }, 2, false},
		"a file and the end":               {func(b []byte) []byte { return b[:len(b)-1] }, 2, true},
		"a file and all but the beginning": {func(b []byte) []byte { return b[:3] }, 2, true},
		"a file and the length":            {func(b []byte) []byte { clear(b[len(b)-8:]); return b }, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			hurt := d.clone()
			delete(hurt.files, lost)
			hurt.files[own] = c.damage(hurt.files[own])
			r := judge(t, hurt, d.files, m)
			if len(r.Bad) != c.bad || (r.Beyond() != nil) != c.beyond {
				t.Fatalf("%d bad files, beyond repair: %v", len(r.Bad), r.Beyond())
			}
			for n := 1; name != "a file and all but the beginning"; n++ {
				f := &faulty{n: n, kind: errs.Permission}
				v, err := openVolume(ctx, files[0].Name, "", func(ctx context.Context, file string) (store.Reader, error) {
					return faultyStore{hurt, f}.Open(ctx, "ckpt/"+file)
				})
				if f.hit == "" {
					if (err != nil) != c.beyond || n < 3 {
						t.Fatalf("%v, %v after %d calls", v, err, n-1)
					}
					break
				}
				if !errors.Is(err, errs.Permission) {
					t.Errorf("call %d, the %s, failed: %v", n, f.hit, err)
				}
			}
		})
	}
}

// TestEveryFailureOfACopyIsTold: a copy of the manifest that cannot be written, small or
// large, is told, is not listed and leaves no file open.
func TestEveryFailureOfACopyIsTold(t *testing.T) {
	for _, files := range []int{1, 8000} {
		m := &manifest.Manifest{}
		for i := range files {
			m.Add(fmt.Sprintf("%s/%d", strings.Repeat("n", 150), i), nil)
		}
		for n := 1; ; n++ {
			f := &faulty{n: n, kind: errs.IO}
			to, list := &faultyTxn{kept: kept{}, faulty: f}, *m
			err := Wrap(to, Options{Percent: 5}).Copy(t.Context(), &list)
			if f.hit == "" {
				if err != nil || len(list.Files) != files+1 || n < 2 {
					t.Fatalf("%v after %d calls", err, n-1)
				}
				break
			}
			if !errors.Is(err, errs.IO) || len(list.Files) != files || to.open > 0 {
				t.Errorf("%d files, call %d, the %s, failed: %v, %d files are open", files, n, f.hit, err, to.open)
			}
		}
	}
}

// TestCopyThatDoesNotHold: a copy that is damaged, cannot be looked at, or is listed with
// other bytes than the manifest has, is told.
func TestCopyThatDoesNotHold(t *testing.T) {
	ctx := t.Context()
	m := &manifest.Manifest{}
	m.Add("a", nil)
	d := &disk{files: map[string][]byte{"ckpt/a": {}, "ckpt/" + CopyName: []byte("no manifest")}}
	if _, err := Manifest(ctx, d, "ckpt", nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("damaged: %v", err)
	}
	if _, err := Manifest(ctx, faultyStore{d, &faulty{n: 1, kind: errs.Permission}}, "ckpt", nil); !errors.Is(err,
		errs.Permission) {
		t.Errorf("not to be looked at: %v", err)
	}
	m.Files = append(m.Files, manifest.File{Name: CopyName, Size: 11, CRC: 1})
	m, err := manifest.Parse(m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Examine(ctx, d, "ckpt", m, nil); err != nil || len(r.Bad) != 1 || !errors.Is(r.Beyond(), errs.Corrupt) {
		t.Errorf("listed with other bytes: %+v, %v", r, err)
	}
}

// TestPercent: the first parity file that can be read says it; where none can be read, that
// is told, and not taken for a checkpoint without parity.
func TestPercent(t *testing.T) {
	ctx := t.Context()
	d, m := saved(t, rand.New(rand.NewPCG(15, 16)), 7, false, 10, 1<<20)
	var names []string
	for _, f := range m.Files {
		if Is(f.Name) {
			names = append(names, "ckpt/"+f.Name)
		}
	}
	if len(names) != 2 {
		t.Fatal(names)
	}
	for name, c := range map[string]struct {
		damage func(d *disk)
		want   int
		kind   errs.Kind
	}{
		"whole":                     {func(*disk) {}, 7, errs.Other},
		"the first is lost":         {func(d *disk) { delete(d.files, names[0]) }, 7, errs.Other},
		"the first has no table":    {func(d *disk) { clear(d.files[names[0]]) }, 7, errs.Other},
		"the second is lost":        {func(d *disk) { delete(d.files, names[1]) }, 7, errs.Other},
		"both are lost":             {func(d *disk) { delete(d.files, names[0]); delete(d.files, names[1]) }, 0, errs.Corrupt},
		"neither has a whole table": {func(d *disk) { clear(d.files[names[0]]); clear(d.files[names[1]]) }, 0, errs.Corrupt},
	} {
		hurt := d.clone()
		c.damage(hurt)
		if got, err := Percent(ctx, hurt, "ckpt", m); got != c.want || errs.KindOf(err) != c.kind ||
			(err != nil) != (c.want == 0) {
			t.Errorf("%s: %d per cent, %v, want %d", name, got, err, c.want)
		}
	}
	if got, err := Percent(ctx, d, "ckpt", nil); got != 0 || err != nil {
		t.Errorf("without a manifest: %d per cent, %v", got, err)
	}
}
