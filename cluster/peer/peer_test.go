package peer_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("BIVOUAC_PEER_CHILD") != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// flip changes a byte in the middle of the largest file of a directory.
func flip(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name, size := "", int64(0)
	for _, e := range list {
		if info, err := e.Info(); err == nil && info.Size() > size {
			name, size = filepath.Join(dir, e.Name()), info.Size()
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
