package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/examples/quickstart/killed"
)

func TestMain(m *testing.M) {
	if os.Getenv("BIVOUAC_QUICKSTART") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// writeImages writes pictures of three classes, which have colours of their own.
func writeImages(t *testing.T, dir string) {
	t.Helper()
	for i := range 60 {
		class := i % 3
		p := image.NewRGBA(image.Rect(0, 0, 40, 32))
		for k := range 40 * 32 {
			c := [3]uint8{60, 60, 60}
			c[class] = uint8(120 + (k*7+i*13)%120)
			p.SetRGBA(k%40, k/40, color.RGBA{c[0], c[1], c[2], 255})
		}
		at := filepath.Join(dir, fmt.Sprint("class", class), fmt.Sprintf("%02d.png", i))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, p); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A training that is killed twice and started again ends with the weights of one that was not
// killed, and it has learned.
func TestKilledAndResumed(t *testing.T) {
	dir := t.TempDir()
	images := filepath.Join(dir, "photos")
	writeImages(t, images)
	program := func(run string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-images", images, "-run", filepath.Join(dir, run), "-steps", "60")
		cmd.Env = append(os.Environ(), "BIVOUAC_QUICKSTART=1")
		return cmd
	}
	whole, err := killed.Run(program("whole"), "")
	if err != nil || len(whole) != 6 {
		t.Fatal(whole, err)
	}
	var lines []string
	for _, at := range []string{"step 30 ", "step 50 ", ""} {
		if lines, err = killed.Run(program("broken"), at); err != nil {
			t.Fatal(err)
		}
	}
	// When step 50 was printed, the save of step 40 had begun, which waits for the save of step 30.
	if !slices.Contains([]string{"resumed at step 30", "resumed at step 40", "resumed at step 50"}, lines[0]) {
		t.Errorf("%q", lines)
	}
	if last := whole[len(whole)-1]; lines[len(lines)-1] != last {
		t.Errorf("%q, want %q", lines, last)
	}
	a, b := filepath.Join(dir, "whole", "60"), filepath.Join(dir, "broken", "60")
	for l, err := range diff.Leaves(t.Context(), a, b, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Status != diff.Same {
			t.Errorf("%s %s is %s", l.Item, l.Path, l.Status)
		}
	}
	var m model
	if err := checkpoint.LoadInto(t.Context(), a, &m, nil); err != nil || len(m.Weights) != 3*3*size*size {
		t.Error(len(m.Weights), err)
	}
	var first, last float64
	_, err = fmt.Sscanf(whole[0]+whole[5], "step 10 loss %gstep 60 loss %g", &first, &last)
	if err != nil || last >= first {
		t.Errorf("%q %v", whole, err)
	}
}
