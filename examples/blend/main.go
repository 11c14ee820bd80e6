// Blend trains on a blend of three token files: data.yaml names them, with weights that change at a
// step, and packs documents to rows of 4,096 tokens.
//
//	go run ./examples/blend -dir /tmp/blend              makes the files, and reads 200 steps
//	go run ./examples/blend -dir /tmp/blend -stop 120    stops after 120 steps
//	go run ./examples/blend -dir /tmp/blend              goes on, to the same digest
//
// Several processes with RANK and WORLD_SIZE share the steps; a run may go on with another number
// of them.
package main

import (
	"context"
	_ "embed" // data.yaml
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

//go:embed data.yaml
var dataYAML []byte

func main() {
	dir := flag.String("dir", "", "folder of the run")
	stop := flag.Int("stop", steps, "step to stop at")
	flag.Parse()
	if *dir == "" {
		log.Fatal("blend: give a folder with -dir")
	}
	if err := run(context.Background(), *dir, *stop, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// steps is how long the run is.
const steps = 200

// run reads the steps up to stop, from where an earlier run stopped.
func run(ctx context.Context, dir string, stop int, out io.Writer) error {
	if err := makeFiles(dir); err != nil {
		return err
	}
	data, err := dataset.Open(ctx, filepath.Join(dir, "data.yaml"), dataset.OpenOptions{})
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // only read
	l, err := loader.New(data, data.Options())
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // only read
	saved := filepath.Join(dir, "state.json")
	var r record
	if err := r.load(saved, l); err != nil {
		return err
	}
	for r.Step < stop {
		batch, err := l.Next(ctx)
		if err != nil {
			return err
		}
		if err := r.add(&batch); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d steps, %d tokens in rows of 4096, %.1f%% padding\n", r.Step, r.Tokens,
		100-100*float64(r.Tokens)/float64(r.Room))
	for i, name := range data.Sources() {
		fmt.Fprintf(out, "%s: %d documents\n", name, r.Documents[i])
	}
	fmt.Fprintf(out, "digest %016x\n", r.Digest)
	return r.save(saved, l)
}

// record is what the trainer of this example keeps of its batches.
type record struct {
	Step         int
	Tokens, Room int
	Documents    [3]int
	Digest       uint64
}

// add counts a batch. The tokens of a source begin with its number, which makeFiles wrote.
func (r *record) add(batch *reader.Fields) error {
	b, err := reader.Decode[struct {
		Tokens     [][]int32
		SegmentIDs [][]int32
		Positions  [][]int32
		LossMask   [][]float32
	}](batch)
	if err != nil {
		return err
	}
	h := fnv.New64a()
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], r.Digest)
	h.Write(last[:]) //nolint:errcheck // a hash takes everything
	for i, row := range b.Tokens {
		for k, token := range row {
			h.Write([]byte{byte(token), byte(token >> 8), byte(b.SegmentIDs[i][k])}) //nolint:errcheck // as above
			if r.Room++; b.LossMask[i][k] == 0 {
				continue
			}
			if r.Tokens++; b.Positions[i][k] == 0 {
				r.Documents[token-1]++
			}
		}
	}
	r.Step, r.Digest = r.Step+1, h.Sum64()
	return nil
}

// load takes the state of an earlier run.
func (r *record) load(path string, l *loader.Loader[reader.Fields, reader.Fields]) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(b), &r.Step, &r.Tokens, &r.Room, &r.Documents[0], &r.Documents[1], &r.Documents[2],
		&r.Digest); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	state, err := os.ReadFile(path + ".loader")
	if err != nil {
		return err
	}
	return l.SetState(state)
}

// save writes the state. A job does this in one step; see bivouac.Open.
func (r *record) save(path string, l *loader.Loader[reader.Fields, reader.Fields]) error {
	state, err := l.AppendState(nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".loader", state, 0o666); err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Append(nil, r.Step, r.Tokens, r.Room, r.Documents[0], r.Documents[1], r.Documents[2],
		r.Digest), 0o666)
}

// makeFiles makes token files, in the form that Megatron writes, and data.yaml, unless they are
// there.
func makeFiles(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "data.yaml")); err == nil {
		return nil
	}
	for i, f := range []struct {
		name      string
		source    uint16
		documents int
		longest   int
	}{{"web/0", 1, 3000, 1500}, {"web/1", 1, 2000, 1500}, {"code/a", 2, 800, 3000}, {"code/b", 2, 500,
		6000}, {"math/all", 3, 300, 900}} {
		if err := makePair(filepath.Join(dir, f.name), f.source, f.documents, f.longest, uint64(i)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "data.yaml"), dataYAML, 0o666)
}

// makePair makes a .bin file of documents of random lengths, and its .idx file.
func makePair(path string, source uint16, documents, longest int, seed uint64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	r := rng.NewPhilox(seed, 0, 0)
	var tokens []uint16
	index := append([]byte("MMIDIDX\x00\x00"), 1, 0, 0, 0, 0, 0, 0, 0, 8) // version 1, uint16
	index = binary.LittleEndian.AppendUint64(index, uint64(documents))
	index = binary.LittleEndian.AppendUint64(index, uint64(documents)+1)
	var lengths, places, ends []byte
	ends = binary.LittleEndian.AppendUint64(ends, 0)
	for d := range documents {
		n := 1 + int(r.Uint64()%uint64(longest))
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(n))
		places = binary.LittleEndian.AppendUint64(places, uint64(2*len(tokens)))
		ends = binary.LittleEndian.AppendUint64(ends, uint64(d)+1)
		tokens = append(tokens, source)
		for range n - 1 {
			tokens = append(tokens, uint16(10+r.Uint64()%50_000))
		}
	}
	for _, part := range [][]byte{lengths, places, ends} {
		index = append(index, part...)
	}
	if err := os.WriteFile(path+".idx", index, 0o666); err != nil {
		return err
	}
	return os.WriteFile(path+".bin", tensor.FromSlice(tokens).Bytes(), 0o666)
}
