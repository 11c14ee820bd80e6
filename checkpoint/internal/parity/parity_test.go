package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// disk is a store whose files a test damages: it keeps them in a map.
type disk struct {
	store.Store
	files map[string][]byte
	bad   map[string]map[int64]bool // blocks of 4 KiB of a file that cannot be read
}

func (d *disk) Open(_ context.Context, name string) (store.Reader, error) {
	b, ok := d.files[name]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return &diskReader{b, d.bad[name]}, nil
}

type diskReader struct {
	b   []byte
	bad map[int64]bool
}

func (r *diskReader) ReadAt(_ context.Context, p []byte, off int64) error {
	for at := off &^ 4095; at < off+int64(len(p)); at += 4096 {
		if r.bad[at] {
			return &errs.Error{Kind: errs.IO, Got: "a sector that cannot be read"}
		}
	}
	if off+int64(len(p)) > int64(len(r.b)) {
		return &errs.Error{Kind: errs.Corrupt, Got: "the end"}
	}
	copy(p, r.b[off:])
	return nil
}
func (r *diskReader) Size() int64  { return int64(len(r.b)) }
func (r *diskReader) Close() error { return nil }

// random returns bytes that are no pattern.
func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// saved writes files of the sizes with parity through a transaction of a real store and
// returns what lies there then, with the manifest.
func saved(t *testing.T, r *rand.Rand, percent int, signed bool, sizes ...int) (*disk, *manifest.Manifest) {
	t.Helper()
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	txn, err := st.Begin(ctx, "ckpt", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{}
	add := func(name string, b []byte) {
		m.Add(name, b)
		if signed {
			m.Files[len(m.Files)-1].Runs = manifest.Runs(b, 0)
		}
	}
	p := Wrap(txn, Options{Percent: percent, Signed: signed, Store: st})
	for i, n := range sizes {
		b, name := random(r, n), fmt.Sprintf("d/%02d", i)
		if n < 4096 {
			err = p.Put(ctx, name, b)
		} else {
			w, cerr := p.Create(ctx, name, int64(n))
			if err = cerr; err == nil {
				pieces := slices.Collect(func(yield func(int) bool) {
					for off := 0; off < n; off += 5 * 4096 {
						if !yield(off) {
							return
						}
					}
				})
				r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
				for _, off := range pieces {
					if err = w.WriteAt(ctx, b[off:min(n, off+5*4096)], int64(off)); err != nil {
						t.Fatal(err)
					}
				}
				err = w.Seal(ctx)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		add(name, b)
	}
	mark := store.Blob{Name: "mark", Data: []byte("done")}
	add(mark.Name, mark.Data)
	files, err := p.Finish(ctx, mark)
	if err != nil {
		t.Fatal(err)
	}
	m.Files = append(m.Files, files...)
	doc := m.Append(nil)
	if err := p.Commit(ctx, store.Blob{Name: manifest.Name, Data: doc}, mark); err != nil {
		t.Fatal(err)
	}
	if m, err = manifest.Parse(doc); err != nil {
		t.Fatal(err)
	}
	d := &disk{files: map[string][]byte{}, bad: map[string]map[int64]bool{}}
	for _, f := range m.Files {
		b, err := store.ReadAll(ctx, st, path.Join("ckpt", f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.CheckBytes(b); err != nil {
			t.Fatalf("as it was written: %v", err)
		}
		d.files["ckpt/"+f.Name] = b
	}
	return d, m
}

// kept takes what a repair writes.
type kept map[string][]byte

func (k kept) Create(_ context.Context, name string, size int64) (store.Writer, error) {
	return &keptWriter{k, name, make([]byte, size)}, nil
}
func (k kept) Put(_ context.Context, name string, b []byte) error {
	k[name] = slices.Clone(b)
	return nil
}

type keptWriter struct {
	k    kept
	name string
	b    []byte
}

func (w *keptWriter) WriteAt(_ context.Context, p []byte, off int64) error {
	if off%4096 != 0 || len(p)%4096 != 0 && off+int64(len(p)) != int64(len(w.b)) {
		return fmt.Errorf("%d bytes at %d", len(p), off)
	}
	copy(w.b[off:], p)
	return nil
}
func (w *keptWriter) Seal(context.Context) error { w.k[w.name] = w.b; return nil }
func (w *keptWriter) Abort() error               { return nil }

// judge examines a damaged checkpoint. Whatever is said to be mendable must be, to the
// bit; nothing else may be written.
func judge(t *testing.T, d *disk, whole map[string][]byte, m *manifest.Manifest) *Report {
	t.Helper()
	ctx := context.Background()
	r, err := Examine(ctx, d, "ckpt", m, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, b := range r.Bad {
		found[b.File.Name] = true
		out := kept{}
		err := r.x.write(ctx, out, b.File)
		switch {
		case b.Beyond == nil && (err != nil || !bytes.Equal(out[b.File.Name], whole["ckpt/"+b.File.Name])):
			t.Fatalf("%s is said to be mendable: %v", b.File.Name, err)
		case b.Beyond != nil && (err == nil || len(out) > 0):
			t.Fatalf("%s is said to be beyond repair (%v), and was written", b.File.Name, b.Beyond)
		}
	}
	for name, b := range whole {
		if now, there := d.files[name]; found[name[len("ckpt/"):]] == (there && bytes.Equal(now, b) && d.bad[name] == nil) {
			t.Fatalf("%s: damage found: %v", name, found[name[len("ckpt/"):]])
		}
	}
	return r
}

func (d *disk) clone() *disk {
	c := &disk{files: map[string][]byte{}, bad: map[string]map[int64]bool{}}
	for n, b := range d.files {
		c.files[n] = slices.Clone(b)
	}
	return c
}

// sizes of files: small ones and documents, some with a parity file of their own, one of
// several regions' worth of small blocks.
var sizes = []int{0, 1, 37, 4095, 4096, 4097, 60_000, 300_001, 1<<20 - 1, 1 << 20, 3<<20 + 5, 20<<20 + 4096}

// TestUpToTheRedundancy: one damaged block in each group, any number of damaged bytes in
// it, and as many groups at once as there are, is mended to the bit; whole small files
// that are lost too.
func TestUpToTheRedundancy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, signed := range []bool{false, true} {
		d, m := saved(t, r, 3, signed, sizes...)
		for _, c := range []struct {
			name   string
			damage func(d *disk)
		}{
			{"a bit of each file", func(d *disk) {
				for n, b := range d.files {
					if len(b) > 0 && !Is(path.Base(n)) {
						i := r.IntN(len(b))
						b[i] ^= 1 << r.IntN(8)
					}
				}
			}},
			{"a bit of each parity file", func(d *disk) {
				for n, b := range d.files {
					if Is(path.Base(n)) {
						b[r.IntN(len(b))] ^= 16
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
			{"a burst of as many blocks as there is parity", func(d *disk) {
				clear(d.files["ckpt/d/11"][5*64<<10:][:11*64<<10+1])
			}},
			{"the first table and a bit", func(d *disk) {
				clear(d.files["ckpt/"+Name("d/11")][:4096])
				d.files["ckpt/d/11"][7] ^= 1
			}},
			{"the last table and a bit", func(d *disk) {
				b := d.files["ckpt/"+Name("d/11")]
				d.files["ckpt/"+Name("d/11")] = b[:len(b)-40]
				d.files["ckpt/d/11"][7] ^= 1
			}},
			{"three documents", func(d *disk) {
				delete(d.files, "ckpt/d/00")
				delete(d.files, "ckpt/d/02")
				delete(d.files, "ckpt/mark")
			}},
			{"a file cut by a few blocks", func(d *disk) {
				d.files["ckpt/d/10"] = d.files["ckpt/d/10"][:3<<20-50_000]
			}},
			{"a file with bytes behind it", func(d *disk) {
				d.files["ckpt/d/07"] = append(d.files["ckpt/d/07"], 1, 2, 3)
			}},
			{"sectors that cannot be read", func(d *disk) {
				d.bad["ckpt/d/11"] = map[int64]bool{4096: true, 1 << 20: true}
			}},
		} {
			t.Run(fmt.Sprintf("%s, signed %v", c.name, signed), func(t *testing.T) {
				hurt := d.clone()
				c.damage(hurt)
				if rep := judge(t, hurt, d.files, m); len(rep.Bad) == 0 || rep.Beyond() != nil {
					t.Fatalf("%d files are bad: %v", len(rep.Bad), rep.Beyond())
				}
			})
		}
	}
}

// TestBeyondTheRedundancy: what is lost beyond it is refused, and nothing written.
func TestBeyondTheRedundancy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	d, m := saved(t, r, 2, false, sizes...)
	for _, damage := range []func(d *disk){
		func(d *disk) { delete(d.files, "ckpt/d/11") },
		func(d *disk) { clear(d.files["ckpt/d/11"][:17<<20]) },
		func(d *disk) { // a group of the last region of the file
			for _, i := range []int{0, 4, 8} { // 320 blocks are 4 groups
				d.files["ckpt/d/11"][i*64<<10] ^= 1
			}
		},
		func(d *disk) {
			d.files["ckpt/d/10"][1] ^= 1
			delete(d.files, "ckpt/"+Name("d/10"))
		},
	} {
		hurt := d.clone()
		damage(hurt)
		rep := judge(t, hurt, d.files, m)
		if !errors.Is(rep.Beyond(), errs.Corrupt) {
			t.Fatalf("%d files are bad, and can be mended: %v", len(rep.Bad), rep.Beyond())
		}
	}
}

// TestRandomDamage: whatever is flipped, cut and lost, what is said to be mendable is
// mended to the bit, and what is not is refused.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	mendable := 0
	d, m := saved(t, r, 4, true, 10, 900, 5000, 70_000, 1<<20+9, 7<<20)
	names := make([]string, 0, len(d.files))
	for n := range d.files {
		names = append(names, n)
	}
	slices.Sort(names)
	const runs = 40
	for range runs {
		hurt := d.clone()
		for range 1 + r.IntN(12) {
			n := names[r.IntN(len(names))]
			switch b := hurt.files[n]; r.IntN(8) {
			case 0:
				delete(hurt.files, n)
			case 1:
				hurt.files[n] = b[:r.IntN(len(b)+1)]
			default:
				if len(b) > 0 {
					b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
				}
			}
		}
		if rep := judge(t, hurt, d.files, m); len(rep.Bad) > 0 && rep.Beyond() == nil {
			mendable++
		}
	}
	if mendable == 0 || mendable == runs {
		t.Fatalf("%d of %d were mendable: the test shows nothing", mendable, runs)
	}
}

// TestShareOfBytes: parity takes about as many per cent as it is said to.
func TestShareOfBytes(t *testing.T) {
	for _, percent := range []int{1, 3, 10} {
		s := shapeOf(1<<30, percent)
		if share := float64(newTable(s, nil).fileSize()) / float64(s.size) * 100; share < float64(percent) ||
			share > float64(percent)*1.1+0.02 {
			t.Errorf("%d per cent takes %.2f", percent, share)
		}
	}
}

// FuzzParse: a table that is not a table is refused, with no memory beyond its own size.
func FuzzParse(f *testing.F) {
	tab := sharedTable([]manifest.File{{Name: "a", Size: 5000}, {Name: "b"}}, 3)
	doc := tab.append(nil)
	f.Add(doc)
	f.Add(newTable(shapeOf(1<<20, 2), nil).append(nil))
	f.Add(doc[:len(doc)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parse(b)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return
		}
		if again := got.append(nil); !bytes.Equal(again, b[:len(again)]) {
			t.Fatal("another table")
		}
	})
}
