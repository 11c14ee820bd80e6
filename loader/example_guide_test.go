package loader_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A data set by id, in batches, shuffled, read by two goroutines.
func Example() {
	ctx := context.Background()
	squares := loader.Func(10, func(_ context.Context, id int64, _ loader.Random) (int64, error) {
		return id * id, nil
	})
	l, err := loader.New(squares, loader.Options[int64, tensor.Tensor]{
		BatchSize: 4, Shuffle: true, Seed: 7, Workers: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for epoch := range 2 {
		for batch, err := range l.Epoch(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			values, err := tensor.Of[int64](batch)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(epoch, values)
		}
	}
	// Output:
	// 0 [81 4 9 16]
	// 0 [49 1 0 25]
	// 0 [36 64]
	// 1 [36 25 16 4]
	// 1 [64 0 49 9]
	// 1 [1 81]
}

// A run over two ranks stops in mid-epoch and goes on over one, with other batches.
func ExampleLoader_SetState() {
	ctx := context.Background()
	ids := loader.Func(12, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
	open := func(batch, rank, world int) *loader.Loader[int64, tensor.Tensor] {
		l, err := loader.New(ids, loader.Options[int64, tensor.Tensor]{
			BatchSize: batch, Shuffle: true, Seed: 7, Rank: rank, World: world,
		})
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	show := func(name string, batch tensor.Tensor, err error) {
		if err != nil {
			log.Fatal(err)
		}
		values, err := tensor.Of[int64](batch)
		fmt.Println(name, values, err)
	}

	var saved []byte // of any rank: all have the same
	for rank := range 2 {
		l := open(2, rank, 2)
		batch, err := l.Next(ctx)
		show(fmt.Sprint("rank ", rank, " of 2:"), batch, err)
		if saved, err = l.AppendState(nil); err != nil {
			log.Fatal(err)
		}
		l.Close()
	}
	later := open(5, 0, 1)
	defer later.Close()
	if err := later.SetState(saved); err != nil {
		log.Fatal(err)
	}
	for batch, err := range later.Epoch(ctx) { // what is left of the epoch
		show("rank 0 of 1:", batch, err)
	}
	// Output:
	// rank 0 of 2: [6 9] <nil>
	// rank 1 of 2: [2 11] <nil>
	// rank 0 of 1: [7 8 0 10 3] <nil>
	// rank 0 of 1: [4 5 1] <nil>
}

// Random numbers belong to the sample's place in the stream. They do not depend on the worker that
// reads it.
func ExampleRandom() {
	jittered := loader.Func(3, func(_ context.Context, id int64, r loader.Random) (string, error) {
		flip, jitter := r.Stream("flip"), r.Stream("jitter")
		return fmt.Sprintf("%d flipped %t by %.3f", id, flip.Bool(0.5), jitter.Uniform(-1, 1)), nil
	})
	for _, workers := range []int{0, 3} {
		l, err := loader.New(jittered, loader.Options[string, []string]{BatchSize: 3, Seed: 7, Workers: workers})
		if err != nil {
			log.Fatal(err)
		}
		batch, err := l.Next(context.Background())
		fmt.Println(batch, err)
		l.Close()
	}
	// Output:
	// [0 flipped false by 0.208 1 flipped false by -0.969 2 flipped true by 0.411] <nil>
	// [0 flipped false by 0.208 1 flipped false by -0.969 2 flipped true by 0.411] <nil>
}

// A data set that is read one item after the other, by as many streams as there are workers.
func ExampleNewIterable() {
	lines := loader.IterFunc[string](func(ctx context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			stream, _ := loader.WorkerInfoOf(ctx)
			for i := stream.ID; i < 6; i += max(1, stream.N) {
				if !yield(fmt.Sprint("line ", i), nil) {
					return
				}
			}
		}
	})
	l, err := loader.NewIterable(lines, loader.Options[string, []string]{BatchSize: 2, Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for {
		batch, err := l.Next(context.Background())
		if err == io.EOF {
			break
		}
		fmt.Println(batch, err)
	}
	// Output:
	// [line 0 line 2] <nil>
	// [line 1 line 3] <nil>
	// [line 4] <nil>
	// [line 5] <nil>
}

// Options from YAML or JSON.
func ExampleFromConfig() {
	o, err := loader.FromConfig([]byte("{batch_size: 64, shuffle: true, num_workers: 4, seed: 7}"), loader.Options[int64, tensor.Tensor]{})
	fmt.Println(o.BatchSize, o.Shuffle, o.Workers, o.Seed, err)
	_, err = loader.FromConfig([]byte("{batch_size: 1.5}"), o)
	fmt.Println(err != nil)
	// Output:
	// 64 true 4 7 <nil>
	// true
}

// Sentences of several lengths, packed into rows of 8 tokens: a batch is two packs.
func ExamplePackTokens() {
	sentences := loader.Slice[[]int32]{{11, 12, 13}, {21}, {31, 32, 33, 34, 35}, {41, 42}, {51, 52, 53, 54}}
	lengths, err := order.NewLengths([]int32{3, 1, 5, 2, 4})
	if err != nil {
		log.Fatal(err)
	}
	packs, err := order.NewPacks(order.Sequential(5), lengths, order.PackOptions{Capacity: 8})
	if err != nil {
		log.Fatal(err)
	}
	l, err := loader.New(sentences, loader.Options[[]int32, loader.Packed]{
		Order: packs, BatchSize: 2, CollatePacks: loader.PackTokens[int32](8, 0),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for batch, err := range l.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range []tensor.Tensor{batch.Tokens, batch.SegmentIDs, batch.Positions} {
			values, err := tensor.Of[int32](t)
			fmt.Println(t.Shape, values, err)
		}
	}
	// Output:
	// [2,8] [11 12 13 31 32 33 34 35 21 41 42 51 52 53 54 0] <nil>
	// [2,8] [1 1 1 2 2 2 2 2 1 2 2 3 3 3 3 0] <nil>
	// [2,8] [0 1 2 0 1 2 3 4 0 0 1 0 1 2 3 0] <nil>
}

// Samples are added while a run is in its first epoch: the epoch ends as it would have,
// and the next one has all.
func ExampleLoader_Extend() {
	ctx := context.Background()
	open := func(n int64) *loader.Loader[int64, tensor.Tensor] {
		ids := loader.Func(n, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
		l, err := loader.New(ids, loader.Options[int64, tensor.Tensor]{BatchSize: 4, Shuffle: true, Seed: 7})
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	l := open(8)
	defer l.Close()
	if _, err := l.Next(ctx); err != nil {
		log.Fatal(err)
	}
	saved, err := l.AppendState(nil)
	if err != nil {
		log.Fatal(err)
	}
	more := open(11)
	defer more.Close()
	if err := more.Extend(saved); err != nil {
		log.Fatal(err)
	}
	for epoch := range 2 {
		n := 0
		for batch, err := range more.Epoch(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			n += batch.Shape[0]
		}
		fmt.Println(n, "samples in what is left of epoch", epoch)
	}
	// Output:
	// 4 samples in what is left of epoch 0
	// 11 samples in what is left of epoch 1
}
