// Scale measures a checkpoint of very many leaves, or of one array of very many
// chunks: the seconds and the memory that saving, loading, listing and verifying it
// take, beside the bytes of its metadata.
//
//	go run ./proof/growth/scale -leaves 1000000
//	go run ./proof/growth/scale -chunks 262144
//
// Memory is the heap above what is there before the operation: the most that was
// live after a collection, and the most that was taken, which has garbage in it.
// The metadata are all bytes of the checkpoint that are not elements of arrays.
// It judges nothing. What must grow no faster than its input is the business of
// package proof/growth/gate.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

var (
	dir    = flag.String("dir", "", "where checkpoints are made; a temporary directory by default")
	leaves = flag.Int("leaves", 0, "float32 arrays of one element")
	chunks = flag.Int("chunks", 0, "chunks of 64 bytes of one more array")
	layout = flag.String("layout", "ocdbt", "ocdbt, files or safetensors")
	custom = flag.Int("custom", 0, "bytes of custom metadata, in one string")
	do     = flag.String("do", "save,load,list,verify", "what is measured, in this order; into loads into given memory")
	keep   = flag.Bool("keep", false, "keep the checkpoint and use the one that is there")
	heap   = flag.String("heap", "", "write the profile of the heap at its largest to this file, with the operation added")
	cpu    = flag.String("cpu", "", "write the profile of the processor to this file, with the operation added")
)

func main() {
	flag.Parse()
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func measure() error {
	ctx, at := context.Background(), *dir
	if at == "" {
		made, err := os.MkdirTemp("", "scale")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		at = made
	}
	path := filepath.Join(at, fmt.Sprintf("%d-%d-%d-%s", *leaves, *chunks, *custom, *layout))
	if !*keep {
		defer os.RemoveAll(path)
	}
	for what := range strings.SplitSeq(*do, ",") {
		var run func() error
		switch what {
		case "save":
			s, o := state(), saveOptions()
			run = func() error { return checkpoint.Save(ctx, path, s, &o) }
		case "load":
			run = func() error { _, err := checkpoint.Load(ctx, path, nil); return err }
		case "into":
			s := state()
			run = func() error {
				_, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Abstract: s})
				return err
			}
		case "list":
			run = func() error { _, err := checkpoint.Metadata(ctx, path, nil); return err }
		case "verify":
			run = func() error {
				r, err := integrity.Verify(ctx, path, nil)
				if err == nil && !r.OK() {
					err = r.Problems[0]
				}
				return err
			}
		default:
			return fmt.Errorf("-do: want save, load, into, list or verify, got %q", what)
		}
		if err := step(what, run); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if what == "save" {
			n, err := metadataBytes(path)
			if err != nil {
				return err
			}
			fmt.Printf("metadata %26.1f MB\n", megabytes(n))
		}
	}
	return nil
}

// metadataBytes returns the size of the files below path without the elements of arrays.
func metadataBytes(path string) (n uint64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				n += uint64(info.Size())
			}
		}
		return err
	})
	return n - min(n, uint64(4**leaves+64**chunks)), err
}

func megabytes(n uint64) float64 { return float64(n) / 1e6 }

// state is what is saved.
func state() *tree.Node {
	d := tree.NewDict()
	for i := range *leaves {
		d.Set(fmt.Sprintf("leaf%07d", i), tree.NewLeaf(tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{1},
			Data: []byte{byte(i), 0, 0, 0}}))
	}
	if *chunks > 0 {
		d.Set("a", tree.NewLeaf(tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{*chunks, 16},
			Data: make([]byte, 64**chunks)}))
	}
	if len(d.Items) == 0 {
		d.Set("a", tree.NewLeaf(int64(1)))
	}
	return d
}

func saveOptions() checkpoint.SaveOptions {
	o := checkpoint.SaveOptions{Overwrite: *keep}
	if *custom > 0 {
		o.Custom = map[string]string{"text": strings.Repeat("x", *custom)}
	}
	if *chunks > 0 {
		o.Array.Saving.Storage.ChunkByteSize = 64
	}
	switch *layout {
	case "files":
		o.Array.Saving.UseOCDBT = options.Off
	case "safetensors":
		o.CheckpointLayout = options.SafetensorsFile
	}
	return o
}

// step runs an operation and prints what it took.
func step(what string, run func() error) error {
	runtime.GC()
	runtime.GC() // what finalizers gave back
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	if *cpu != "" {
		f, err := os.Create(*cpu + "." + what)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	w := watch(what)
	start := time.Now()
	err := run()
	took := time.Since(start)
	w.stop()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	above := func(n uint64) float64 { return megabytes(n - min(n, before.HeapAlloc)) }
	fmt.Printf("%-8s %8.2f s  live %8.1f MB  taken %8.1f MB  allocated in all %9.1f MB in %d\n", what, took.Seconds(),
		above(w.live), above(w.taken), megabytes(after.TotalAlloc-before.TotalAlloc), after.Mallocs-before.Mallocs)
	return err
}
