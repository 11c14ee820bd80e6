package blosc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What c-blosc wrote is read.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/numcodecs/int32.raw")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := filepath.Glob("testdata/numcodecs/*.blosc")
	if err != nil || len(chunks) != 15 {
		t.Fatalf("%d chunks, %v", len(chunks), err)
	}
	for _, name := range chunks {
		chunk, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if chunk[2]&flagStored != 0 {
			t.Errorf("%s is stored and shows nothing", name)
		}
		if got, err := Decode(nil, chunk, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
