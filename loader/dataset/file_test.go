package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// A data.yaml of any content is read or refused as invalid, with the same result every time.
func FuzzDataFile(f *testing.F) {
	f.Add([]byte("{path: x, pack: {length: 4096}, rank: env RANK or 0}"))
	path := filepath.Join(f.TempDir(), "data.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		file, err := readDataFile(path, OpenOptions{})
		again, other := readDataFile(path, OpenOptions{})
		switch {
		case err != nil:
			if !errors.Is(err, errs.Invalid) || other == nil || other.Error() != err.Error() {
				t.Errorf("%v, then %v", err, other)
			}
		case other != nil || len(again.sources) != len(file.sources) || len(file.sources) == 0:
			t.Errorf("%d sources, then %v", len(file.sources), other)
		}
	})
}
