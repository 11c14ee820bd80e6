package digits

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestWriteDataset(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "data")
	calls := 0
	d, err := WriteDataset(ctx, dir, func(done, total int) {
		if calls++; done != calls || total != 1797 {
			t.Errorf("progress %d of %d at call %d", done, total, calls)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Dataset{Dir: dir, Train: 1442, Test: 355, Written: true}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	for root, n := range map[string]int{d.TrainDir(): d.Train, d.TestDir(): d.Test} {
		files, err := filepath.Glob(filepath.Join(root, "[0-9]", "*.jpg"))
		if err != nil || len(files) != n {
			t.Errorf("%s holds %d files, want %d (%v)", root, len(files), n, err)
		}
	}
	again, err := WriteDataset(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Written = false
	if again != d {
		t.Errorf("second call: got %+v, want %+v", again, d)
	}
}

func TestInterruptedDatasetIsWrittenAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := WriteDataset(ctx, dir, func(done, _ int) {
		if done == 100 {
			cancel()
		}
	})
	if !errors.Is(err, errs.Canceled) {
		t.Fatalf("got %v, want a cancellation", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("an incomplete data set is visible: %v", err)
	}
	if _, err := WriteDataset(context.Background(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + ".partial"); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
}

func TestDamagedDatasetIsRefused(t *testing.T) {
	d := dataset(t)
	images, err := filepath.Glob(filepath.Join(d.TrainDir(), "3", "*.jpg"))
	if err != nil || len(images) == 0 {
		t.Fatal(images, err)
	}
	label := filepath.Join(d.Dir, marker)
	cut := func(b []byte) []byte { return b[:100] }
	remove := func([]byte) []byte { return nil }
	tests := []struct {
		name   string
		file   string
		damage func([]byte) []byte // nil: no such file
		want   errs.Kind
	}{
		{"a bit flipped", images[0], func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, errs.Corrupt},
		{"a file cut off", images[1], cut, errs.Corrupt},
		{"a file missing", images[2], remove, errs.Corrupt},
		{"a marker cut off", label, cut, errs.Corrupt},
		{"no marker", label, remove, errs.Exists},
		{"a path out of it", label, func([]byte) []byte {
			return []byte(`{"version":1,"train":1,"test":1,"files":{"../../etc/passwd":{"size":1},"a":{}}}`)
		}, errs.Corrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sound, err := os.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			defer os.WriteFile(tt.file, sound, 0o666)
			if b := tt.damage(bytes.Clone(sound)); b == nil {
				err = os.Remove(tt.file)
			} else {
				err = os.WriteFile(tt.file, b, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := list(t, d.Dir)
			if _, err := WriteDataset(context.Background(), d.Dir, nil); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want kind %v", err, tt.want)
			}
			if diff := cmp.Diff(before, list(t, d.Dir)); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
	if _, err := WriteDataset(context.Background(), d.Dir, nil); err != nil {
		t.Errorf("put right again: %v", err)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEnlarge(t *testing.T) {
	var d digit
	for i := range d.pixels {
		d.pixels[i] = uint8(i % cell * 2) // brighter from left to right, 0…14
	}
	img := d.enlarge(ImageSide)
	for y := range ImageSide {
		row := img[y*ImageSide : (y+1)*ImageSide]
		for x := 1; x < ImageSide; x++ {
			if row[x] < row[x-1] {
				t.Fatalf("row %d falls at %d: %v", y, x, row)
			}
		}
		if row[0] != 0 || row[ImageSide-1] != 14*255/maxInk {
			t.Fatalf("row %d runs from %d to %d, want 0 to %d", y, row[0], row[ImageSide-1], 14*255/maxInk)
		}
	}
}
