package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
	"github.com/bivouac-ml/bivouac/proof/photos"
)

const images = 512

func makeImages(dir string) error { return photos.Write(dir, images) }

// startC compiles decode.c and runs it.
func startC(source string) (*child.Process, error) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its temporary files
	program := filepath.Join(dir, "decode")
	out, err := exec.Command(cc, "-O2", "-o", program, filepath.Join(source, "testdata", "decode.c"), "-ljpeg").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s of decode.c: %w: %.100s", cc, err, out)
	}
	return child.Start(nil, program)
}
