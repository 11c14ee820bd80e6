package gomlx_test

import (
	"bytes"
	stdcontext "context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/train"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/adapters/gomlx"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A sample is a point and the height of a surface over it, with noise of the sample's own.
type sample struct {
	X []float32
	Y []float32
}

const (
	samples = 203
	batch   = 16
)

func surface(_ stdcontext.Context, id int64, r loader.Random) (sample, error) {
	x, y := float32(id%17)/17-0.5, float32(id%29)/29-0.5
	noise := r.Stream("noise")
	z := x*y + x*x + noise.Float32()*0.01
	return sample{[]float32{x, y}, []float32{z}}, nil
}

// model has dropout, so that the state of the random generator counts.
func model(ctx *context.Context, _ any, inputs []*graph.Node) []*graph.Node {
	ctx = ctx.In("model")
	x := activations.Relu(layers.Dense(ctx.In("hidden"), inputs[0], true, 32))
	x = layers.DropoutStatic(ctx.In("dropout"), x, 0.2)
	return []*graph.Node{layers.Dense(ctx.In("out"), x, true, 1)}
}

// points are the samples of a batch.
type points struct{ X, Y tensor.Tensor }

func convert(b points) (inputs, labels []*tensors.Tensor, err error) {
	x, err := gomlx.FromTensor(b.X)
	if err != nil {
		return nil, nil, err
	}
	y, err := gomlx.FromTensor(b.Y)
	return []*tensors.Tensor{x}, []*tensors.Tensor{y}, err
}

// trainTo trains in a run until a step, and returns what the step holds.
func trainTo(ctx stdcontext.Context, run string, steps int64) (*tree.Node, error) {
	backend, err := simplego.New("")
	if err != nil {
		return nil, err
	}
	defer backend.Finalize()
	mlctx := context.New().Checked(false)
	if err := mlctx.SetRNGStateFromSeed(11); err != nil {
		return nil, err
	}
	data, err := loader.New(loader.Func(samples, surface), loader.Options[sample, points]{
		BatchSize: batch, Shuffle: true, Seed: 3, Workers: 2})
	if err != nil {
		return nil, err
	}
	job, err := bivouac.Open(ctx, run, data, bivouac.Options{State: gomlx.NewState(mlctx), SaveEvery: 3, Steps: steps})
	if err != nil {
		return nil, err
	}
	adam := optimizers.Adam().LearningRate(0.01).Done()
	trainer := train.NewTrainer(backend, mlctx, model, losses.MeanSquaredError, adam, nil, nil)
	ds := gomlx.NewDataset(ctx, job, convert)
	_, err = train.NewLoop(trainer).RunEpochs(ds, 1)
	ds.Close()
	if err = errors.Join(err, job.Close()); err != nil {
		return nil, err
	}
	return checkpoint.Load(ctx, filepath.Join(run, strconv.FormatInt(steps, 10)), nil)
}

const (
	runVariable   = "GOMLX_TEST_RUN" // a child trains there
	stepsVariable = "GOMLX_TEST_STEPS"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if run := os.Getenv(runVariable); run != "" {
		steps, err := strconv.ParseInt(os.Getenv(stepsVariable), 10, 64)
		if err == nil {
			_, err = trainTo(stdcontext.Background(), run, steps)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A training that is killed at random instants ends with the weights, the moments, the global step
// and the random generator of a training that nobody interrupted, bit for bit.
func TestKilled(t *testing.T) {
	kills, steps := 100, int64(40) // three epochs and a part
	if testing.Short() {
		kills = 10
	}
	dir := t.TempDir()
	began := time.Now()
	want, err := trainTo(t.Context(), filepath.Join(dir, "whole"), steps)
	if err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	if last := len(tree.Flatten(want)); last < 10 {
		t.Fatalf("only %d arrays: %v", last, want)
	}
	random := rand.New(rand.NewPCG(1, 2))
	run, runs, resumed := filepath.Join(dir, "0"), 0, 0
	for killed := 0; killed < kills; {
		ctx, cancel := stdcontext.WithTimeout(t.Context(), time.Duration(random.Float64()*float64(whole)))
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), runVariable+"="+run, stepsVariable+"="+strconv.FormatInt(steps, 10))
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		began := time.Now()
		err := cmd.Run()
		over := ctx.Err() != nil
		cancel()
		if err != nil && over {
			killed++
			resumed++
			continue
		}
		if err != nil {
			t.Fatalf("after %d kills: %v: %s", killed, err, text.String())
		}
		got, err := checkpoint.Load(t.Context(), filepath.Join(run, strconv.FormatInt(steps, 10)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := tree.Diff(want, got); len(diff) > 0 {
			t.Fatalf("run %d, after %d kills: %s", runs, resumed, tree.Summary(diff, 5))
		}
		if resumed == 0 {
			whole = min(whole, time.Since(began)) // so that few children end before they are killed
		}
		runs++
		run, resumed = filepath.Join(dir, strconv.Itoa(runs)), 0
	}
	t.Logf("%d kills, %d whole runs, %v without a kill", kills, runs, whole)
	got, err := trainTo(t.Context(), run, steps)
	if err != nil {
		t.Fatal(err)
	}
	if diff := tree.Diff(want, got); len(diff) > 0 {
		t.Fatalf("the last run, after %d kills: %s", resumed, tree.Summary(diff, 5))
	}
}

// The training learns something: else equal weights would show little.
func TestLearns(t *testing.T) {
	first, err := trainTo(t.Context(), filepath.Join(t.TempDir(), "a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	later, err := trainTo(t.Context(), filepath.Join(t.TempDir(), "b"), 30)
	if err != nil {
		t.Fatal(err)
	}
	a, b := weights(t, first), weights(t, later)
	moved := 0.0
	for i := range a {
		moved += math.Abs(float64(a[i] - b[i]))
	}
	if moved < 0.1 {
		t.Errorf("the weights moved by %v", moved)
	}
}

func weights(t *testing.T, n *tree.Node) []float32 {
	t.Helper()
	leaf, ok := n.Get("model").Get("hidden").Get("dense").Get("weights").Tensor()
	if !ok {
		t.Fatal(n)
	}
	w, err := tensor.Of[float32](leaf)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A Dataset ends with io.EOF, stays at its error, and a batch after which the loop stopped is not
// done.
func TestDataset(t *testing.T) {
	dir := t.TempDir()
	open := func() (*bivouac.Job[points], *gomlx.Dataset[points]) {
		data, err := loader.New(loader.Func(samples, surface), loader.Options[sample, points]{BatchSize: batch, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		mlctx := context.New().Checked(false)
		mlctx.VariableWithValue("w", []float32{1})
		o := bivouac.Options{State: gomlx.NewState(mlctx), SaveEvery: 1, Steps: 5}
		job, err := bivouac.Open(t.Context(), dir, data, o)
		if err != nil {
			t.Fatal(err)
		}
		return job, gomlx.NewDataset(t.Context(), job, convert)
	}
	job, ds := open()
	for range 3 {
		_, inputs, labels, err := ds.Yield()
		if err != nil || len(inputs) != 1 || inputs[0].Shape().Dimensions[0] != batch || len(labels) != 1 {
			t.Fatal(inputs, labels, err)
		}
	}
	ds.Close()
	ds.Close()
	if _, _, _, err := ds.Yield(); err != io.EOF {
		t.Errorf("after Close: %v", err)
	}
	if job.Step() != 2 {
		t.Errorf("3 batches were taken, and the third is not done: got step %d", job.Step())
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	job, ds = open()
	defer job.Close() //nolint:errcheck // the test is over
	defer ds.Close()
	for range 3 {
		if _, _, _, err := ds.Yield(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, _, _, err := ds.Yield(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
	if job.Step() != 5 {
		t.Errorf("got step %d", job.Step())
	}
}
