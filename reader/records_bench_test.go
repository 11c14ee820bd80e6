package reader_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BenchmarkRecords fetches records of 1 kB and 100 kB, in order and shuffled, and compares with
// pread of the same bytes by turns. of-pread is the time of pread divided by the reader's.
func BenchmarkRecords(b *testing.B) {
	for _, size := range []int{1000, 100_000} {
		n := 64 << 20 / size
		payload := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		for _, format := range []string{"tfrecord", "recordio"} {
			path := filepath.Join(b.TempDir(), format)
			var data []byte
			var places [][2]int64
			args := op.Args{"path": path}
			kind := "readers.mxnet"
			for i := range n {
				at := int64(len(data))
				if format == "recordio" {
					data = recordio.Append(data, recordio.AppendImage(nil, recordio.Image{Label: float32(i), Data: payload}))
				} else {
					m, err := tfrecord.EncodeExample(map[string]any{"image": payload, "label": []int64{int64(i)}})
					if err != nil {
						b.Fatal(err)
					}
					data = tfrecord.Append(data, m)
				}
				places = append(places, [2]int64{at, int64(len(data)) - at})
			}
			if err := os.WriteFile(path, data, 0o666); err != nil {
				b.Fatal(err)
			}
			if args["index_path"] = []string{}; format == "tfrecord" {
				kind = "readers.tfrecord"
				args["features"] = []op.Feature{op.FixedLen("image", nil, tensor.Uint8, nil),
					op.FixedLen("label", []int{1}, tensor.Int64, nil)}
			}
			for _, order := range []string{"sequential", "shuffled"} {
				ids := make([]int64, n)
				for i := range ids {
					ids[i] = int64(i)
				}
				if order == "shuffled" {
					rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				}
				b.Run(fmt.Sprintf("%s/%d/%s", format, size, order), func(b *testing.B) {
					againstPread(b, kind, args, path, places, ids)
				})
			}
		}
	}
}

// againstPread takes turns of a few megabytes.
func againstPread(b *testing.B, kind string, args op.Args, path string, places [][2]int64, ids []int64) {
	source, specs, err := openReader(kind, args)
	if err != nil {
		b.Fatal(err)
	}
	defer source.Close()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block, one, ctx := block(specs, 1, newArena()), make([]int64, 1), context.Background()
	memory := block.Binding().Memory.(*arena)
	buffer := memory.data
	turn := max(1, 4<<20/int(places[0][1]))
	var ours, raw time.Duration
	at, samples := 0, 0
	for b.Loop() {
		begin := time.Now()
		for k := range turn {
			one[0] = ids[(at+k)%len(ids)]
			memory.at = 0
			if err := source.Fetch(ctx, one, block); err != nil || len(block.Binding().Errors) > 0 {
				b.Fatal(err, block.Binding().Errors)
			}
		}
		middle := time.Now()
		for k := range turn {
			p := places[ids[(at+k+len(ids)/2)%len(ids)]] // others: those are in the processor's cache
			if _, err := f.ReadAt(buffer[:p[1]], p[0]); err != nil {
				b.Fatal(err)
			}
		}
		ours, raw = ours+middle.Sub(begin), raw+time.Since(middle)
		at, samples = (at+turn)%len(ids), samples+turn
	}
	b.ReportMetric(float64(raw)/float64(ours), "of-pread")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(samples), "ns/record")
	b.ReportMetric(0, "ns/op")
}
