package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// saved makes a checkpoint with an array of n elements, and an empty one.
func saved(t *testing.T, st store.Store, name string, n int) (transfer.Place, []transfer.File) {
	t.Helper()
	big := make([]float32, n)
	for i := range big {
		big[i] = float32(i)
	}
	o := &checkpoint.SaveOptions{Store: st}
	if err := checkpoint.Save(t.Context(), name, map[string][]float32{"big": big, "none": {}}, o); err != nil {
		t.Fatal(err)
	}
	src := transfer.Place{Store: st, Name: name, Text: name}
	files, err := transfer.Files(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return src, files
}

func disk(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func run(t *testing.T, src, dst transfer.Place, files []transfer.File,
	o *transfer.Options) (*transfer.Transfer, error) {
	t.Helper()
	made, err := transfer.New(t.Context(), src, dst, files, o)
	if err != nil {
		t.Fatal(err)
	}
	return made, made.Run(t.Context())
}

// A byte that changed after the copy is found, wherever it is, and so is a file that became
// shorter.
func TestCopyIsCompared(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	st := disk(t, dir)
	src, files := saved(t, st, "src", 5<<20) // more than two pieces
	dst := transfer.Place{Store: st, Name: "dst", Text: "dst"}
	made, err := run(t, src, dst, files, &transfer.Options{Progress: func(done, total int64) {
		if done > total {
			t.Errorf("%d of %d bytes", done, total)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Compare(ctx); err != nil {
		t.Fatal(err)
	}
	if same, err := made.Present(ctx); err != nil || !same {
		t.Fatal(same, err)
	}
	for _, f := range files {
		if f.Bytes == 0 {
			continue
		}
		name := filepath.Join(dir, "dst", f.Name)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, f.Bytes / 2, f.Bytes - 1} {
			whole[at] ^= 1
			write(t, name, whole)
			if err := made.Compare(ctx); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("byte %d of %s changed: %v", at, f.Name, err)
			}
			whole[at] ^= 1
		}
		write(t, name, whole[:f.Bytes-1])
		if err := made.Compare(ctx); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s is shorter: %v", f.Name, err)
		}
		if same, err := made.Present(ctx); err != nil || same {
			t.Errorf("%s is shorter: %v, %v", f.Name, same, err)
		}
		write(t, name, whole)
	}
}

// A copy whose context ends leaves nothing.
func TestCopyIsCancelled(t *testing.T) {
	dir := t.TempDir()
	st := disk(t, dir)
	src, files := saved(t, st, "src", 8<<20)
	ctx, cancel := context.WithCancel(t.Context())
	made, err := transfer.New(ctx, src, transfer.Place{Store: st, Name: "dst", Text: "dst"}, files,
		&transfer.Options{Check: true, Progress: func(int64, int64) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	err = made.Run(ctx)
	if errs.KindOf(err) != errs.Canceled {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
}

// With Check no byte that differs from the manifest gets a name, in whatever file it is.
func TestDamagedSourceIsNotCopied(t *testing.T) {
	dir := t.TempDir()
	st := disk(t, dir)
	src, files := saved(t, st, "src", 3<<20)
	dst := transfer.Place{Store: disk(t, t.TempDir()), Name: "dst", Text: "there/dst"}
	for _, f := range files {
		if f.Bytes == 0 || f.Name == "bivouac.manifest" {
			continue
		}
		name := filepath.Join(dir, "src", f.Name)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole[f.Bytes/2] ^= 1
		write(t, name, whole)
		_, err = run(t, src, dst, files, &transfer.Options{Check: true})
		if errs.KindOf(err) != errs.Corrupt || !errors.Is(err, transfer.ErrSource) {
			t.Errorf("%s: %v", f.Name, err)
		}
		if _, err := dst.Store.Stat(t.Context(), "dst"); errs.KindOf(err) != errs.NotFound {
			t.Errorf("%s is damaged, and a copy appeared: %v", f.Name, err)
		}
		whole[f.Bytes/2] ^= 1
		write(t, name, whole)
	}
	if _, err := run(t, src, dst, files, &transfer.Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.New(t.Context(), src, dst, nil, nil); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("no files: %v", err)
	}
}

// bending is a store that changes bytes on their way.
type bending struct {
	store.Store
	file   string // whose last byte changes
	hidden bool   // transactions cannot be read
}

func (b *bending) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	txn, err := b.Store.Begin(ctx, final, o)
	if err != nil {
		return nil, err
	}
	bent := &bendingTxn{txn, b}
	if b.hidden {
		return struct{ store.Txn }{bent}, nil
	}
	return bent, nil
}

type bendingTxn struct {
	store.Txn
	b *bending
}

func (x *bendingTxn) Reread(ctx context.Context, name string) (store.Reader, error) {
	return store.Reread(ctx, x.Txn, name)
}

func (x *bendingTxn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	w, err := x.Txn.Create(ctx, name, size)
	if name != x.b.file {
		return w, err
	}
	return bendingWriter{w}, err
}

func (x *bendingTxn) Commit(ctx context.Context, manifest store.Blob, markers ...store.Blob) error {
	for _, blob := range append(markers, manifest) {
		if blob.Name == x.b.file {
			blob.Data[len(blob.Data)-1] ^= 1
		}
	}
	return x.Txn.Commit(ctx, manifest, markers...)
}

type bendingWriter struct{ store.Writer }

func (w bendingWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	p = slices.Clone(p)
	p[len(p)-1] ^= 1
	return w.Writer.WriteAt(ctx, p, off)
}

// A store that changes a byte on its way is found out. Where its transactions can be read, the copy
// never has a name unless the commit itself changed the byte; in any case no copy stays.
func TestChangedOnTheWay(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	src, files := saved(t, st, "src", 1<<20)
	for _, hidden := range []bool{false, true} {
		for _, f := range files {
			if f.Bytes == 0 {
				continue
			}
			to := &bending{Store: local.New(vfstest.NewMem(), "/b", nil), file: f.Name, hidden: hidden}
			dst := transfer.Place{Store: to, Name: "dst", Text: "dst"}
			_, err := run(t, src, dst, files, &transfer.Options{Check: true})
			if errs.KindOf(err) != errs.Corrupt || errors.Is(err, transfer.ErrSource) {
				t.Errorf("%s, hidden %v: %v", f.Name, hidden, err)
			}
			if _, err := to.Stat(t.Context(), "dst"); errs.KindOf(err) != errs.NotFound {
				t.Errorf("%s, hidden %v: the copy stays: %v", f.Name, hidden, err)
			}
			if _, err := run(t, src, dst, files, &transfer.Options{Check: true, NoReadBack: true}); err != nil {
				t.Errorf("%s, not read back: %v", f.Name, err)
			}
		}
	}
}

// A transfer keeps to its budget by the clock, counts what it reads back, and holds no more memory
// than it may.
func TestBudget(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	src, files := saved(t, st, "src", 1<<20)
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			rate, memory int64
			check        bool
		}{{0, 0, true}, {1 << 20, 256 << 10, false}, {1 << 20, 1, true}, {4 << 20, 1 << 20, true}} {
			b := transfer.NewBudget(c.rate, c.memory)
			to := object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(nil), "", object.Options{})
			dst := transfer.Place{Store: to, Name: "dst", Text: "dst"}
			began := time.Now()
			made, err := run(t, src, dst, files, &transfer.Options{Check: c.check, Budget: b})
			if err != nil {
				t.Fatal(err)
			}
			took, sent := time.Since(began), made.Total()
			if c.check {
				sent *= 2
			}
			want := time.Duration(0)
			if c.rate > 0 {
				want = time.Duration(float64(sent) / float64(c.rate) * float64(time.Second))
			}
			if took < want-time.Millisecond || took > want+time.Second {
				t.Errorf("%d bytes at %d a second took %s, want %s", sent, c.rate, took, want)
			}
			if most := max(c.memory, 64<<10); c.memory > 0 && b.Peak() > most {
				t.Errorf("%d bytes in flight, want at most %d", b.Peak(), most)
			}
			if b.Peak() == 0 {
				t.Error("no bytes were in flight")
			}
		}
	})
}

// A transfer that waits for its turn ends with its context.
func TestBudgetWaitIsCancelled(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	src, files := saved(t, st, "src", 1<<20)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		to := local.New(vfstest.NewMem(), "/b", nil)
		made, err := transfer.New(ctx, src, transfer.Place{Store: to, Name: "dst", Text: "dst"}, files,
			&transfer.Options{Budget: transfer.NewBudget(1000, 128<<10)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = made.Run(ctx)
		if errs.KindOf(err) != errs.Canceled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("it ended after %s", d)
		}
	})
}

// Whatever request fails, and however, the destination has the whole copy or none, and the next
// transfer brings it.
func TestCopyOverFaults(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	src, files := saved(t, st, "src", 1<<16)
	histories := 300
	if testing.Short() {
		histories = 60
	}
	again := 0
	for seed := range uint64(histories) {
		server := simulated.NewServer(0, simulated.Lies{})
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			left := rng.IntN(60)
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			var mu sync.Mutex
			faulty := server.Bucket(func(r simulated.Request) simulated.Fate {
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					kill()
				}
				f := simulated.Fate{Delay: time.Duration(rng.IntN(40e6) + 1)}
				switch n := rng.IntN(30); {
				case left <= 0:
					return simulated.Fate{Err: errors.New("killed")}
				case n == 0:
					f.Lost = true
				case n == 1:
					f.Err = simulated.ErrSlow
				case n == 2:
					f.Err = simulated.ErrServer
				case n == 3 && r.Changes:
					f = simulated.Fate{Ghost: time.Duration(rng.Int64N(int64(time.Minute)))}
				}
				return f
			})
			dst := transfer.Place{Store: object.New(faulty, "", object.Options{}), Name: "run/7", Text: "sim://run/7"}
			made, err := transfer.New(ctx, src, dst, files, &transfer.Options{Check: true})
			if err != nil {
				t.Fatal(err)
			}
			first := made.Run(ctx)
			time.Sleep(time.Hour) // late requests, and the lease of the first process
			dst.Store = object.New(server.Bucket(nil), "", object.Options{})
			_, err = dst.Store.Stat(t.Context(), dst.Name)
			if err == nil {
				return
			}
			if errs.KindOf(err) != errs.NotFound || first == nil {
				t.Fatalf("seed %d: acknowledged (%v), and then %v", seed, first, err)
			}
			again++
			if _, err := run(t, src, dst, files, &transfer.Options{Check: true}); err != nil {
				t.Fatalf("seed %d: %v after %v", seed, err, first)
			}
		})
		dst := transfer.Place{Store: object.New(server.Bucket(nil), "", object.Options{}), Name: "run/7"}
		made, err := transfer.New(t.Context(), src, dst, files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := made.Present(t.Context()); err != nil || !same {
			t.Fatalf("seed %d: %v, %v", seed, same, err)
		}
		r, err := integrity.Verify(t.Context(), dst.Name, &integrity.VerifyOptions{Store: dst.Store})
		if err != nil || r.Verdict() != integrity.Sound {
			t.Fatalf("seed %d: %v, %v", seed, r, err)
		}
	}
	if again == 0 || again == histories {
		t.Errorf("%d of %d histories needed a second transfer", again, histories)
	}
}

// Every byte of a copy equals the source, at sizes around a piece.
func TestSizes(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	txn, err := st.Begin(t.Context(), "src", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3 * 64 << 10} {
		b := bytes.Repeat([]byte{byte(i + 1)}, n)
		if err := txn.Put(t.Context(), fmt.Sprintf("d/%d", n), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := txn.Commit(t.Context(), store.Blob{Name: "last", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	src := transfer.Place{Store: st, Name: "src", Text: "src"}
	files, err := transfer.Files(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	dst := transfer.Place{Store: st, Name: "deep/dst", Text: "dst"}
	made, err := run(t, src, dst, files, &transfer.Options{Check: true, Budget: transfer.NewBudget(0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := made.Present(t.Context()); err != nil || !same {
		t.Error(same, err)
	}
	for _, f := range files {
		a, err := store.ReadAll(t.Context(), st, path.Join("src", f.Name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := store.ReadAll(t.Context(), st, path.Join("deep/dst", f.Name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, fs.ModePerm); err != nil {
		t.Fatal(err)
	}
}
