package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func makeFiles(t *testing.T, n int) []string {
	var paths []string
	for i := range n {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprint(i), 10)), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Many goroutines read more files than may be open, each the right bytes.
func TestReadsWithinTheLimit(t *testing.T) {
	ctx := context.Background()
	s, err := OpenLimit(ctx, "test", makeFiles(t, 9), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			b := make([]byte, 3)
			for k := range 300 {
				i := (g + k*k) % 9
				if err := s.ReadAt(ctx, i, b, 4); err != nil || !bytes.Equal(b, []byte(strings.Repeat(fmt.Sprint(i), 3))) {
					t.Errorf("file %d: %q, %v", i, b, err)
					return
				}
			}
		})
	}
	group.Wait()
	if s.open > 2 {
		t.Errorf("%d files are open, the limit is 2", s.open)
	}
}

// upper shows a text in capitals.
type upper struct {
	text   string
	closed *bool
}

func (u upper) Size() int64  { return int64(len(u.text)) }
func (u upper) Close() error { *u.closed = true; return nil }
func (u upper) ReadAt(_ context.Context, p []byte, off int64) error {
	copy(p, u.text[off:])
	return nil
}

// What Show shows is read in place of a file, by all methods but those for the file itself, and is
// closed with the set.
func TestShow(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, "test", makeFiles(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	s.Show(1, upper{"ABCDEFGHIJKL", &closed})
	b := make([]byte, 3)
	if err := s.ReadAt(ctx, 1, b, 9); err != nil || string(b) != "JKL" {
		t.Errorf("%q, %v", b, err)
	}
	if err := s.ReadAt(ctx, 1, b, 10); !errors.Is(err, errs.Corrupt) {
		t.Errorf("beyond what is shown: %v", err)
	}
	if err := s.ReadStored(ctx, 1, b, 7); err != nil || string(b) != "111" {
		t.Errorf("the file itself: %q, %v", b, err)
	}
	if err := s.ReadStored(ctx, 1, b, 9); !errors.Is(err, errs.Corrupt) {
		t.Errorf("beyond the file: %v", err)
	}
	if err := s.ReadAt(ctx, 0, b, 7); err != nil || string(b) != "000" {
		t.Errorf("another file: %q, %v", b, err)
	}
	whole, err := s.ReadFile(ctx, 1, 12)
	if err != nil || string(whole) != "ABCDEFGHIJKL" || s.Size(1) != 12 || s.File(1).Size != 10 || s.Size(0) != 10 {
		t.Errorf("%q, %v, sizes %d and %d", whole, err, s.Size(1), s.File(1).Size)
	}
	for want, r := range map[string]*io.SectionReader{"ABCDEFGHIJKL": s.Reader(ctx, 1), "1111111111": s.Stored(ctx, 1)} {
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if err := s.Close(); err != nil || !closed {
		t.Errorf("not closed, %v", err)
	}
}

// What is wrong with a file is said with its path: missing, a directory, a URL, nothing at all, too
// short for a range, replaced, cut while it is open, closed.
func TestErrors(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for _, c := range []struct {
		paths []string
		want  errs.Kind
		says  string
	}{
		{nil, errs.Invalid, "no path"},
		{[]string{filepath.Join(dir, "no")}, errs.NotFound, "no"},
		{[]string{dir}, errs.Invalid, "a directory"},
		{[]string{"s3://bucket/a"}, errs.Unsupported, "s3://"},
	} {
		_, err := Open(ctx, "test", c.paths)
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, c.want) && c.want != errs.Unsupported {
			t.Errorf("%q: %v", c.paths, err)
		}
	}
	paths := makeFiles(t, 3)
	s, err := OpenLimit(ctx, "test", paths, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	for _, off := range []int64{-1, 7, 11, 1 << 62} {
		if err := s.ReadAt(ctx, 0, b, off); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), paths[0]) {
			t.Errorf("offset %d: %v", off, err)
		}
	}
	if err := os.WriteFile(paths[1], []byte("another"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadAt(ctx, 1, b, 0); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), paths[1]) {
		t.Errorf("a replaced file: %v", err)
	}
	if err := s.ReadAt(ctx, 2, b, 0); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(paths[2], 2); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadAt(ctx, 2, b, 0); !errors.Is(err, errs.Mismatch) {
		t.Errorf("a file that was cut while it was open: %v", err)
	}
	if _, err := s.ReadFile(ctx, 0, 9); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a file above the limit: %v", err)
	}
	if got, err := io.ReadAll(s.Reader(ctx, 0)); err != nil || string(got) != "0000000000" {
		t.Errorf("as a reader: %q, %v", got, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Open(cancelled, "test", paths); !errors.Is(err, errs.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.ReadAt(ctx, 0, b, 0); !errors.Is(err, errs.Closed) {
		t.Errorf("closed: %v", err)
	}
}

// Whole files of a set with more files than may be open are opened for each read. They are checked
// like the others, and do not take their places.
func TestWholeFilesBeyondTheLimit(t *testing.T) {
	ctx := context.Background()
	paths := makeFiles(t, 5)
	s, err := OpenLimit(ctx, "test", paths, 2)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	for i := range 4 {
		if err := s.ReadAt(ctx, i, b, 0); err != nil || string(b) != strings.Repeat(fmt.Sprint(i), 10) {
			t.Errorf("file %d: %q, %v", i, b, err)
		}
	}
	if s.open != 0 {
		t.Errorf("%d files stay open", s.open)
	}
	if err := os.WriteFile(paths[1], []byte("something else"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadAt(ctx, 1, b, 0); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), paths[1]) {
		t.Errorf("a replaced file: %v", err)
	}
	if err := os.Remove(paths[2]); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadSplit(ctx, 2, b[:3], b[3:], 0); !errors.Is(err, errs.NotFound) {
		t.Errorf("a file that is gone: %v", err)
	}
	s.Close()
	if err := s.ReadAt(ctx, 3, b, 0); !errors.Is(err, errs.Closed) {
		t.Errorf("closed: %v", err)
	}
}

// ReadSplit fills two pieces, whatever their sizes, of a file or of what is shown in its place.
func TestReadSplit(t *testing.T) {
	ctx := context.Background()
	for _, show := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, []byte("0123456789"), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(ctx, "test", []string{path})
		if err != nil {
			t.Fatal(err)
		}
		closed := false
		if show {
			s.Show(0, upper{"0123456789", &closed})
		}
		for from := range 11 {
			for mid := from; mid <= 10; mid++ {
				for to := mid; to <= 10; to++ {
					head, p := make([]byte, mid-from), make([]byte, to-mid)
					err := s.ReadSplit(ctx, 0, head, p, int64(from))
					if got := string(head) + string(p); err != nil || got != "0123456789"[from:to] {
						t.Fatalf("%d, %d, %d: %q, %v", from, mid, to, got, err)
					}
				}
			}
		}
		if err := s.ReadSplit(ctx, 0, make([]byte, 8), make([]byte, 3), 0); !errors.Is(err, errs.Corrupt) {
			t.Errorf("beyond the end: %v", err)
		}
		if err := os.Truncate(path, 5); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 5, 7} {
			if err := s.ReadSplit(ctx, 0, make([]byte, n), make([]byte, 10-n), 0); !show && !errors.Is(err, errs.Mismatch) {
				t.Errorf("a file that was cut, %d bytes first: %v", n, err)
			}
		}
		s.Close()
	}
}
