package shards

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// colours has the colour of each label.
var colours = []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 0, 255}}

// archives writes n images in archives of 5. All pixels of an image have the colour of its label.
func archives(t *testing.T, n int) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for first := 0; first < n; first += 5 {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := first; i < min(first+5, n); i++ {
			m := image.NewRGBA(image.Rect(0, 0, 40+i, 30+2*i))
			draw.Draw(m, m.Rect, image.NewUniform(colours[i%len(colours)]), image.Point{}, draw.Src)
			var encoded bytes.Buffer
			must(png.Encode(&encoded, m))
			for name, data := range map[string][]byte{"png": encoded.Bytes(), "cls": fmt.Append(nil, i%len(colours))} {
				must(w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%06d.%s", i, name), Size: int64(len(data)), Mode: 0o644}))
				_, err := w.Write(data)
				must(err)
			}
		}
		must(w.Close())
		path := filepath.Join(dir, fmt.Sprintf("train-%06d.tar", len(paths)))
		must(os.WriteFile(path, b.Bytes(), 0o666))
		paths = append(paths, path)
	}
	return paths
}

func start(t *testing.T, paths []string) *pipeline.Pipeline {
	t.Helper()
	def, err := Define(pipeline.Options{BatchSize: 4, Seed: 3}, paths)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestImagesHaveTheirLabels: whatever window the pipeline chose, the pixels have the colour of the
// label. Each epoch has each label as often as the archives.
func TestImagesHaveTheirLabels(t *testing.T) {
	p := start(t, archives(t, 16))
	for epoch := range 3 {
		var count [4]int
		for range p.EpochBatches() {
			batch, err := p.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for s := range batch.Outputs[0].NumSamples() {
				label, err := Label(batch.Outputs[1].Sample(s).Data)
				if err != nil {
					t.Fatal(err)
				}
				count[label]++
				pixels, err := tensor.Of[float32](batch.Outputs[0].Sample(s))
				if err != nil || len(pixels) != 3*Size*Size {
					t.Fatalf("%d pixels: %v", len(pixels), err)
				}
				for c, v := range []uint8{colours[label].R, colours[label].G, colours[label].B} {
					want := float32(v)/127.5 - 1
					for i, got := range pixels[c*Size*Size : (c+1)*Size*Size] {
						if got != want {
							t.Fatalf("label %d: pixel %d of channel %d is %v, want %v", label, i, c, got, want)
						}
					}
				}
			}
		}
		if count != [4]int{4, 4, 4, 4} {
			t.Errorf("epoch %d has %v samples of each label", epoch, count)
		}
	}
	if _, err := Label([]byte("cat")); err == nil {
		t.Error("a label that is no number was taken")
	}
}

// TestResume: a pipeline that begins at a saved state delivers the same batches.
func TestResume(t *testing.T) {
	paths := archives(t, 16)
	ctx := context.Background()
	p := start(t, paths)
	if _, err := p.Next(ctx); err != nil {
		t.Fatal(err)
	}
	saved, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	q := start(t, paths)
	if err := q.SetState(saved); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		want, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for o := range want.Outputs {
			for s := range want.Outputs[o].NumSamples() {
				if !bytes.Equal(got.Outputs[o].Sample(s).Data, want.Outputs[o].Sample(s).Data) {
					t.Fatalf("output %d of sample %d differs after the resume", o, s)
				}
			}
		}
	}
}
