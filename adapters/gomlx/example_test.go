package gomlx_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/train"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/adapters/gomlx"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// rename turns the layers of torch into the layers of GoMLX: torch keeps (out, in), GoMLX (in,
// out).
const rename = `
rules:
- transpose: {pattern: 'fc\d\.weight', axes: [1, 0]}
- rename: {pattern: 'fc1\.weight', to: model.hidden.dense.weights}
- rename: {pattern: 'fc1\.bias', to: model.hidden.dense.biases}
- rename: {pattern: 'fc2\.weight', to: model.out.dense.weights}
- rename: {pattern: 'fc2\.bias', to: model.out.dense.biases}
`

// A model that torch wrote as safetensors is trained further. The weights of the file are the start
// of a fresh run only: a run that continues has its own.
func Example() {
	dir, err := os.MkdirTemp("", "finetune")
	if err == nil {
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		err = finetune(stdcontext.Background(), filepath.Join(dir, "run"), pretrained(filepath.Join(dir, "pretrained")))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// begins with the weights of the file: true
	// trained 20 steps
}

func finetune(ctx stdcontext.Context, run, file string) (err error) {
	backend, err := simplego.New("")
	if err != nil {
		return err
	}
	defer backend.Finalize()
	mlctx := context.New().Checked(false)
	state := gomlx.NewState(mlctx)
	data, err := loader.New(loader.Func(samples, surface), loader.Options[sample, points]{
		BatchSize: batch, Shuffle: true, Seed: 3})
	if err != nil {
		return err
	}
	job, err := bivouac.Open(ctx, run, data, bivouac.Options{State: state, SaveEvery: 5, Steps: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	if _, resumed := job.Resumed(); !resumed {
		script, err := surgery.Parse([]byte(rename))
		if err != nil {
			return err
		}
		n, err := checkpoint.LoadAndTransform(ctx, []string{file}, nil, script.Transform, nil)
		if err != nil {
			return err
		}
		if err := state.SetTree(n); err != nil {
			return err
		}
	}
	first := mlctx.GetVariableByScopeAndName("/model/hidden/dense", "weights").MustValue().Value().([][]float32)
	fmt.Println("begins with the weights of the file:", first[0][5] == 0.05 && first[1][5] == 0.15)
	trainer := train.NewTrainer(backend, mlctx, model, losses.MeanSquaredError, optimizers.Adam().Done(), nil, nil)
	ds := gomlx.NewDataset(ctx, job, convert)
	defer ds.Close()
	if _, err := train.NewLoop(trainer).RunEpochs(ds, 1); err != nil {
		return err
	}
	fmt.Println("trained", job.Step(), "steps")
	return nil
}

// pretrained writes what torch would: fc1 has 32 outputs of 2 inputs, fc2 one output of 32.
func pretrained(path string) string {
	fc1, fc2 := tensor.New(tensor.Float32, 32, 2), tensor.New(tensor.Float32, 1, 32)
	w1, err := tensor.Of[float32](fc1)
	for i := range w1 {
		w1[i] = float32(i/2)/100 + float32(i%2)/10
	}
	if err == nil {
		err = checkpoint.Save(stdcontext.Background(), path, map[string]any{
			"fc1": map[string]any{"weight": fc1, "bias": make([]float32, 32)},
			"fc2": map[string]any{"weight": fc2, "bias": make([]float32, 1)},
		}, &checkpoint.SaveOptions{Options: checkpoint.Options{CheckpointLayout: options.SafetensorsFile}})
	}
	if err != nil {
		fmt.Println(err)
	}
	return path
}
