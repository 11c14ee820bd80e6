package reader

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Only small pieces that come in order are read ahead, and none behind the end of the file.
func TestReadsAhead(t *testing.T) {
	ctx := context.Background()
	data := make([]byte, 150_000)
	for i := range data {
		data[i] = byte(i * i >> 4)
	}
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := shards.Open(ctx, "test", []string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	w := &buffer{}
	for i, c := range []struct {
		at, n, ahead int // bytes that lie in memory afterwards
	}{
		{50_000, 100, 0},
		{50_100, 100, aheadSize},
		{50_100, 100, aheadSize},
		{52_000, smallSize, aheadSize},
		{53_000, smallSize + 1, aheadSize}, // larger ones leave it
		{51_000, 100, aheadSize},
		{49_000, 100, 0}, // behind
		{49_000 + aheadSize/4 + 1, 100, 0},
		{49_000 + aheadSize/2, 100, aheadSize},
		{149_000, 100, 1000}, // what is left of the file
		{149_100, 900, 1000},
		{150_000, 0, 1000},
		{149_999, 1, 1000},
	} {
		p := make([]byte, c.n)
		if err := w.read(ctx, set, 0, p, int64(c.at)); err != nil || !bytes.Equal(p, data[c.at:c.at+c.n]) {
			t.Errorf("read %d: %v", i, err)
		}
		if len(w.ahead) != c.ahead {
			t.Errorf("read %d: %d bytes lie in memory, want %d", i, len(w.ahead), c.ahead)
		}
	}
	for _, at := range []int64{149_950, 150_001, -1, 1 << 62} {
		if err := w.read(ctx, set, 0, make([]byte, 100), at); err == nil {
			t.Errorf("100 bytes at %d: no error", at)
		}
	}
}
