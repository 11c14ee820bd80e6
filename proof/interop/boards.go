package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/journal/tensorboard"
	"github.com/bivouac-ml/bivouac/store/local"
)

// boardCase is what TensorBoard must show of a run.
type boardCase struct {
	// Scalars are the steps of each name, and the bits of their values as float32.
	Scalars    map[string][][2]uint64 `json:"scalars"`
	Superseded int                    `json:"superseded"` // rows that must not be shown
}

// writeBoards writes random runs, each with the event files of its job and of an export. Each
// attempt after the first continues from a step that was done.
func writeBoards(ctx context.Context, root string, seed uint64, cases int) error {
	for i := range cases {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		dir := filepath.Join(root, fmt.Sprintf("%04d", i))
		if err := writeBoard(ctx, dir, rng); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

func writeBoard(ctx context.Context, dir string, rng *rand.Rand) error {
	st, err := local.Open(filepath.Join(dir, "run"), nil)
	if err != nil {
		return err
	}
	done, rows := int64(0), 0
	for range 1 + rng.IntN(5) {
		from := rng.Int64N(done + 1)
		w := journal.New(st, "", journal.Start{From: from}, &journal.WriterOptions{Every: -1})
		board, err := tensorboard.Open(filepath.Join(dir, "job"), w)
		if err != nil {
			return err
		}
		w.Begin()
		var s journal.Scalars
		for done = from; done < from+rng.Int64N(200); {
			done++
			rows++
			for _, name := range []string{"loss", "job/seconds", "größe", "rare"} {
				if name == "rare" && rng.IntN(5) > 0 {
					continue
				}
				v := math.Float64frombits(rng.Uint64()) // of any size, and now and then not a number
				if rng.IntN(2) == 0 {
					v = rng.NormFloat64()
				}
				if err := s.Set(name, v); err != nil {
					return err
				}
			}
			board.Step(done, w.Step(done, &s), s.All())
			s.Clear()
		}
		if err := w.Close(ctx); err != nil {
			return err
		}
		if err := board.Close(); err != nil {
			return err
		}
	}
	r, err := journal.Open(ctx, st, "")
	if err != nil {
		return err
	}
	c := boardCase{Scalars: map[string][][2]uint64{}, Superseded: rows}
	for row, err := range r.Current(ctx) {
		if err != nil {
			return err
		}
		c.Superseded--
		for _, s := range row.Scalars {
			bits := math.Float32bits(float32(s.Value))
			c.Scalars[s.Name] = append(c.Scalars[s.Name], [2]uint64{uint64(row.Step), uint64(bits)})
		}
	}
	if _, err := tensorboard.Export(ctx, r, filepath.Join(dir, "export"), func(error) {}); err != nil {
		return err
	}
	b, err := json.Marshal(&c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "case.json"), b, 0o666)
}
