// Quickstart trains a classifier on a folder of images, with a folder for each class. It is made to
// be copied.
//
//	go run ./examples/quickstart -images photos -run runs/a
//
// Kill it at any time and start it again: it goes on with the next batch, to the same weights.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func main() {
	images := flag.String("images", "photos", "folder of the images")
	run := flag.String("run", "run", "folder of the run")
	steps := flag.Int64("steps", 60, "batches to train on")
	flag.Parse()
	err := train(context.Background(), *images, *run, *steps)
	if errors.Is(err, bivouac.ErrPreempted) {
		os.Exit(bivouac.ExitPreempted) // SIGTERM came, and the step is saved
	}
	if err != nil {
		log.Fatal(err)
	}
}

const size, batchSize, rate = 28, 16, 0.05

// model is what is saved: a linear classifier. Put your weights, optimizer and random state here.
type model struct{ Weights []float32 }

func train(ctx context.Context, images, run string, steps int64) error {
	options := pipeline.Options{BatchSize: batchSize, Seed: 7}
	def, err := pipeline.Define(options, func(p *pipeline.Builder) []pipeline.Node {
		files, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: images, RandomShuffle: true})
		pixels := fn.RandomResizedCrop(p, fn.DecodersImage(p, files, fn.DecodersImageArgs{}),
			fn.RandomResizedCropArgs{Size: []int{size}})
		return []pipeline.Node{fn.CropMirrorNormalize(p, pixels, fn.CropMirrorNormalizeArgs{
			Mean: op.Const([]float64{128}), Std: op.Const([]float64{64})}), labels}
	})
	if err != nil {
		return err
	}
	data, err := def.New(ctx, nil)
	if err != nil {
		return err
	}
	classes, err := os.ReadDir(images)
	if err != nil {
		return err
	}
	m := &model{Weights: make([]float32, len(classes)*3*size*size)}
	job, err := bivouac.Open(ctx, run, data, bivouac.Options{State: m, Steps: steps, SaveEvery: 10, BatchSize: batchSize})
	if err != nil {
		return err
	}
	if step, ok := job.Resumed(); ok {
		fmt.Println("resumed at step", step)
	}
	for batch, err := range job.Steps(ctx) {
		if err != nil {
			return errors.Join(err, job.Close())
		}
		loss, err := m.step(batch, len(classes))
		if err != nil {
			return errors.Join(err, job.Close())
		}
		job.Scalar("loss", loss)
		if step := job.Step() + 1; step%10 == 0 {
			fmt.Printf("step %d loss %.4f\n", step, loss)
		}
	}
	return job.Close()
}

// step trains on a batch, by gradient descent on the cross-entropy, and returns the loss.
func (m *model) step(batch *pipeline.Batch, classes int) (loss float64, err error) {
	n := batch.Outputs[0].NumSamples()
	for i := range n {
		x, err := tensor.Of[float32](batch.Outputs[0].Sample(i))
		if err != nil {
			return 0, err
		}
		label, err := tensor.Of[int32](batch.Outputs[1].Sample(i))
		if err != nil {
			return 0, err
		}
		p, sum := make([]float64, classes), 0.0
		for c := range p {
			for k, w := range m.Weights[c*len(x) : (c+1)*len(x)] {
				p[c] += float64(w) * float64(x[k])
			}
			p[c] = math.Exp(p[c] / size)
			sum += p[c]
		}
		loss -= math.Log(p[label[0]]/sum) / float64(n)
		for c := range p {
			slope := p[c] / sum
			if c == int(label[0]) {
				slope--
			}
			for k := range x {
				m.Weights[c*len(x)+k] -= float32(rate * slope / size * float64(x[k]))
			}
		}
	}
	return loss, nil
}
