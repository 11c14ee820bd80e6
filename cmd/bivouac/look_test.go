package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
)

// writePictures writes pictures of 8 x 8 pixels into class folders: picture i has the grey level
// 10·i.
func writePictures(dir string, n int) error {
	for i := range n {
		at := filepath.Join(dir, "class"+strconv.Itoa(i%2), fmt.Sprintf("%02d.png", i))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return err
		}
		p := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range p.Pix {
			p.Pix[k] = uint8(10 * i)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, p); err != nil {
			return err
		}
		if err := os.WriteFile(at, b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// numberOf returns the number of a picture of writePictures.
func numberOf(f *reader.Fields) (int, error) {
	for _, v := range f.Values {
		if isPicture(v) {
			p, err := png.Decode(bytes.NewReader(v.Data))
			if err != nil {
				return 0, err
			}
			return int(color.GrayModel.Convert(p.At(3, 3)).(color.Gray).Y) / 10, nil
		}
	}
	return 0, errors.New("no picture")
}

// trainOn trains a job on pictures, in shuffled batches of 4, and saves every 5 steps. It returns
// the numbers of the pictures of each step of this attempt.
func trainOn(run, data string, steps int64, seed uint64, keep int) (seen [][]int, err error) {
	ctx := context.Background()
	d, err := dataset.Open(ctx, data, dataset.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read
	l, err := loader.New(d, loader.Options[reader.Fields, []int]{Shuffle: true, Seed: seed, BatchSize: 4,
		Collate: func(batch []reader.Fields) ([]int, error) {
			var list []int
			for i := range batch {
				n, err := numberOf(&batch[i])
				if err != nil {
					return nil, err
				}
				list = append(list, n)
			}
			return list, nil
		}})
	if err != nil {
		return nil, err
	}
	state := map[string]any{"w": []float32{0}}
	job, err := bivouac.Open(ctx, run, l, bivouac.Options{State: state, Steps: steps, SaveEvery: 5, Keep: keep,
		Grace: bivouac.Never, LogEvery: bivouac.Never})
	if err != nil {
		return nil, err
	}
	for batch, err := range job.Steps(ctx) {
		if err != nil {
			return nil, err
		}
		seen = append(seen, batch)
		job.Scalar("loss", 1)
	}
	return seen, job.Close()
}

// trainOnPictures makes pictures if they are missing, and trains on them: looked RUN PICTURES STEPS
// SEED.
func trainOnPictures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: looked RUN PICTURES STEPS SEED")
	}
	steps, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	seed, err := strconv.ParseUint(args[3], 10, 64)
	ts.Check(err)
	pictures := ts.MkAbs(args[1])
	if _, err := os.Stat(pictures); err != nil {
		ts.Check(writePictures(pictures, 18))
	}
	_, err = trainOn(ts.MkAbs(args[0]), pictures, steps, seed, bivouac.KeepAll)
	ts.Check(err)
}

// What the journal calls step N trained on the samples that peek --job-step N names and draws,
// whichever step it is and whichever steps are kept.
func TestPeekDrawsWhatWasTrained(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for i, want := range jobOnPictures(t, at("run"), at("pictures"), 18, 11) {
		step := strconv.Itoa(i + 1)
		sheet := at("sheet" + step + ".png")
		text, warnings, code := command(t, "data", "peek", at("run"), "--job-step", step, "--sheet", sheet,
			"--cell", "8", "--json")
		if code != exitOK {
			t.Fatal(warnings)
		}
		var got peeked
		if err := json.Unmarshal([]byte(text), &got); err != nil || warnings != "" {
			t.Fatal(err, warnings)
		}
		s := got.Steps[0]
		if *s.JobStep != int64(i+1) || len(s.Names[0]) != len(want) {
			t.Fatalf("step %s: %+v", step, s)
		}
		for row, n := range want {
			if name := fmt.Sprintf("%02d.png", n); !strings.HasSuffix(s.Names[0][row], name) {
				t.Errorf("step %s, row %d is named %s, want %s", step, row, s.Names[0][row], name)
			}
		}
		f, err := os.Open(sheet)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := png.Decode(f)
		f.Close() //nolint:errcheck // only read
		if err != nil {
			t.Fatal(err)
		}
		for row, n := range want { // two in a row, with a gap of 2 pixels
			x, y := row%2*10+4, row/2*10+4
			if got := color.GrayModel.Convert(drawn.At(x, y)).(color.Gray).Y; int(got) != 10*n {
				t.Errorf("step %s, row %d has the grey level %d, want %d", step, row, got, 10*n)
			}
		}
	}
}
