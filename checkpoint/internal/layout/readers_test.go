package layout_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// counted is a store that counts its open files, and notes reads of closed ones.
type counted struct {
	store.Store
	mu               sync.Mutex
	opens, open, max int
	late             []string
	reading          func(name string) // unless nil, called before each read
}

type countedReader struct {
	store.Reader
	st     *counted
	name   string
	closed bool
}

func (s *counted) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	s.open++
	s.max = max(s.max, s.open)
	return &countedReader{Reader: r, st: s, name: name}, nil
}

func (r *countedReader) note() {
	r.st.mu.Lock()
	defer r.st.mu.Unlock()
	if r.closed {
		r.st.late = append(r.st.late, r.name)
	}
}

// ReadAt looks before and after, whether another goroutine closed the file.
func (r *countedReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.note()
	defer r.note()
	if r.st.reading != nil {
		r.st.reading(r.name)
	}
	return r.Reader.ReadAt(ctx, p, off)
}

func (r *countedReader) Close() error {
	r.note()
	r.st.mu.Lock()
	r.st.open--
	r.closed = true
	r.st.mu.Unlock()
	return r.Reader.Close()
}

// chunked writes a flat checkpoint of one array "a" of bytes, with a file for
// each of them.
func chunked(t *testing.T, dir string, data []byte) {
	t.Helper()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("_METADATA", []byte(`{"tree_metadata": {"('a',)": {"key_metadata": [{"key": "a", "key_type": 2}], `+
		`"value_metadata": {"value_type": "np.ndarray", "skip_deserialize": false}}}, "use_ocdbt": false, "use_zarr3": false}`))
	write("a/.zarray", fmt.Appendf(nil, `{"chunks":[1],"compressor":null,"dimension_separator":".","dtype":"|u1",`+
		`"fill_value":null,"filters":null,"order":"C","shape":[%d],"zarr_format":2}`, len(data)))
	for i, b := range data {
		write(fmt.Sprintf("a/%d", i), []byte{b})
	}
}

// openChunked opens a checkpoint of one array with a file for each of its bytes.
func openChunked(t *testing.T, data []byte) (*counted, *layout.OpenTree) {
	t.Helper()
	dir := t.TempDir()
	chunked(t, filepath.Join(dir, "c"), data)
	under, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := &counted{Store: under}
	c, err := layout.Open(t.Context(), st, "c")
	if err != nil {
		t.Fatal(err)
	}
	items, err := c.Items(t.Context())
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	open, err := c.Tree(t.Context(), items[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return st, open
}

// end closes the checkpoint, and reports what was not closed or too early.
func (s *counted) end(t *testing.T, open *layout.OpenTree) {
	t.Helper()
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	if s.open != 0 {
		t.Errorf("%d files are open after Close", s.open)
	}
	if len(s.late) > 0 {
		t.Errorf("%d uses of closed files, of %q first", len(s.late), s.late[0])
	}
}

// element reads one element of an array of bytes, and compares it.
func element(ctx context.Context, l *layout.Leaf, i int, want byte) error {
	var got [1]byte
	err := l.ReadBox(ctx, zarr.Box{Origin: []int{i}, Shape: []int{1}}, got[:])
	if err == nil && got[0] != want {
		err = fmt.Errorf("byte %d is %d, want %d", i, got[0], want)
	}
	return err
}

// An array has more chunk files than a process may have open: the number of open files is bounded
// over all readers, and no file is closed under its reader.
func TestManyChunkFiles(t *testing.T) {
	const files, readers, bound = 600, 8, 128
	data := make([]byte, files)
	for i := range data {
		data[i] = byte(i*7 + i>>8)
	}
	st, open := openChunked(t, data)
	a := &open.Leaves[0]
	var wg sync.WaitGroup
	for k := range readers {
		wg.Go(func() {
			// All begin elsewhere, and meet.
			for i := range files {
				i = (i + k*files/readers) % files
				if err := element(t.Context(), a, i, data[i]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := make([]byte, files)
	if err := a.Read(t.Context(), got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the whole array differs: %v", err)
	}
	if st.max > bound {
		t.Errorf("%d files were open at a time, want at most %d", st.max, bound)
	}
	// What was read last is still open.
	before := st.opens
	if err := a.ReadBox(t.Context(), zarr.Box{Origin: []int{files - bound/2}, Shape: []int{bound / 2}},
		got[:bound/2]); err != nil {
		t.Error(err)
	}
	if n := st.opens - before; n != 0 {
		t.Errorf("%d of the files read last were opened again", n)
	}
	st.end(t, open)
}

// A file that one goroutine still reads stays open, though another is done with
// it and many others were read since.
func TestFileInUseStaysOpen(t *testing.T) {
	data := bytes.Repeat([]byte{9}, 300)
	st, open := openChunked(t, data)
	a := &open.Leaves[0]
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error)
	st.reading = func(name string) {
		if name == "c/a/0" {
			st.reading = nil // for the first read only
			close(entered)
			<-leave
		}
	}
	go func() { done <- element(t.Context(), a, 0, 9) }()
	<-entered
	for i := range data {
		if err := element(t.Context(), a, i, 9); err != nil {
			t.Error(err)
		}
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	st.end(t, open)
}
