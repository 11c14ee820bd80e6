package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"

	_ "github.com/bivouac-ml/bivouac/reader/parquet"
)

// set is a data set as a reader and its arguments; field is the output that is folded.
func set(dir, kind string) (name string, args op.Args, field int, err error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	switch kind {
	case "tfrecord":
		return kind, op.Args{"path": in("data.tfrecord"), "index_path": in("data.idx"),
			"features": []op.Feature{op.FixedLen("data", nil, tensor.Uint8, "")}}, 0, nil
	case "tar":
		return "webdataset", op.Args{"paths": in("data.tar"), "index_paths": in("data.idx"), "ext": "bin"}, 0, nil
	case "recordio":
		return "mxnet", op.Args{"path": in("data.rec"), "index_path": in("data.idx")}, 0, nil
	case "mds":
		return kind, op.Args{"paths": dir, "columns": "data"}, 0, nil
	case "tokens":
		var l layout
		if l, err = read(dir); err != nil {
			return "", nil, 0, err
		}
		return kind, op.Args{"path": in("tokens.bin"), "window": l.Payload / 4, "dtype": tensor.Int32}, 0, nil
	case "arrayrecord":
		return "array_record", op.Args{"paths": in("data.array_record")}, 0, nil
	case "parquet":
		// Without a cache nothing is left of the round before.
		return kind, op.Args{"paths": in("data.parquet"), "columns": "data", "cache_bytes": 0}, 0, nil
	case "numpy":
		return kind, op.Args{"file_root": dir}, 0, nil
	case "coco":
		return kind, op.Args{"file_root": dir, "annotations_file": in("annotations.json"), "ratio": true,
			"ltrb": true}, 0, nil
	}
	return "", nil, 0, fmt.Errorf("no kind %q", kind)
}

func read(dir string) (l layout, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "layout.json"))
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	return l, err
}

func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	kind, _, _ := strings.Cut(r.Case, "-")
	dir := r.Case
	for _, way := range []string{"-order", "-shuffled", "-batches", "-touched"} {
		dir = strings.TrimSuffix(dir, way)
	}
	dir = filepath.Join(r.Data, dir)
	shuffled := strings.HasSuffix(r.Case, "-shuffled")
	if r.Who == "pread" {
		return raw(dir, kind, shuffled)
	}
	name, args, field, err := set(dir, kind)
	if err != nil {
		return nil, err
	}
	if r.Who == "pipeline" {
		return batches(ctx, name, args, strings.HasSuffix(r.Case, "-touched"))
	}
	d, err := reader.Open(ctx, name, args)
	if err != nil {
		return nil, err
	}
	next := ids(d.Len(), shuffled)
	const block = 64
	samples, list := make([]reader.Fields, block), make([]int64, block)
	return func(ctx context.Context) (int, uint64, error) {
		digest := uint64(0)
		at := next()
		for i := int64(0); i < d.Len(); i += block {
			n := min(block, d.Len()-i)
			for k := range n {
				list[k] = at(i + k)
			}
			if err := d.Read(ctx, list[:n], samples[:n]); err != nil {
				return 0, 0, err
			}
			for k := range n {
				digest ^= fold(samples[k].Values[field].Data)
			}
		}
		return int(d.Len()), digest, nil
	}, nil
}

// ids returns the order of each run: the ids in their order, or another permutation of them each
// time.
func ids(n int64, shuffled bool) func() func(i int64) int64 {
	run := int64(0)
	return func() func(i int64) int64 {
		if !shuffled {
			return func(i int64) int64 { return i }
		}
		run++
		return order.NewPermutation(n, order.Key(7, run, "bench")).At
	}
}

func fold(data []byte) uint64 { return turns.Fold(&tensor.Batch{Data: data}) }

// raw reads the bytes of each record, with its framing, into one buffer.
func raw(dir, kind string, shuffled bool) (turns.Runner, error) {
	l, err := read(dir)
	if err != nil {
		return nil, err
	}
	name := map[string]string{"tfrecord": "data.tfrecord", "tar": "data.tar", "recordio": "data.rec",
		"mds": "shard.00000.mds", "tokens": "tokens.bin"}[kind]
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, s := range sizes {
		if s.bytes == l.Payload {
			n = s.records
		}
	}
	b, next := make([]byte, l.Length), ids(int64(n), shuffled)
	return func(context.Context) (int, uint64, error) {
		digest := uint64(0)
		at := next()
		for i := range int64(n) {
			if _, err := f.ReadAt(b, int64(l.First)+at(i)*int64(l.Stride)); err != nil {
				return 0, 0, err
			}
			digest ^= fold(b[l.Lead:][:l.Payload])
		}
		return n, digest, nil
	}, nil
}

// batches reads an epoch through a pipeline of nothing but the reader. It looks at the first sample
// of each batch, or folds all bytes of the first output, as peers.py does with DALI's batches.
func batches(ctx context.Context, name string, args op.Args, touch bool) (turns.Runner, error) {
	schema, err := reader.Schema(name)
	if err != nil {
		return nil, err
	}
	d, err := pipeline.Define(pipeline.Options{BatchSize: 64, Workers: 1, IOWorkers: 1},
		func(p *pipeline.Builder) []pipeline.Node {
			return p.Op(schema.FullName(), args)
		})
	if err != nil {
		return nil, err
	}
	p, err := d.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (int, uint64, error) {
		digest, n := uint64(0), 0
		for range p.EpochBatches() {
			b, err := p.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			samples := b.Outputs[0].NumSamples()
			for s := range samples {
				if touch || s == 0 {
					digest ^= fold(b.Outputs[0].Sample(s).Data)
				}
			}
			n += samples
		}
		return n, digest, nil
	}, nil
}
