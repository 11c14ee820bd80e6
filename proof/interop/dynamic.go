package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A case of dynamic mode is a directory: data, the file of a Checkpoint, and truth.json.

const statePattern = "state_{seq:03d}.json"

// dynamicTruth is the contents of truth.json.
type dynamicTruth struct {
	Samples  int             `json:"samples"`
	Args     map[string]any  `json:"args"`
	Batch    int             `json:"batch"` // 0: sample by sample
	Seeds    [2]uint64       `json:"seeds"`
	After    int             `json:"after"`              // how many batches came before the checkpoint
	Ends     []int           `json:"ends"`               // where the epochs end
	Stream   []dynamicStep   `json:"stream"`             // all batches from the beginning
	Restored [][]dynamicStep `json:"restored,omitempty"` // two epochs of a program that DALI restored
}

// dynamicStep is a batch and the numbers that were drawn with it.
type dynamicStep struct {
	Files   []int64  `json:"files"`
	Labels  []int64  `json:"labels"`
	Uniform []uint32 `json:"uniform"`
	Number  uint32   `json:"number"`
}

// dynamicProgram is a reader and two generators in a checkpoint.
type dynamicProgram struct {
	batch         int
	reader        *readers.Reader
	first, second *random.RNG
	checkpoint    *checkpoint.Checkpoint
}

func newDynamicProgram(truth *dynamicTruth, resumed bool, r readers.Options, c checkpoint.Options) (*dynamicProgram, error) {
	args := op.Args{"file_root": "data"}
	for name, v := range truth.Args {
		if n, ok := v.(float64); ok {
			v = int(n)
		}
		args[name] = v
	}
	seeds := truth.Seeds
	if resumed {
		seeds = [2]uint64{}
	}
	p := &dynamicProgram{batch: truth.Batch, first: random.New(seeds[0]), second: random.New(seeds[1]),
		checkpoint: checkpoint.NewWith(c)}
	var err error
	if p.reader, err = readers.New("readers.file", args, r); err != nil {
		return nil, err
	}
	if resumed {
		if _, err := p.checkpoint.Load(statePattern); err != nil {
			return nil, err
		}
	}
	_, err1 := p.checkpoint.Register(p.reader, "reader")
	_, err2 := p.checkpoint.RegisterAnonymous(p.first)
	_, err3 := p.checkpoint.Register(p.second, "gén")
	return p, errors.Join(err1, err2, err3)
}

// epoch gives do every step of an epoch.
func (p *dynamicProgram) epoch(ctx context.Context, do func(s dynamicStep) error) error {
	if p.batch == 0 {
		for outputs, err := range p.reader.Samples(ctx) {
			if err != nil {
				return err
			}
			file, err1 := outputs[0].Tensor(ctx)
			label, err2 := outputs[1].Tensor(ctx)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if err := p.step(ctx, []tensor.Tensor{file}, []tensor.Tensor{label}, do); err != nil {
				return err
			}
		}
		return nil
	}
	for outputs, err := range p.reader.NextEpoch(ctx, p.batch) {
		if err != nil {
			return err
		}
		files, err1 := outputs[0].Samples(ctx)
		labels, err2 := outputs[1].Samples(ctx)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if err := p.step(ctx, files, labels, do); err != nil {
			return err
		}
	}
	return nil
}

func (p *dynamicProgram) step(ctx context.Context, files, labels []tensor.Tensor, do func(s dynamicStep) error) error {
	var s dynamicStep
	for i := range files {
		n, err := strconv.ParseInt(string(files[i].Data), 10, 64)
		if err != nil {
			return err
		}
		label, _ := labels[i].Float64(0)
		s.Files, s.Labels = append(s.Files, n), append(s.Labels, int64(label))
	}
	drawn := dynamic.Invoke(ctx, dynamic.Call{Op: "random.uniform", Args: op.Args{"range": []float64{0, 1}}, Draw: p.first, Batch: max(1, p.batch)})[0]
	samples, err := drawn.(*dynamic.Batch).Samples(ctx)
	if err != nil {
		return err
	}
	for _, t := range samples {
		f, err := tensor.Of[float32](t)
		if err != nil {
			return err
		}
		s.Uniform = append(s.Uniform, math.Float32bits(f[0]))
	}
	s.Number = p.second.Uint32()
	return do(s)
}

// steps returns the steps of some epochs, and where they end.
func (p *dynamicProgram) steps(ctx context.Context, epochs int) (all []dynamicStep, ends []int, err error) {
	for range epochs {
		if err := p.epoch(ctx, func(s dynamicStep) error { all = append(all, s); return nil }); err != nil {
			return nil, nil, err
		}
		ends = append(ends, len(all))
	}
	return all, ends, nil
}

// writeDynamic writes n random programs, with what they deliver and a checkpoint, for DALI to go on
// with.
func writeDynamic(ctx context.Context, dir string, seed uint64, n int) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("%03d", i))
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		samples := 4 + r.IntN(20)
		if err := writeFiles(at, samples); err != nil {
			return err
		}
		if err := within(at, func() error { return writeDynamicCase(ctx, r, samples) }); err != nil {
			return fmt.Errorf("program %d: %w", i, err)
		}
	}
	return nil
}

func writeDynamicCase(ctx context.Context, r *rand.Rand, samples int) error {
	truth := &dynamicTruth{Samples: samples, Args: dynamicArgs(r, samples), Batch: r.IntN(5),
		Seeds: [2]uint64{r.Uint64() >> 1, r.Uint64() >> 33}}
	extend := r.IntN(2) == 0
	p, err := newDynamicProgram(truth, false, readers.Options{Compat: dali.Dynamic{Extend: extend}},
		checkpoint.Options{Extend: extend})
	if err != nil {
		return err
	}
	defer p.reader.Close()
	stop := 1 + r.IntN(8)
	for e := 0; e < 3 || len(truth.Stream) <= truth.After || truth.After == 0; e++ {
		err := p.epoch(ctx, func(s dynamicStep) error {
			truth.Stream = append(truth.Stream, s)
			if len(truth.Stream) != stop {
				return nil
			}
			truth.After = stop
			if err := p.checkpoint.Collect(); err != nil {
				return err
			}
			_, err := p.checkpoint.Save(ctx, statePattern)
			return err
		})
		if err != nil {
			return err
		}
		truth.Ends = append(truth.Ends, len(truth.Stream))
	}
	text, err := json.Marshal(truth.forPython())
	if err != nil {
		return err
	}
	return os.WriteFile("truth.json", text, 0o666)
}

// forPython is the truth with None as the batch size of programs that go sample by sample.
func (t *dynamicTruth) forPython() map[string]any {
	var batch any
	if t.Batch > 0 {
		batch = t.Batch
	}
	return map[string]any{"samples": t.Samples, "args": t.Args, "batch": batch, "seeds": t.Seeds, "after": t.After,
		"ends": t.Ends, "stream": t.Stream}
}

func dynamicArgs(r *rand.Rand, samples int) map[string]any {
	a := map[string]any{}
	kind := r.IntN(4)
	switch {
	case kind < 2:
		a["random_shuffle"], a["initial_fill"], a["seed"] = true, 1+r.IntN(8), r.IntN(1000)
	case kind == 2:
		a["shuffle_after_epoch"] = true
	}
	if r.IntN(2) == 0 {
		n := 1 + r.IntN(min(4, samples))
		a["num_shards"], a["shard_id"] = n, r.IntN(n)
	}
	if kind != 2 && r.IntN(5) < 2 {
		a["stick_to_shard"] = true
	}
	if r.IntN(5) < 2 {
		a["pad_last_batch"] = true
	}
	return a
}

// compareDynamic goes on with every program below dir that DALI stopped, and prints the differences
// to w.
func compareDynamic(ctx context.Context, dir string, w io.Writer) error {
	cases, err := fs.Glob(os.DirFS(dir), "*/truth.json")
	if err != nil || len(cases) == 0 {
		return fmt.Errorf("%s: no programs to compare: %w", dir, err)
	}
	failed := 0
	for _, c := range cases {
		at := filepath.Join(dir, filepath.Dir(c))
		if err := within(at, func() error { return compareDynamicCase(ctx) }); err != nil {
			failed++
			fmt.Fprintf(w, "%s: %v\n", at, err)
		}
	}
	fmt.Fprintf(w, "DALI's states of dynamic mode in Bivouac: %d of %d equal\n", len(cases)-failed, len(cases))
	if failed > 0 {
		return fmt.Errorf("%d programs differ", failed)
	}
	return nil
}

// compareDynamicCase runs the program from the beginning, holds its checkpoint against
// DALI's, and goes on from DALI's in both ways: to the end of the epoch, and as DALI does.
func compareDynamicCase(ctx context.Context) error {
	text, err := os.ReadFile("truth.json")
	if err != nil {
		return err
	}
	truth := &dynamicTruth{}
	if err := json.Unmarshal(text, truth); err != nil {
		return err
	}
	saved, err := os.ReadFile("state_000.json")
	if err != nil {
		return err
	}
	p, err := newDynamicProgram(truth, false, readers.Options{Compat: dali.Dynamic{}}, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer p.reader.Close()
	var all []dynamicStep
	for e := range truth.Ends {
		err := p.epoch(ctx, func(s dynamicStep) error {
			if all = append(all, s); len(all) != truth.After {
				return nil
			}
			if err := p.checkpoint.Collect(); err != nil {
				return err
			}
			if text, err := p.checkpoint.Serialize(); err != nil || text != string(saved) {
				return fmt.Errorf("the checkpoint is %s (%w), DALI's %s", text, err, saved)
			}
			return nil
		})
		if err == nil && len(all) != truth.Ends[e] {
			err = fmt.Errorf("epoch %d ends after %d batches, in DALI after %d", e, len(all), truth.Ends[e])
		}
		if err != nil {
			return err
		}
	}
	if err := sameSteps("from the beginning", all, truth.Stream); err != nil {
		return err
	}
	return errors.Join(truth.goOn(ctx), truth.follow(ctx))
}

// goOn holds what comes after DALI's checkpoint against what came in DALI without a stop.
func (t *dynamicTruth) goOn(ctx context.Context) error {
	p, err := newDynamicProgram(t, true, readers.Options{Compat: dali.Dynamic{}}, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer p.reader.Close()
	next := slices.IndexFunc(t.Ends, func(end int) bool { return end > t.After })
	got, ends, err := p.steps(ctx, len(t.Ends)-next)
	if err != nil {
		return err
	}
	for i := range ends {
		if ends[i]+t.After != t.Ends[next+i] {
			return fmt.Errorf("going on, an epoch ends after %d batches, in DALI after %d", ends[i]+t.After, t.Ends[next+i])
		}
	}
	return sameSteps("going on", got, t.Stream[t.After:])
}

// follow holds what comes in DALI's way against what a restored program gave in DALI.
func (t *dynamicTruth) follow(ctx context.Context) error {
	p, err := newDynamicProgram(t, true, readers.Options{Compat: dali.Dynamic{},
		Restore: readers.Restore{Compat: dali.Dynamic{}}}, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer p.reader.Close()
	for e, want := range t.Restored {
		got, _, err := p.steps(ctx, 1)
		if err != nil {
			return err
		}
		if err := sameSteps(fmt.Sprintf("restored, epoch %d", e), got, want); err != nil {
			return err
		}
	}
	return nil
}

func sameSteps(what string, got, want []dynamicStep) error {
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Errorf("%s, batch %d: %+v, DALI gives %+v", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d batches, DALI gives %d", what, len(got), len(want))
	}
	return nil
}
