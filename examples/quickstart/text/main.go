// Text trains a model of the next token on texts in Parquet files: a mixture of sources, made into
// tokens and packed to rows. It is made to be copied, with the data.yaml beside it.
//
//	go run ./examples/quickstart/text -data corpus/data.yaml -run runs/a
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
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/parquet"   // reads .parquet
	_ "github.com/bivouac-ml/bivouac/reader/tokenizer" // reads tokenizer.json
)

func main() {
	path := flag.String("data", "data.yaml", "file that describes the data")
	run := flag.String("run", "run", "folder of the run")
	steps := flag.Int64("steps", 60, "batches to train on")
	tokens := flag.Int("tokens", 64, "tokens of the vocabulary")
	flag.Parse()
	err := train(context.Background(), *path, *run, *steps, *tokens)
	if errors.Is(err, bivouac.ErrPreempted) {
		os.Exit(bivouac.ExitPreempted) // SIGTERM came, and the step is saved
	}
	if err != nil {
		log.Fatal(err)
	}
}

// model is what is saved: how often a token follows another one, in logarithms.
type model struct {
	Tokens  int
	Weights []float32
}

func train(ctx context.Context, path, run string, steps int64, tokens int) error {
	data, err := dataset.Open(ctx, path, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // only read
	l, err := loader.New(data, data.Options())
	if err != nil {
		return err
	}
	m := &model{Tokens: tokens, Weights: make([]float32, tokens*tokens)}
	job, err := bivouac.Open(ctx, run, l, bivouac.Options{State: m, Steps: steps, SaveEvery: 10})
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
		loss, err := m.step(&batch)
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
func (m *model) step(batch *reader.Fields) (loss float64, err error) {
	b, err := reader.Decode[struct {
		Tokens     [][]int32
		SegmentIDs [][]int32 // tells the texts of a row apart; 0 is padding
	}](batch)
	if err != nil {
		return 0, err
	}
	pairs := 0
	for i, row := range b.Tokens {
		for k := 1; k < len(row); k++ {
			if s := b.SegmentIDs[i]; s[k] == 0 || s[k] != s[k-1] {
				continue
			}
			w, sum := m.Weights[int(row[k-1])*m.Tokens:][:m.Tokens], 0.0
			for _, v := range w {
				sum += math.Exp(float64(v))
			}
			loss -= float64(w[row[k]]) - math.Log(sum)
			pairs++
			for c, v := range w {
				w[c] -= float32(0.1 * math.Exp(float64(v)) / sum)
			}
			w[row[k]] += 0.1
		}
	}
	return loss / float64(max(1, pairs)), nil
}
