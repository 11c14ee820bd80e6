package zarr

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// folder is a Directory of the operating system.
type folder string

func (d folder) ReadFile(_ context.Context, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(string(d), name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "read", Subject: name, Err: err}
	}
	return b, err
}

func (d folder) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	b, err := d.ReadFile(ctx, name)
	if err == nil && copy(p, b[min(off, int64(len(b))):]) < len(p) {
		err = &errs.Error{Kind: errs.IO, Op: "read", Subject: name}
	}
	return err
}

func (d folder) Size(ctx context.Context, name string) (int64, error) {
	b, err := d.ReadFile(ctx, name)
	return int64(len(b)), err
}

// sample encodes a small array of each format and returns its values by key.
func sample(t *testing.T, format Format, name string) (map[string][]byte, []byte) {
	t.Helper()
	m, err := NewMetadata(tensor.Int16, tensor.Shape{5, 4}, Layout{Format: format, Chunk: []int{2, 3}, Codecs: []CodecSpec{Zstd(1)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 40)
	for i := range data {
		data[i] = byte(3 * i)
	}
	values := map[string][]byte{}
	for key, b := range store(t, e, data).values {
		values[name+key[1:]] = b
	}
	return values, data
}

func TestFiles(t *testing.T) {
	for _, format := range []Format{V3, V2} {
		values, data := sample(t, format, "a.x/y")
		dir := t.TempDir()
		for key, b := range values {
			path := filepath.Join(dir, filepath.FromSlash(key))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		a, err := Open(t.Context(), NewFiles(folder(dir)), "a.x/y")
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, a); !bytes.Equal(got, data) {
			t.Errorf("format %d: % x, want % x", format, got, data)
		}
	}
}

func TestFilesStayInTheDirectory(t *testing.T) {
	kv := NewFiles(folder(t.TempDir()))
	for _, name := range []string{"../x", "/etc", "a//b", "a/./b", `a\b`, "a/..", "a\x00"} {
		if _, err := Open(t.Context(), kv, name); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v, want invalid", name, err)
		}
	}
	if _, err := Open(t.Context(), kv, "a"); !errors.Is(err, errs.NotFound) {
		t.Errorf("nothing there: %v, want not found", err)
	}
}

// archive returns a zip archive of the values.
func archive(t testing.TB, values map[string][]byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for key, value := range values {
		f, err := w.CreateHeader(&zip.FileHeader{Name: key, Method: method})
		if err == nil {
			_, err = f.Write(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Create("a/"); err != nil { // a directory is no entry
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZip(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		for _, format := range []Format{V3, V2} {
			values, data := sample(t, format, "a")
			b := archive(t, values, method)
			z, err := NewZip(bytes.NewReader(b), int64(len(b)), ZipOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(z.Names()) != len(values) {
				t.Errorf("names %q", z.Names())
			}
			a, err := Open(t.Context(), z, "a")
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, a); !bytes.Equal(got, data) {
				t.Errorf("format %d, method %d: % x, want % x", format, method, got, data)
			}
			if _, err := Open(t.Context(), z, "b"); !errors.Is(err, errs.NotFound) {
				t.Errorf("no such array: %v, want not found", err)
			}
		}
	}
}

func TestHostileZip(t *testing.T) {
	b := archive(t, map[string][]byte{"k": make([]byte, 1<<20)}, zip.Deflate)
	z, err := NewZip(bytes.NewReader(b), int64(len(b)), ZipOptions{MaxEntryBytes: 1 << 19})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Get(t.Context(), "k"); !errors.Is(err, errs.Exhausted) {
		t.Errorf("an entry beyond the limit: %v, want exhausted", err)
	}
	if _, err := NewZip(bytes.NewReader(b), int64(len(b))-1, ZipOptions{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("cut short: %v, want corrupt", err)
	}
	var twice bytes.Buffer
	w := zip.NewWriter(&twice)
	for range 2 {
		if _, err := w.Create("k"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewZip(bytes.NewReader(twice.Bytes()), int64(twice.Len()), ZipOptions{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("one name twice: %v, want corrupt", err)
	}
	stored := archive(t, map[string][]byte{"k": []byte("12345678")}, zip.Store)
	z, err = NewZip(bytes.NewReader(stored), int64(len(stored)), ZipOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4)
	if err := z.ReadAt(t.Context(), "k", p, 3); err != nil || string(p) != "4567" {
		t.Errorf("range: %q, %v", p, err)
	}
	if err := z.ReadAt(t.Context(), "k", p, 5); !errors.Is(err, errs.Invalid) {
		t.Errorf("beyond the end: %v, want invalid", err)
	}
	stored[bytes.Index(stored, []byte("12345678"))] ^= 1
	if _, err := z.Get(t.Context(), "k"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a flipped bit: %v, want corrupt", err)
	}
}

func FuzzZip(f *testing.F) {
	f.Add(archive(f, map[string][]byte{"k": []byte("12345678")}, zip.Store))
	f.Add(archive(f, map[string][]byte{"k": []byte("12345678"), "l": nil}, zip.Deflate))
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := NewZip(bytes.NewReader(b), int64(len(b)), ZipOptions{MaxEntryBytes: 1 << 20})
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			_, _ = z.Get(t.Context(), name)
			size, err := z.Size(t.Context(), name)
			if err == nil && size < 1<<20 {
				_ = z.ReadAt(t.Context(), name, make([]byte, size/2), size/2)
			}
		}
	})
}
